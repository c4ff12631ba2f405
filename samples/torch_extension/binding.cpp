// SPDX-License-Identifier: Apache-2.0
// The operators torch.ops.ptxloom.linear, linear_out and linear_workspace: checks of tensors, the current
// stream, and memory of torch's own allocator. What they compute is in linear.hpp.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "linear.hpp"

namespace ptxloom_torch {
namespace {

constexpr std::uint64_t kAlignment = 16;  // bytes; whatever the leading dimension, this is enough

/// One for each device, made when it is first used and kept to the end of the process: torch's streams and
/// graphs, which may hold its kernels, live as long.
const LinearKernels& kernels_of(c10::DeviceIndex device) {
  static std::mutex mutex;
  static auto& devices = *new std::map<c10::DeviceIndex, LinearKernels>;
  const std::scoped_lock lock(mutex);
  const auto known = devices.find(device);
  if (known != devices.end()) return known->second;
  return devices.try_emplace(device, pl::Context({.device = "gpu:" + std::to_string(device)})).first->second;
}

bool is_aligned(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % kAlignment == 0;
}

/// The tensor as a matrix with contiguous, aligned rows: itself if it is one already, else a copy.
at::Tensor rows_of(const at::Tensor& tensor) {
  const at::Tensor matrix = tensor.reshape({-1, tensor.size(-1)});
  if (matrix.stride(1) != 1 && matrix.size(1) != 1) return matrix.contiguous();
  return is_aligned(matrix) ? matrix : matrix.clone(at::MemoryFormat::Contiguous);
}

/// The stride of a single row may be anything.
std::uint64_t pitch_of(const at::Tensor& matrix) {
  return static_cast<std::uint64_t>(matrix.size(0) > 1 ? matrix.stride(0) : matrix.size(1));
}

void check(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  TORCH_CHECK(x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf, "ptxloom::linear: x is ",
              x.scalar_type(), "; it takes bfloat16 and float16");
  TORCH_CHECK(x.dim() >= 1 && weight.dim() == 2, "ptxloom::linear: x has ", x.dim(), " and weight ",
              weight.dim(), " dimensions; weight takes 2, (out_features, in_features), x (..., in_features)");
  TORCH_CHECK(x.size(-1) == weight.size(1) && x.size(-1) > 0, "ptxloom::linear: the last dimension of x is ",
              x.size(-1), ", that of weight ", weight.size(1), "; they must be equal, and at least 1");
  const auto alike = [&](const at::Tensor& other, const char* name) {
    TORCH_CHECK(other.device() == x.device() && other.scalar_type() == x.scalar_type(),
                "ptxloom::linear: ", name, " is ", other.scalar_type(), " on ", other.device(), ", x is ",
                x.scalar_type(), " on ", x.device());
  };
  alike(weight, "weight");
  if (!bias) return;
  alike(*bias, "bias");
  TORCH_CHECK(bias->dim() == 1 && bias->size(0) == weight.size(0) && bias->is_contiguous(),
              "ptxloom::linear: bias must be contiguous, with ", weight.size(0), " elements");
}

/// The tensors of a call as a layer, and what keeps copies of them until it is queued.
struct Call {
  at::Tensor x, weight, bias;
  Linear layer;

