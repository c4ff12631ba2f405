// SPDX-License-Identifier: Apache-2.0
// What encoding a tensor map asks of the driver, seen by a fake one.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <utility>
#include <vector>

#include "ptxloom/launch.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"

using namespace ptxloom;

namespace {

using Numbers = std::vector<std::uint64_t>;

/// A tensor of 5 dimensions that the driver's rules allow, no two numbers of which are alike.
const TensorMap kTensor{.type = bf16,
                        .rank = 5,
                        .address = 4096,
                        .dims = {72, 9, 10, 11, 12},
                        .strides = {160, 1600, 0, 0},
                        .box = {64, 5, 6, 7, 8},
                        .element_strides = {1, 2, 3, 4, 5},
                        .swizzle = TensorSwizzle::by_128_bytes,
                        .l2 = L2Promotion::to_128_bytes,
                        .fill = TensorFill::nan};

/// What the driver is asked for.
FakeCuda::TensorMapCall call_of(const TensorMap& map) {
  FakeCuda& fake = fresh_fake();
  const DeviceContext context(fake_libraries());
  std::array<std::uint64_t, 16> words{};
  std::memcpy(words.data(), encode(context, map).bytes.data(), sizeof words);
  for (std::size_t i = 0; i < words.size(); ++i) CHECK(words[i] == i + 1);  // as the driver gave them
  return fake.tensor_map;
}

}  // namespace

