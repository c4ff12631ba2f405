// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/tensor_map.hpp"

#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "base/tensor_map_text.hpp"
#include "ptxloom/error.hpp"

using namespace ptxloom;

namespace {

bool is_legal(const TensorMap& map) {
  try {
    map.check();
  } catch (const Error& error) {
    CHECK(error.diagnostics()[0].code == "tensor-map");
    CHECK_FALSE(error.diagnostics()[0].hint.empty());
    return false;
  }
  return true;
}

const TensorMap kMap{.type = f16, .rank = 3, .dims = {32, 5, 7}, .box = {16, 2, 3, 1, 1}};

TensorMap with(const std::function<void(TensorMap&)>& change) {
  TensorMap map = kMap;
  change(map);
  return map;
}

}  // namespace

TEST_CASE("the executor's encoding of a tensor map keeps all of it") {
  TensorMap map{.type = tf32,
                .ftz = true,
                .rank = 5,
                .address = 0x1'0000'0000'0040,
                .dims = {std::uint64_t{1} << 32, 2, 3, 4, 5},
                .strides = {16, 32, (std::uint64_t{1} << 40) - 16, 64},
                .box = {1, 2, 3, 4, 256},
                .element_strides = {1, 2, 3, 4, 8},
                .interleave = TensorInterleave::by_16_bytes,
                .swizzle = TensorSwizzle::by_64_bytes,
                .atom = SwizzleAtom::of_32_bytes,
                .l2 = L2Promotion::to_256_bytes,
                .fill = TensorFill::nan};
  map.image = TensorMap::Image{.lower = {-1, 2, -3}, .upper = {4, -5, 6}, .channels = 256, .pixels = 1024};
  const EncodedTensorMap encoded = encode_for_executor(map);
  const auto back = decode_for_executor(encoded.bytes);
  REQUIRE(back);
  CHECK(back->type == tf32);
  CHECK(back->ftz);
  CHECK(back->rank == 5);
  CHECK(back->address == map.address);
  CHECK(back->dims == map.dims);
  CHECK(back->strides == map.strides);
  CHECK(back->box == map.box);
  CHECK(back->element_strides == map.element_strides);
  CHECK(back->interleave == map.interleave);
  CHECK(back->swizzle == map.swizzle);
  CHECK(back->atom == map.atom);
  CHECK(back->l2 == map.l2);
  CHECK(back->fill == map.fill);
  REQUIRE(back->image);
  CHECK(back->image->lower == map.image->lower);
  CHECK(back->image->upper == map.image->upper);
  CHECK(back->image->channels == 256);
  CHECK(back->image->pixels == 1024);
  CHECK_FALSE(decode_for_executor(EncodedTensorMap{}.bytes));
}

TEST_CASE("strides that are left out leave no gaps") {
  const TensorMap map = kMap.with_strides();
  CHECK(map.strides[0] == 64);
  CHECK(map.strides[1] == 320);
  CHECK(with([](TensorMap& m) { m.strides[0] = 80; }).with_strides().strides[1] == 400);
}

TEST_CASE("element types have the numbers of tensormap.replace") {
  const auto number = [](TensorMap map) { return map.element_number(); };
  CHECK(number({.type = e4m3}) == 0);
  CHECK(number({.type = s32}) == 3);
  CHECK(number({.type = f32}) == 7);
  CHECK(number({.type = f32, .ftz = true}) == 8);
  CHECK(number({.type = bf16}) == 10);
  CHECK(number({.type = e2m1}) == 13);
  CHECK(number({.type = e2m1, .padded = true}) == 14);
  CHECK(number({.type = e3m2}) == 15);
  CHECK_THROWS_AS(number({.type = f16, .ftz = true}), Error);
  CHECK_THROWS_AS(number({.type = b128}), Error);
}

TEST_CASE("a tensor map crosses as text") {
  const std::string text = to_hex(kMap);
  const std::optional<TensorMap> back = tensor_map_from_hex(text);
  REQUIRE(back);
  CHECK(encode_for_executor(*back).bytes == encode_for_executor(kMap).bytes);
  CHECK_FALSE(tensor_map_from_hex(text.substr(2)));
  CHECK_FALSE(tensor_map_from_hex("zz" + text.substr(2)));
  CHECK_FALSE(tensor_map_from_hex(std::string(text.size(), '0')));
}

TEST_CASE("a tensor map must keep the driver's rules") {
  CHECK(is_legal(kMap));
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.rank = 6; })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.rank = 0; })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.address = 8; })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.dims[1] = 0; })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.strides[0] = 72; })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.box[1] = 257; })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.box[0] = 12; })));  // 24 bytes
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.element_strides[2] = 9; })));
  CHECK(is_legal(with([](TensorMap& m) { m.swizzle = TensorSwizzle::by_32_bytes; })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) {
    m.swizzle = TensorSwizzle::by_32_bytes;
    m.box[0] = 32;
  })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) { m.atom = SwizzleAtom::of_32_bytes; })));
  CHECK_FALSE(is_legal(with([](TensorMap& m) {
    m.type = u16;
    m.fill = TensorFill::nan;
  })));
  CHECK_FALSE(is_legal({.type = e2m1, .padded = true, .rank = 1, .dims = {64}, .box = {128, 1, 1, 1, 1}}));
  CHECK(is_legal({.type = e2m1, .padded = true, .rank = 1, .dims = {128}, .box = {128, 1, 1, 1, 1}}));
  TensorMap image = kMap;
  image.image = TensorMap::Image{.channels = 8, .pixels = 1025};
  CHECK_FALSE(is_legal(image));
  image.image->pixels = 1024;
  CHECK(is_legal(image));
  image.image->upper[0] = -5;
  CHECK_FALSE(is_legal(image));
}
