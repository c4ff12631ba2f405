// SPDX-License-Identifier: Apache-2.0
#include "tune/worker/vendor_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/cublaslt.hpp"
#include "launch/current.hpp"

namespace ptxloom::tune {
namespace {

using cuda::CublasLt;

constexpr std::uint64_t kWorkspace = std::uint64_t{64}
                                     << 20;  // twice NVIDIA's recommendation for its largest chips
constexpr int kProposals = 32;

/// Owns an object of the library.
template <typename T>
class Owned {
 public:
  using Destroy = int (*)(T*);
  explicit Owned(Destroy destroy) : destroy_(destroy) {}
  ~Owned() {
    if (object_ != nullptr) destroy_(object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  operator T*() const { return object_; }
  T** out() { return &object_; }

 private:
  Destroy destroy_;
  T* object_ = nullptr;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::refused, "vendor-refused", why,
              "this problem is not compared with a vendor library");
}

int data_type(Type type) {
  static const std::pair<Type, int> kTypes[] = {
      {f16, CublasLt::f16}, {bf16, CublasLt::bf16}, {tf32, CublasLt::f32},
      {f32, CublasLt::f32}, {f64, CublasLt::f64},   {s8, CublasLt::s8},
      {s32, CublasLt::s32}, {e4m3, CublasLt::e4m3}, {e5m2, CublasLt::e5m2}};
  const auto found = std::ranges::find(kTypes, type, &std::pair<Type, int>::first);
  if (found == std::end(kTypes)) refuse(fmt::format("cuBLASLt does not support products of {}", type.name));
  return found->second;
}

struct Arithmetic {
  int compute, scale;
};

Arithmetic arithmetic_of(Type a) {
  if (a == f64) return {CublasLt::in_f64, CublasLt::f64};
  if (a == s8) return {CublasLt::in_s32, CublasLt::s32};
  return {a == tf32 ? CublasLt::in_tf32 : CublasLt::in_f32, CublasLt::f32};
}

/// alpha or beta as the library reads it.
union Scale {
  float f32;
  double f64;
  std::int32_t s32;
};

Scale scale_of(double value, int type) {
  Scale scale{.f64 = value};
  if (type == CublasLt::f32) scale.f32 = static_cast<float>(value);
  if (type == CublasLt::s32) scale.s32 = static_cast<std::int32_t>(value);
  return scale;
}

}  // namespace

struct VendorProduct::State {
  State(const DeviceContext& with, const MatrixProduct& p)
      : device(with),
        library(device.libraries().cublaslt()),
        beta_is_zero(p.beta == 0),
        handle(library.cublasLtDestroy),
        operation(library.cublasLtMatmulDescDestroy),
        a(library.cublasLtMatrixLayoutDestroy),
        b(library.cublasLtMatrixLayoutDestroy),
        c(library.cublasLtMatrixLayoutDestroy),
        d(library.cublasLtMatrixLayoutDestroy) {
    const Arithmetic arithmetic = arithmetic_of(p.a);
    alpha = scale_of(p.alpha, arithmetic.scale);
    beta = scale_of(p.beta, arithmetic.scale);
    with_current(device, [&] { prepare(p, arithmetic); });
    workspace = DeviceMemory(device, kWorkspace);
  }

  void prepare(const MatrixProduct& p, const Arithmetic& arithmetic) {
    if (const int status = library.cublasLtCreate(handle.out()))
      throw Error(ErrorKind::missing, "no-cublaslt",
                  fmt::format("cuBLASLt {} does not start on this device: {}", library.version,
                              library.cublasLtGetStatusString(status)),
                  "install one that supports the driver; ptxloom doctor shows the version of the driver");
    check(library.cublasLtMatmulDescCreate(operation.out(), arithmetic.compute, arithmetic.scale));
    // A matrix whose rows run along k, read as column-major, has k rows: transposed it is the left factor B',
    // and as it is the right factor A'.
    set(CublasLt::kOperationA, p.b_rows ? CublasLt::kPlain : CublasLt::kTransposed);
    set(CublasLt::kOperationB, p.a_rows ? CublasLt::kPlain : CublasLt::kTransposed);
    if (p.fast_sums) set(CublasLt::kFastSums, std::int8_t{1});
    lay_out(b, p.b, p.b_rows ? p.n : p.k, p.b_rows ? p.k : p.n, p.ldb);
    lay_out(a, p.a, p.a_rows ? p.k : p.m, p.a_rows ? p.m : p.k, p.lda);
    lay_out(c, beta_is_zero ? p.d : p.c, p.n, p.m, beta_is_zero ? p.ldd : p.ldc);
    lay_out(d, p.d, p.n, p.m, p.ldd);
    if (p.batch > 1) {
      repeat(a, p.batch, p.stride_a);
      repeat(b, p.batch, p.stride_b);
      repeat(c, p.batch, beta_is_zero ? p.stride_d : p.stride_c);
      repeat(d, p.batch, p.stride_d);
    }
    propose();
  }

