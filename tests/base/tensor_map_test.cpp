// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/tensor_map.hpp"

#include <array>
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

TEST_CASE("elements lie in memory by the fewest that are whole bytes, packed ones by sixteen") {
  const auto unit = [](const TensorMap& map) {
    const TensorUnit found = map.unit();
    return std::array{found.elements, found.global_bytes, found.shared_bytes};
  };
  using Unit = std::array<std::uint32_t, 3>;
  for (const Type& type : {u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, tf32}) {
    CAPTURE(type.name);
    const auto bytes = static_cast<std::uint32_t>(type.bytes());
    CHECK(unit({.type = type}) == Unit{1, bytes, bytes});
  }
  for (const Type& type : {f32, tf32}) CHECK(unit({.type = type, .ftz = true}) == Unit{1, 4, 4});
  // PTX ISA, "Tensor data types" and "Packed sub-byte types": 16 of 4 or 6 bits take 8 or 12 bytes, and 16
  // padded.
  CHECK(unit({.type = e2m1}) == Unit{2, 1, 1});
  CHECK(unit({.type = e2m1, .padded = true}) == Unit{16, 8, 16});
  CHECK(unit({.type = e3m2}) == Unit{16, 12, 16});
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

TEST_CASE("each limit of a tensor map is where the driver has it") {
  // The last legal value and the first that is not, of each rule.
  struct Limit {
    const char* what;
    std::function<void(TensorMap&)> last, beyond;
  };
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40, kMost = std::uint64_t{1} << 32;
  const auto image = [](std::int16_t lower, std::int16_t upper, std::uint32_t rank = 3) {
    return [=](TensorMap& m) {
      m.rank = rank;
      m.dims = {32, 40000, 300, 40, 7};
      m.image = TensorMap::Image{.channels = 8, .pixels = 1};
      m.image->lower[rank - 3] = lower;
      m.image->upper[rank - 3] = upper;
    };
  };
  const auto channels = [](std::uint32_t count) {
    return [=](TensorMap& m) { m.image = TensorMap::Image{.channels = count, .pixels = 1}; };
  };
  const auto pixels = [](std::uint32_t count) {
    return [=](TensorMap& m) { m.image = TensorMap::Image{.channels = 8, .pixels = count}; };
  };
  const auto row = [](TensorSwizzle swizzle, std::uint32_t bytes) {
    return [=](TensorMap& m) {
      m.type = u8;
      m.swizzle = swizzle;
      m.box[0] = bytes;
    };
  };
  const auto interleaved = [](TensorInterleave mode, std::uint64_t address, std::uint64_t stride) {
    return [=](TensorMap& m) {
      m.interleave = mode;
      m.address = address;
      m.strides[0] = stride;
      m.strides[1] = 3200;
    };
  };
  const Limit limits[] = {
      {"address", [](TensorMap& m) { m.address = 16; }, [](TensorMap& m) { m.address = 24; }},
      {"dimension", [](TensorMap& m) { m.dims[2] = kMost; }, [](TensorMap& m) { m.dims[2] = kMost + 1; }},
      {"empty dimension", [](TensorMap& m) { m.dims[0] = 1, m.strides = {16, 32}; },
       [](TensorMap& m) { m.dims[0] = 0, m.strides = {16, 32}; }},
      {"stride", [](TensorMap& m) { m.strides[1] = kFar - 16; }, [](TensorMap& m) { m.strides[1] = kFar; }},
      {"first stride", [](TensorMap& m) { m.strides[0] = 80; }, [](TensorMap& m) { m.strides[0] = 88; }},
      {"box", [](TensorMap& m) { m.box[2] = 256; }, [](TensorMap& m) { m.box[2] = 257; }},
      {"empty box", [](TensorMap& m) { m.box[1] = 1; }, [](TensorMap& m) { m.box[1] = 0; }},
      {"row", row(TensorSwizzle::none, 256), row(TensorSwizzle::none, 272)},
      {"empty row", row(TensorSwizzle::none, 16), row(TensorSwizzle::none, 0)},
      {"row of 16 bytes", row(TensorSwizzle::none, 32), row(TensorSwizzle::none, 24)},
      {"step", [](TensorMap& m) { m.element_strides[0] = 8; },
       [](TensorMap& m) { m.element_strides[0] = 9; }},
      {"no step", [](TensorMap& m) { m.element_strides[2] = 1; },
       [](TensorMap& m) { m.element_strides[2] = 0; }},
      {"swizzle by 32", row(TensorSwizzle::by_32_bytes, 32), row(TensorSwizzle::by_32_bytes, 48)},
      {"swizzle by 64", row(TensorSwizzle::by_64_bytes, 64), row(TensorSwizzle::by_64_bytes, 80)},
      {"swizzle by 96", row(TensorSwizzle::by_96_bytes, 96), row(TensorSwizzle::by_96_bytes, 112)},
      {"swizzle of 128", row(TensorSwizzle::by_128_bytes, 128), row(TensorSwizzle::by_128_bytes, 144)},
      {"atom",
       [](TensorMap& m) { m.swizzle = TensorSwizzle::by_128_bytes, m.atom = SwizzleAtom::of_64_bytes; },
       [](TensorMap& m) { m.swizzle = TensorSwizzle::by_96_bytes, m.atom = SwizzleAtom::of_64_bytes; }},
      {"NaN", [](TensorMap& m) { m.fill = TensorFill::nan; },
       [](TensorMap& m) { m.type = e4m3, m.fill = TensorFill::nan; }},
      {"interleave of 3 dimensions", [](TensorMap& m) { m.interleave = TensorInterleave::by_16_bytes; },
       [](TensorMap& m) { m.interleave = TensorInterleave::by_16_bytes, m.rank = 2; }},
      {"interleave by 16: address", interleaved(TensorInterleave::by_16_bytes, 16, 80),
       interleaved(TensorInterleave::by_32_bytes, 16, 96)},
      {"interleave by 32: stride", interleaved(TensorInterleave::by_32_bytes, 32, 96),
       interleaved(TensorInterleave::by_32_bytes, 32, 80)},
      {"interleaved rows are of any length",
       [](TensorMap& m) { m.interleave = TensorInterleave::by_16_bytes, m.box[0] = 12; },
       [](TensorMap& m) { m.box[0] = 12; }},
      {"interleaved rows exceed a swizzle",
       [](TensorMap& m) {
         m.interleave = TensorInterleave::by_32_bytes, m.swizzle = TensorSwizzle::by_32_bytes, m.box[0] = 32;
       },
       [](TensorMap& m) { m.swizzle = TensorSwizzle::by_32_bytes, m.box[0] = 32; }},
      {"image of 3 dimensions", image(0, 0),
       [](TensorMap& m) { m.rank = 2, m.image = TensorMap::Image{.channels = 8}; }},
      {"channels", channels(256), channels(264)},
      {"no channels", channels(8), channels(0)},
      {"pixels", pixels(1024), pixels(1025)},
      {"no pixels", pixels(1), pixels(0)},
      {"corner of 1 dimension", image(-32768, 32767),
       [=](TensorMap& m) { image(0, -32767)(m), m.dims[1] = 32767; }},
      {"lower corner of 2 dimensions", image(-128, 0, 4), image(-129, 0, 4)},
      {"upper corner of 2 dimensions", image(0, 127, 4), image(0, 128, 4)},
      {"lower corner of 3 dimensions", image(-16, -16, 5), image(-17, -16, 5)},
      {"upper corner of 3 dimensions", image(15, 15, 5), image(15, 16, 5)},
      {"pixels of a box", [=](TensorMap& m) { image(3, -3)(m), m.dims[1] = 7; },
       [=](TensorMap& m) { image(3, -3)(m), m.dims[1] = 6; }},
  };
  for (const Limit& limit : limits) {
    INFO(limit.what);
    CHECK(is_legal(with(limit.last)));
    CHECK_FALSE(is_legal(with(limit.beyond)));
  }
  const auto padded = [](std::uint64_t address, std::uint64_t stride, std::uint32_t box) {
    return TensorMap{.type = e3m2,
                     .rank = 2,
                     .address = address,
                     .dims = {128, 5},
                     .strides = {stride},
                     .box = {box, 1, 1, 1, 1}};
  };
  CHECK(is_legal(padded(32, 96, 128)));
  CHECK_FALSE(is_legal(padded(16, 96, 128)));
  CHECK_FALSE(is_legal(padded(32, 112, 128)));
  CHECK_FALSE(is_legal(padded(32, 96, 64)));
}

TEST_CASE("every number of an element type stands for one, and back") {
  for (std::uint32_t number = 0; number < 16; ++number) {
    CAPTURE(number);
    TensorMap map{.ftz = true, .padded = true};
    REQUIRE(map.set_element(number));
    CHECK(map.element_number() == number);
    CHECK(map.ftz == (number == 8 || number == 12));
    CHECK(map.padded == (number == 14 || number == 15));
  }
  TensorMap map = kMap;
  CHECK_FALSE(map.set_element(16));
  CHECK(map.type == f16);
}

TEST_CASE("elements of each size take that many bytes of a row") {
  const auto unit = [](const TensorMap& map) {
    const TensorUnit found = map.unit();
    return std::array{found.elements, found.global_bytes, found.shared_bytes};
  };
  using Unit = std::array<std::uint32_t, 3>;
  CHECK(unit({.type = s8}) == Unit{1, 1, 1});
  CHECK(unit({.type = bf16}) == Unit{1, 2, 2});
  CHECK(unit({.type = tf32}) == Unit{1, 4, 4});
  CHECK(unit({.type = f64}) == Unit{1, 8, 8});
  CHECK(unit({.type = e2m1}) == Unit{2, 1, 1});
  CHECK(unit({.type = e2m1, .padded = true}) == Unit{16, 8, 16});
  CHECK(unit({.type = e2m3}) == Unit{16, 12, 16});
}
