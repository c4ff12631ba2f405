// SPDX-License-Identifier: Apache-2.0
// A cuBLASLt for tests on machines without a GPU, beside the driver that runs nothing: device memory is the
// host's there, so it computes its products at once, column-major and slowly, of s8 and f64; it refuses
// others. Declared by itself, with none of our headers: what we ask of the library is under test.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#pragma GCC visibility push(default)

extern "C" {

struct Operation {
  int compute, scale;
  std::int32_t transposed[2];
};
struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batches = 1;
  std::int64_t stride = 0;
};
struct Proposal {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

enum { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15 };
enum { kF64 = 1, kS8 = 3, kS32 = 10 };

std::size_t cublasLtGetVersion() { return 130402; }
const char* cublasLtGetStatusString(int status) {
  return status == kNotSupported ? "not supported" : "wrong";
}

int cublasLtCreate(void** handle) { return *handle = std::malloc(1), kSuccess; }
int cublasLtDestroy(void* handle) { return std::free(handle), kSuccess; }

int cublasLtMatmulDescCreate(Operation** operation, int compute, int scale) {
  return *operation = new Operation{compute, scale, {0, 0}}, kSuccess;
}
int cublasLtMatmulDescDestroy(Operation* operation) { return delete operation, kSuccess; }
int cublasLtMatmulDescSetAttribute(Operation* operation, int attribute, const void* value,
                                   std::size_t bytes) {
  if (attribute < 3 || attribute > 4 || bytes != sizeof(std::int32_t)) return kInvalidValue;
  return std::memcpy(&operation->transposed[attribute - 3], value, bytes), kSuccess;
}

int cublasLtMatrixLayoutCreate(Layout** layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  if (leading < static_cast<std::int64_t>(rows)) return kInvalidValue;
  return *layout = new Layout{type, rows, columns, leading}, kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, std::size_t bytes) {
  if (attribute == 5 && bytes == sizeof layout->batches)
    return std::memcpy(&layout->batches, value, bytes), kSuccess;
  if (attribute == 6 && bytes == sizeof layout->stride)
    return std::memcpy(&layout->stride, value, bytes), kSuccess;
  return kInvalidValue;
}
int cublasLtMatrixLayoutDestroy(Layout* layout) { return delete layout, kSuccess; }

int cublasLtMatmulPreferenceCreate(void** preference) { return cublasLtCreate(preference); }
int cublasLtMatmulPreferenceDestroy(void* preference) { return cublasLtDestroy(preference); }
int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void*, std::size_t bytes) {
  return attribute == 1 && bytes == 8 ? kSuccess : kInvalidValue;
}

int cublasLtMatmulAlgoGetHeuristic(void*, const Operation* operation, const Layout* a, const Layout* b,
                                   const Layout* c, const Layout* d, void*, int wanted, Proposal* proposals,
                                   int* found) {
  *found = 0;
  const bool s8 = a->type == kS8 && b->type == kS8 && c->type == kS32 && d->type == kS32 &&
                  operation->compute == 72 && operation->scale == kS32;
  const bool f64 = a->type == kF64 && b->type == kF64 && c->type == kF64 && d->type == kF64 &&
                   operation->compute == 70 && operation->scale == kF64;
  const bool batches = a->batches == d->batches && b->batches == d->batches && c->batches == d->batches;
  if ((!s8 && !f64) || !batches) return kNotSupported;
  // Of four, one that it takes back at once, and one that fails when it is used.
  for (; *found < wanted && *found < 4; ++*found)
    proposals[*found] = {
        {static_cast<std::uint64_t>(*found)}, 1024, *found == 1 ? kNotSupported : kSuccess, 1, {}};
  return kSuccess;
}
}

namespace {

template <typename In, typename Out>
void multiply(const Operation& operation, const void* alpha, const void* a, const Layout& la, const void* b,
              const Layout& lb, const void* beta, const void* c, const Layout& lc, void* d, const Layout& ld,
              std::int64_t batch) {
  Out scale = 0, keep = 0;
  std::memcpy(&scale, alpha, sizeof scale);
  std::memcpy(&keep, beta, sizeof keep);
  const auto* of_a = static_cast<const In*>(a) + batch * la.stride;
  const auto* of_b = static_cast<const In*>(b) + batch * lb.stride;
  const auto* of_c = static_cast<const Out*>(c) + batch * lc.stride;
  auto* of_d = static_cast<Out*>(d) + batch * ld.stride;
  const std::uint64_t depth = operation.transposed[0] != 0 ? la.rows : la.columns;
  const auto at = [](const In* data, const Layout& layout, std::uint64_t row, std::uint64_t column,
                     bool transposed) {
    const auto leading = static_cast<std::uint64_t>(layout.leading);
    return static_cast<Out>(data[transposed ? column + row * leading : row + column * leading]);
  };
  for (std::uint64_t i = 0; i < ld.rows; ++i) {
    for (std::uint64_t j = 0; j < ld.columns; ++j) {
      Out sum = 0;
      for (std::uint64_t k = 0; k < depth; ++k)
        sum += at(of_a, la, i, k, operation.transposed[0] != 0) *
               at(of_b, lb, k, j, operation.transposed[1] != 0);
      sum *= scale;
      if (keep != 0) sum += keep * of_c[i + j * static_cast<std::uint64_t>(lc.leading)];
      of_d[i + j * static_cast<std::uint64_t>(ld.leading)] = sum;
    }
  }
}

}  // namespace

extern "C" int cublasLtMatmul(void*, const Operation* operation, const void* alpha, const void* a,
                              const Layout* la, const void* b, const Layout* lb, const void* beta,
                              const void* c, const Layout* lc, void* d, const Layout* ld,
                              const std::uint64_t* algorithm, void* workspace, std::size_t workspace_bytes,
                              void*) {
  if (algorithm == nullptr || algorithm[0] % 2 == 1 || workspace == nullptr || workspace_bytes < 1024)
    return kInvalidValue;
  for (std::int64_t batch = 0; batch < ld->batches; ++batch) {
    if (operation->scale == kF64)
      multiply<double, double>(*operation, alpha, a, *la, b, *lb, beta, c, *lc, d, *ld, batch);
    else  // unsigned: sums of s32 wrap
      multiply<std::int8_t, std::uint32_t>(*operation, alpha, a, *la, b, *lb, beta, c, *lc, d, *ld, batch);
  }
  return kSuccess;
}