  void check(int status) const {
    if (status == 0) return;
    refuse(fmt::format("cuBLASLt {} does not support this product: {}", library.version,
                       library.cublasLtGetStatusString(status)));
  }

  void set(int attribute, auto value) const {
    check(library.cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
  }

  void lay_out(Owned<ptxloom_cublaslt_layout>& layout, Type type, std::uint64_t rows, std::uint64_t columns,
               std::uint64_t leading) const {
    check(library.cublasLtMatrixLayoutCreate(layout.out(), data_type(type), rows, columns,
                                             static_cast<std::int64_t>(leading)));
  }

  void repeat(ptxloom_cublaslt_layout* layout, std::uint64_t batches, std::uint64_t stride) const {
    const auto count = static_cast<std::int32_t>(batches);
    const auto distance = static_cast<std::int64_t>(stride);
    check(library.cublasLtMatrixLayoutSetAttribute(layout, CublasLt::kBatches, &count, sizeof count));
    check(
        library.cublasLtMatrixLayoutSetAttribute(layout, CublasLt::kBatchStride, &distance, sizeof distance));
  }

  void propose() {
    Owned<ptxloom_cublaslt_preference> preference(library.cublasLtMatmulPreferenceDestroy);
    check(library.cublasLtMatmulPreferenceCreate(preference.out()));
    check(library.cublasLtMatmulPreferenceSetAttribute(preference, CublasLt::kMostWorkspace, &kWorkspace,
                                                       sizeof kWorkspace));
    proposals.resize(kProposals);
    int found = 0;
    const int status = library.cublasLtMatmulAlgoGetHeuristic(handle, operation, b, a, c, d, preference,
                                                              kProposals, proposals.data(), &found);
    proposals.resize(status == 0 ? static_cast<std::size_t>(found) : 0);
    std::erase_if(proposals, [](const cuda::CublasLtProposal& one) { return one.status != 0; });
    if (proposals.empty()) check(status == 0 ? CublasLt::kNotSupported : status);
  }

  DeviceContext device;
  const CublasLt& library;
  bool beta_is_zero;
  Scale alpha{}, beta{};
  Owned<ptxloom_cublaslt_handle> handle;
  Owned<ptxloom_cublaslt_operation> operation;
  Owned<ptxloom_cublaslt_layout> a, b, c, d;
  std::vector<cuda::CublasLtProposal> proposals;
  DeviceMemory workspace;
};

VendorProduct::VendorProduct(const DeviceContext& device, const MatrixProduct& product)
    : state_(std::make_shared<const State>(device, product)) {}

std::string VendorProduct::name() const { return "cuBLASLt " + state_->library.version; }
std::size_t VendorProduct::algorithms() const { return state_->proposals.size(); }

void VendorProduct::launch(std::size_t algorithm, const std::array<std::uint64_t, 4>& tensors,
                           CUstream_st* stream) const {
  const State& s = *state_;
  const auto pointer = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  const auto& [a, b, c, d] = tensors;
  void* const out = pointer(d);
  const void* const left = pointer(b);
  const void* const right = pointer(a);
  const void* const added = s.beta_is_zero ? out : pointer(c);
  int status = 0;
  with_current(s.device, [&] {
    status = s.library.cublasLtMatmul(s.handle, s.operation, &s.alpha, left, s.b, right, s.a, &s.beta, added,
                                      s.c, out, s.d, &s.proposals[algorithm].algorithm,
                                      pointer(s.workspace.address()), s.workspace.size(), stream);
  });
  if (status != 0)
    throw Error(ErrorKind::refused, "vendor-failed",
                fmt::format("{} failed: {}", name(), s.library.cublasLtGetStatusString(status)),
                "the times of ptxloom are not affected");
}

}  // namespace ptxloom::tune
