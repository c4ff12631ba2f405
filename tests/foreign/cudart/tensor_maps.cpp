// SPDX-License-Identifier: Apache-2.0
// The functions of the driver that programs ask the runtime library for: those that encode tensor maps.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "foreign/cudart/errors.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/tensor_map.hpp"

using namespace ptxloom;
using namespace ptxloom::foreign;

namespace {

/// The number of tensormap.replace, which orders f64, bf16 and f32 with ftz otherwise than the driver.
std::uint32_t element_number(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 9;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 10;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
      return 8;
    default:
      return static_cast<std::uint32_t>(type);
  }
}

/// CUtensorMapSwizzle numbers the atoms of the 128-byte swizzle after it.
void set_swizzle(TensorMap& map, CUtensorMapSwizzle swizzle) {
  constexpr int last = static_cast<int>(TensorSwizzle::by_128_bytes);
  const int number = static_cast<int>(swizzle);
  map.swizzle = static_cast<TensorSwizzle>(std::min(number, last));
  map.atom = static_cast<SwizzleAtom>(std::max(number - last, 0));
}

/// The driver takes a stride of 0, with which all indices mean the same elements. A TensorMap does not have
/// it; of a single index any stride does.
std::uint64_t stride_of(cuuint64_t stride, cuuint64_t indices) {
  constexpr std::uint64_t kAny = 32;
  if (stride != 0) return stride;
  if (indices == 1) return kAny;
  throw Error(ErrorKind::refused, "tensor-map", "the executor has no tensor maps with a stride of 0");
}

CUresult encode_tiled(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
  const cudaError_t error = guarded(cudaErrorInvalidValue, [&] {
    TensorMap map{.rank = rank,
                  .address = reinterpret_cast<std::uint64_t>(address),
                  .interleave = static_cast<TensorInterleave>(interleave),
                  .l2 = static_cast<L2Promotion>(l2),
                  .fill = static_cast<TensorFill>(fill)};
    if (!map.set_element(element_number(type))) return cudaErrorInvalidValue;
    std::copy_n(dims, rank, map.dims.begin());
    for (cuuint32_t i = 0; i + 1 < rank; ++i) map.strides[i] = stride_of(strides[i], dims[i + 1]);
    std::copy_n(box, rank, map.box.begin());
    std::copy_n(element_strides, rank, map.element_strides.begin());
    set_swizzle(map, swizzle);
    map.check();
    const EncodedTensorMap encoded = encode_for_executor(map);
    std::memcpy(to, encoded.bytes.data(), sizeof *to);
    return cudaSuccess;
  });
  return error == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult driver_version(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
  const std::string_view name(symbol);
  *function = nullptr;
  if (name == "cuTensorMapEncodeTiled") *function = reinterpret_cast<void*>(&encode_tiled);
  if (name == "cuDriverGetVersion") *function = reinterpret_cast<void*>(&driver_version);
  if (*function == nullptr) fmt::print(stderr, "ptxloom: the driver's {} is not there\n", name);
  if (result != nullptr)
    *result = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *function != nullptr ? cudaSuccess : fail(cudaErrorSymbolNotFound);
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

}  // extern "C"
