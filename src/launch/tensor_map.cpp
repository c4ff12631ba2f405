// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/tensor_map.hpp"

#include <cstring>

#include "launch/context.hpp"

namespace ptxloom {
namespace {

// By TensorMap::element_number.
constexpr std::array kTypes{
    CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_UINT16, CU_TENSOR_MAP_DATA_TYPE_UINT32,
    CU_TENSOR_MAP_DATA_TYPE_INT32, CU_TENSOR_MAP_DATA_TYPE_UINT64, CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
    // Numbers, because headers before CUDA 12.8 lack the names.
    static_cast<CUtensorMapDataType>(13), static_cast<CUtensorMapDataType>(14),
    static_cast<CUtensorMapDataType>(15)};

CUtensorMapSwizzle swizzle_of(const TensorMap& map) {
  if (map.swizzle == TensorSwizzle::by_96_bytes) {
    throw Error(ErrorKind::usage, "tensor-map",
                "the driver cannot make a tensor map with a swizzle of 96 bytes",
                "set it in the kernel (tensormap.replace)");
  }
  const auto mode = static_cast<int>(map.swizzle);
  return static_cast<CUtensorMapSwizzle>(mode + static_cast<int>(map.atom));  // the atoms follow the 128-byte
                                                                              // swizzle
}

}  // namespace

EncodedTensorMap encode(const DeviceContext& context, const TensorMap& given) {
  given.check();
  const TensorMap map = given.with_strides();
  const DeviceContext::State& state = *context.state();
  const auto current = state.make_current();
  const auto type = kTypes[map.element_number()];
  void* address = reinterpret_cast<void*>(map.address);
  const auto interleave = static_cast<CUtensorMapInterleave>(map.interleave);
  const auto l2 = static_cast<CUtensorMapL2promotion>(map.l2);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(map.fill);
  CUtensorMap encoded{};
  if (map.image) {
    const TensorMap::Image& image = *map.image;
    const std::array<int, 3> lower{image.lower[0], image.lower[1], image.lower[2]};
    const std::array<int, 3> upper{image.upper[0], image.upper[1], image.upper[2]};
    state.check(state.driver.cuTensorMapEncodeIm2col(&encoded, type, map.rank, address, map.dims.data(),
                                                     map.strides.data(), lower.data(), upper.data(),
                                                     image.channels, image.pixels, map.element_strides.data(),
                                                     interleave, swizzle_of(map), l2, fill),
                "encoding a tensor map");
  } else {
    state.check(state.driver.cuTensorMapEncodeTiled(
                    &encoded, type, map.rank, address, map.dims.data(), map.strides.data(), map.box.data(),
                    map.element_strides.data(), interleave, swizzle_of(map), l2, fill),
                "encoding a tensor map");
  }
  EncodedTensorMap result;
  static_assert(sizeof(encoded) == sizeof(result.bytes));
  std::memcpy(result.bytes.data(), &encoded, sizeof encoded);
  return result;
}

}  // namespace ptxloom