  Call(const at::Tensor& given_x, const at::Tensor& given_weight, const std::optional<at::Tensor>& given_bias,
       const std::string& activation, const at::Tensor& y)
      : x(rows_of(given_x)), weight(rows_of(given_weight)) {
    if (given_bias) bias = is_aligned(*given_bias) ? *given_bias : given_bias->clone();
    const at::Tensor d = y.view({-1, y.size(-1)});
    layer = {.type = x.scalar_type() == at::kHalf ? pl::f16 : pl::bf16,
             .m = static_cast<std::uint64_t>(x.size(0)),
             .n = static_cast<std::uint64_t>(weight.size(0)),
             .k = static_cast<std::uint64_t>(x.size(1)),
             .x_pitch = pitch_of(x),
             .weight_pitch = pitch_of(weight),
             .y_pitch = pitch_of(d),
             .activation = activation_of(activation),
             .x = x.const_data_ptr(),
             .weight = weight.const_data_ptr(),
             .bias = given_bias ? bias.const_data_ptr() : nullptr,
             .y = d.data_ptr()};
  }
};

/// Rethrows errors of ptxloom as torch errors.
template <typename Work>
auto translated(const Work& work) {
  try {
    return work();
  } catch (const pl::Error& error) {
    TORCH_CHECK(false, "ptxloom::linear: ", error.what());
  }
}

/// In a capture memory comes from the graph's own pool, and each replay zeroes it. Outside, a layer keeps a
/// zeroed workspace for each stream, which costs no fill.
// guide workspace {
std::optional<at::Tensor> workspace_for(const LinearKernels& kernels, CUstream_st* stream, const Call& call) {
  if (c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None) return {};
  const auto bytes = static_cast<std::int64_t>(kernels.workspace_bytes(stream, call.layer));
  if (bytes == 0) return {};
  return at::zeros({bytes}, call.x.options().dtype(at::kByte));
}
// }

void linear_out(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                const std::string& activation, at::Tensor y, const std::optional<at::Tensor>& workspace) {
  check(x, weight, bias);
  TORCH_CHECK(y.device() == x.device() && y.scalar_type() == x.scalar_type() && y.dim() == x.dim() &&
                  y.size(-1) == weight.size(0) &&
                  y.sizes().slice(0, y.dim() - 1) == x.sizes().slice(0, x.dim() - 1),
              "ptxloom::linear_out: out must have the device and type of x, and its shape with ",
              weight.size(0), " columns");
  if (y.numel() == 0) return;
  TORCH_CHECK((y.stride(-1) == 1 || y.size(-1) == 1) && is_aligned(y),
              "ptxloom::linear_out: rows of out must be contiguous, and its data aligned to ", kAlignment,
              " bytes");
  const c10::cuda::CUDAGuard guard(x.device());
  translated([&] {
    const LinearKernels& kernels = kernels_of(x.device().index());
    CUstream_st* const stream = at::cuda::getCurrentCUDAStream();
    const Call call(x, weight, bias, activation, y);
    const std::optional<at::Tensor> lent = workspace ? workspace : workspace_for(kernels, stream, call);
    if (workspace) {
      TORCH_CHECK(workspace->device() == x.device() && workspace->is_contiguous() &&
                      workspace->nbytes() >= kernels.workspace_bytes(stream, call.layer),
                  "ptxloom::linear_out: workspace must be contiguous, on ", x.device(), ", with at least ",
                  kernels.workspace_bytes(stream, call.layer), " bytes");
    }
    kernels.launch(stream, call.layer, lent && lent->numel() > 0 ? lent->data_ptr() : nullptr);
  });
}

at::Tensor empty_result(const at::Tensor& x, const at::Tensor& weight) {
  auto sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  return at::empty(sizes, x.options());
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                  const std::string& activation) {
  check(x, weight, bias);
  at::Tensor y = empty_result(x, weight);
  linear_out(x, weight, bias, activation, y, std::nullopt);
  return y;
}

std::int64_t linear_workspace(const at::Tensor& x, const at::Tensor& weight,
                              const std::optional<at::Tensor>& bias, const std::string& activation) {
  check(x, weight, bias);
  if (x.numel() == 0 || weight.size(0) == 0) return 0;
  const c10::cuda::CUDAGuard guard(x.device());
  return translated([&] {
    const Call call(x, weight, bias, activation, empty_result(x, weight));
    return static_cast<std::int64_t>(
        kernels_of(x.device().index()).workspace_bytes(at::cuda::getCurrentCUDAStream(), call.layer));
  });
}

}  // namespace
}  // namespace ptxloom_torch

TORCH_LIBRARY(ptxloom, library) {
  library.def("linear(Tensor x, Tensor weight, Tensor? bias=None, str activation='none') -> Tensor");
  library.def(
      "linear_out(Tensor x, Tensor weight, Tensor? bias=None, str activation='none', *, Tensor(a!) out, "
      "Tensor(b!)? workspace=None) -> ()");
  library.def("linear_workspace(Tensor x, Tensor weight, Tensor? bias=None, str activation='none') -> int");
}

TORCH_LIBRARY_IMPL(ptxloom, CUDA, library) {
  library.impl("linear", &ptxloom_torch::linear);
  library.impl("linear_out", &ptxloom_torch::linear_out);
  library.impl("linear_workspace", &ptxloom_torch::linear_workspace);
}

// There are no gradients: a backward pass through these is an error.
TORCH_LIBRARY_IMPL(ptxloom, Autograd, library) {
  library.impl("linear", torch::autograd::autogradNotImplementedFallback());
  library.impl("linear_out", torch::autograd::autogradNotImplementedFallback());
}
