// SPDX-License-Identifier: Apache-2.0
// What encoding a tensor map asks of the driver, seen by a fake one.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "ptxloom/launch.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"

using namespace ptxloom;

namespace {

std::array<std::uint64_t, 16> words_of(const EncodedTensorMap& map) {
  std::array<std::uint64_t, 16> words{};
  std::memcpy(words.data(), map.bytes.data(), sizeof words);
  return words;
}

}  // namespace

TEST_CASE("a tensor map is encoded by the driver") {
  fresh_fake();
  const DeviceContext context(fake_libraries());
  const TensorMap map{.type = bf16,
                      .rank = 2,
                      .address = 4096,
                      .dims = {72, 9},
                      .box = {64, 5, 1, 1, 1},
                      .element_strides = {1, 3, 1, 1, 1},
                      .swizzle = TensorSwizzle::by_128_bytes,
                      .atom = SwizzleAtom::of_64_bytes,
                      .l2 = L2Promotion::to_128_bytes,
                      .fill = TensorFill::nan};
  const auto tiled = words_of(encode(context, map));
  CHECK(tiled[0] == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  CHECK(tiled[1] == 2);
  CHECK(tiled[2] == 4096);
  CHECK(tiled[3] == 9);
  CHECK(tiled[4] == 144);  // no gaps
  CHECK(tiled[5] == 5);
  CHECK(tiled[6] == 3);
  CHECK(tiled[7] == 6);  // CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B
  CHECK(tiled[8] == CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  CHECK(tiled[9] == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);

  TensorMap image{.type = u8, .rank = 4, .dims = {64, 9, 14, 8}};
  image.image = TensorMap::Image{.lower = {-1, -2, 0}, .upper = {-3, -4, 0}, .channels = 32, .pixels = 50};
  const auto words = words_of(encode(context, image));
  CHECK(static_cast<std::int64_t>(words[0]) == -2);
  CHECK(static_cast<std::int64_t>(words[1]) == -4);
  CHECK(words[2] == 32);
  CHECK(words[3] == 50);
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