TEST_CASE("a tensor map is encoded by the driver from all that it says") {
  const FakeCuda::TensorMapCall call = call_of(kTensor);
  CHECK(call.type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  CHECK(call.rank == 5);
  CHECK(call.address == 4096);
  CHECK(call.dims == Numbers{72, 9, 10, 11, 12});
  CHECK(call.strides == Numbers{160, 1600, 16000, 176000});  // the last two without gaps
  CHECK(call.box == Numbers{64, 5, 6, 7, 8});
  CHECK(call.element_strides == Numbers{1, 2, 3, 4, 5});
  CHECK(call.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE);
  CHECK(call.swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(call.l2 == CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  CHECK(call.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
}

TEST_CASE("an image is encoded by the driver from all that it says") {
  TensorMap image = kTensor;
  image.image = TensorMap::Image{.lower = {-1, -2, -3}, .upper = {-4, -5, -6}, .channels = 32, .pixels = 50};
  const FakeCuda::TensorMapCall call = call_of(image);
  CHECK(call.type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  CHECK(call.rank == 5);
  CHECK(call.address == 4096);
  CHECK(call.dims == Numbers{72, 9, 10, 11, 12});
  CHECK(call.strides == Numbers{160, 1600, 16000, 176000});
  CHECK(call.element_strides == Numbers{1, 2, 3, 4, 5});
  CHECK(call.lower == std::vector{-1, -2, -3});
  CHECK(call.upper == std::vector{-4, -5, -6});
  CHECK(call.channels == 32);
  CHECK(call.pixels == 50);
  CHECK(call.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE);
  CHECK(call.swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(call.l2 == CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  CHECK(call.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
}

TEST_CASE("each mode of a tensor map is the driver's of that name, of boxes and images") {
  for (const bool as_image : {false, true}) {
    const auto changed = [&](const auto& change) {
      TensorMap map = kTensor;
      if (as_image) map.image = TensorMap::Image{.channels = 64, .pixels = 8};
      change(map);
      return call_of(map);
    };
    for (const auto& [mode, number] : {std::pair{TensorInterleave::none, CU_TENSOR_MAP_INTERLEAVE_NONE},
                                       {TensorInterleave::by_16_bytes, CU_TENSOR_MAP_INTERLEAVE_16B},
                                       {TensorInterleave::by_32_bytes, CU_TENSOR_MAP_INTERLEAVE_32B}})
      CHECK(changed([&](TensorMap& map) { map.interleave = mode; }).interleave == number);
    for (const auto& [mode, number] : {std::pair{TensorSwizzle::none, CU_TENSOR_MAP_SWIZZLE_NONE},
                                       {TensorSwizzle::by_32_bytes, CU_TENSOR_MAP_SWIZZLE_32B},
                                       {TensorSwizzle::by_64_bytes, CU_TENSOR_MAP_SWIZZLE_64B},
                                       {TensorSwizzle::by_128_bytes, CU_TENSOR_MAP_SWIZZLE_128B}})
      CHECK(changed([&](TensorMap& map) {
              map.swizzle = mode;
              map.box[0] = 16;
              if (map.image) map.image->channels = 16;
            }).swizzle == number);
    // The driver numbers swizzles by 128 bytes with larger atoms from 4 on (CUDA 12.8).
    for (const auto& [atom, number] : {std::pair{SwizzleAtom::of_16_bytes, 3},
                                       {SwizzleAtom::of_32_bytes, 4},
                                       {SwizzleAtom::of_32_bytes_flip8, 5},
                                       {SwizzleAtom::of_64_bytes, 6}})
      CHECK(changed([&](TensorMap& map) { map.atom = atom; }).swizzle == static_cast<std::uint64_t>(number));
    for (const auto& [mode, number] : {std::pair{L2Promotion::none, CU_TENSOR_MAP_L2_PROMOTION_NONE},
                                       {L2Promotion::to_64_bytes, CU_TENSOR_MAP_L2_PROMOTION_L2_64B},
                                       {L2Promotion::to_128_bytes, CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
                                       {L2Promotion::to_256_bytes, CU_TENSOR_MAP_L2_PROMOTION_L2_256B}})
      CHECK(changed([&](TensorMap& map) { map.l2 = mode; }).l2 == number);
    CHECK(changed([&](TensorMap& map) { map.fill = TensorFill::zero; }).fill ==
          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
}

TEST_CASE("each element type of a tensor map is the driver's") {
  struct Case {
    TensorMap map;
    int number;
  };
  const Case cases[] = {{{.type = u8}, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                        {{.type = u16}, CU_TENSOR_MAP_DATA_TYPE_UINT16},
                        {{.type = u32}, CU_TENSOR_MAP_DATA_TYPE_UINT32},
                        {{.type = s32}, CU_TENSOR_MAP_DATA_TYPE_INT32},
                        {{.type = u64}, CU_TENSOR_MAP_DATA_TYPE_UINT64},
                        {{.type = s64}, CU_TENSOR_MAP_DATA_TYPE_INT64},
                        {{.type = f16}, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
                        {{.type = f32}, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
                        {{.type = f32, .ftz = true}, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ},
                        {{.type = f64}, CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
                        {{.type = bf16}, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
                        {{.type = tf32}, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32},
                        {{.type = tf32, .ftz = true}, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ},
                        {{.type = e2m1}, 13},
                        {{.type = e2m1, .padded = true}, 14},
                        {{.type = e3m2}, 15}};
  for (const Case& one : cases) {
    TensorMap map = one.map;
    map.dims[0] = 128;
    map.box[0] = 128;
    CAPTURE(map.type.name, map.ftz, map.padded);
    CHECK(call_of(map).type == static_cast<std::uint64_t>(one.number));
  }
}

TEST_CASE("a tensor map that breaks a rule never reaches the driver") {
  fresh_fake();
  const DeviceContext context(fake_libraries());
  const auto code = [&](const TensorMap& map) {
    const Error error = error_of([&] { encode(context, map); });
    CHECK(error.kind() == ErrorKind::usage);
    return error.diagnostics()[0].code;
  };
  CHECK(code({.type = f32, .rank = 1, .dims = {8}, .box = {3, 1, 1, 1, 1}}) == "tensor-map");
  CHECK(code({.type = f32,
              .rank = 1,
              .dims = {8},
              .box = {8, 1, 1, 1, 1},
              .swizzle = TensorSwizzle::by_96_bytes}) == "tensor-map");
}
