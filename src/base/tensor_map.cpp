// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "ptxloom/error.hpp"

namespace ptxloom {
namespace {

struct ElementType {
  std::string_view name;
  Type type;
  TensorUnit unit;
  bool ftz = false, padded = false;
};

// By number.
constexpr std::array<ElementType, 16> kElementTypes{{
    {"u8", u8, {1, 1, 1}},
    {"u16", u16, {1, 2, 2}},
    {"u32", u32, {1, 4, 4}},
    {"s32", s32, {1, 4, 4}},
    {"u64", u64, {1, 8, 8}},
    {"s64", s64, {1, 8, 8}},
    {"f16", f16, {1, 2, 2}},
    {"f32", f32, {1, 4, 4}},
    {"f32", f32, {1, 4, 4}, true},
    {"f64", f64, {1, 8, 8}},
    {"bf16", bf16, {1, 2, 2}},
    {"tf32", tf32, {1, 4, 4}},
    {"tf32", tf32, {1, 4, 4}, true},
    {"b4x16", u4, {2, 1, 1}},
    {"b4x16_p64", u4, {16, 8, 16}, false, true},
    {"b6x16_p32", e2m3, {16, 12, 16}, false, true},
}};

// For a type that tensor maps do not have, the first of its size.
std::size_t find_element(const TensorMap& map) {
  const auto fits = [&](const ElementType& e) {
    return e.ftz == map.ftz && e.type.bits == map.type.bits && (e.padded == map.padded || e.type.bits == 6);
  };
  for (const bool same : {true, false}) {
    for (std::size_t i = 0; i < kElementTypes.size(); ++i) {
      if (fits(kElementTypes[i]) && (!same || kElementTypes[i].type == map.type)) return i;
    }
  }
  throw Error(ErrorKind::usage, "tensor-map",
              fmt::format("the tensor map has elements of type {}{}", map.type.name, map.ftz ? ".ftz" : ""),
              "use a type of 4 to 64 bits, .ftz with f32 and tf32, padding with 4 and 6 bits");
}

// The executor's layout of a map.
struct Wire {
  static constexpr std::uint64_t kMagic = 0x3130'504d'5458'5450;

  std::uint64_t magic = kMagic;
  std::uint64_t address = 0;
  std::array<std::uint64_t, 4> strides{};
  std::array<std::uint32_t, 5> last{};  // dims - 1, because a dimension may be 2^32
  std::array<std::uint16_t, 5> box{};
  std::array<std::uint8_t, 5> element_strides{};
  std::uint8_t type = 0, rank = 0, interleave = 0, swizzle = 0, atom = 0, l2 = 0, fill = 0;
  std::uint8_t is_image = 0, reserved = 0;
  std::array<std::int16_t, 3> lower{}, upper{};
  std::uint16_t channels = 0, pixels = 0;
  std::array<std::uint8_t, 20> unused{};
};
static_assert(sizeof(Wire) == 128);

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw Error(ErrorKind::usage, "tensor-map", "the tensor map " + what, hint);
}
void require(bool holds, const std::string& what, const std::string& hint) {
  if (!holds) refuse(what, hint);
}

bool is_padded(const TensorUnit& unit) { return unit.global_bytes != unit.shared_bytes; }

void check_tensor(const TensorMap& map) {
  const std::uint32_t alignment =
      is_padded(map.unit()) || map.interleave == TensorInterleave::by_32_bytes ? 32 : 16;
  require(map.rank >= 1 && map.rank <= 5, fmt::format("has rank {}", map.rank), "use rank 1 to 5");
  require(map.address % alignment == 0, fmt::format("begins at {:#x}", map.address),
          fmt::format("align the tensor to {} bytes", alignment));
  for (std::size_t i = 0; i < map.rank; ++i) {
    require(map.dims[i] != 0 && map.dims[i] <= std::uint64_t{1} << 32,
            fmt::format("has {} elements along dimension {}", map.dims[i], i), "use 1 to 2^32");
    require(map.element_strides[i] >= 1 && map.element_strides[i] <= 8,
            fmt::format("steps by {} elements along dimension {}", map.element_strides[i], i), "use 1 to 8");
    if (i == 0) continue;
    require(map.strides[i - 1] % alignment == 0 && map.strides[i - 1] < std::uint64_t{1} << 40,
            fmt::format("has a stride of {} bytes along dimension {}", map.strides[i - 1], i),
            fmt::format("use a multiple of {} below 2^40", alignment));
  }
  const std::uint32_t elements = is_padded(map.unit()) ? 128 : map.unit().elements;
  require(map.dims[0] % elements == 0, fmt::format("has {} elements along dimension 0", map.dims[0]),
          fmt::format("use a multiple of {}", elements));
}

// The elements of one row in shared memory.
void check_row(const TensorMap& map, std::uint32_t elements) {
  constexpr std::array<std::uint32_t, 5> spans{0xffff'ffff, 32, 64, 128, 96};
  const TensorUnit unit = map.unit();
  require(elements >= 1 && elements <= 256, fmt::format("has rows of {} elements", elements), "use 1 to 256");
  require(!is_padded(map.unit()) || elements == 128, fmt::format("has rows of {} elements", elements),
          "use 128 with a padded type");
  const std::uint32_t bytes = elements / unit.elements * unit.global_bytes;
  require(elements % unit.elements == 0 && (map.interleave != TensorInterleave::none || bytes % 16 == 0),
          fmt::format("has rows of {} bytes", bytes), "use a multiple of 16 bytes");
  const std::uint32_t span = spans[static_cast<std::size_t>(map.swizzle)];
  require(map.interleave != TensorInterleave::none || bytes <= span,
          fmt::format("has a swizzle of {} bytes, but rows of {}", span, bytes),
          "use rows that are not longer than the swizzle");
  require(map.atom == SwizzleAtom::of_16_bytes || map.swizzle == TensorSwizzle::by_128_bytes,
          "has a swizzle atom of more than 16 bytes", "use a swizzle of 128 bytes with it");
}

void check_image(const TensorMap& map) {
  require(map.rank >= 3, fmt::format("is for im2col and has rank {}", map.rank), "use rank 3 to 5");
  require(map.image->pixels >= 1 && map.image->pixels <= 1024,
          fmt::format("moves {} pixels", map.image->pixels), "use 1 to 1024");
  constexpr std::array<int, 3> limits{1 << 15, 1 << 7, 1 << 4};
  const int limit = limits[map.rank - 3];
  for (std::size_t i = 0; i + 2 < map.rank; ++i) {
    const int lower = map.image->lower[i], upper = map.image->upper[i];
    require(lower >= -limit && lower < limit && upper >= -limit && upper < limit,
            fmt::format("has corners {} and {}", lower, upper),
            fmt::format("use {} to {}", -limit, limit - 1));
    require(static_cast<std::int64_t>(map.dims[i + 1]) + upper > lower, "has a box without pixels",
            "use an upper corner above the lower one");
  }
}

}  // namespace

TensorUnit TensorMap::unit() const { return kElementTypes[find_element(*this)].unit; }
std::string_view TensorMap::element_name() const { return kElementTypes[find_element(*this)].name; }
std::uint32_t TensorMap::element_number() const { return static_cast<std::uint32_t>(find_element(*this)); }
bool TensorMap::set_element(std::uint32_t number) {
  if (number >= kElementTypes.size()) return false;
  const ElementType& element = kElementTypes[number];
  type = element.type;
  ftz = element.ftz;
  padded = element.padded;
  return true;
}

TensorMap TensorMap::with_strides() const {
  TensorMap map = *this;
  const TensorUnit packed = unit();
  std::uint64_t tight = dims[0] / packed.elements * packed.global_bytes;
  for (std::size_t i = 0; i + 1 < std::min(rank, 5u); ++i) {
    if (map.strides[i] == 0) map.strides[i] = tight;
    tight = map.strides[i] * dims[i + 1];
  }
  return map;
}

void TensorMap::check() const {
  const TensorMap map = with_strides();
  check_tensor(map);
  require(fill == TensorFill::zero || (type.is_float() && type.bits >= 16),
          "fills with NaN, but its type is not a floating-point type", "fill with zeros");
  require(interleave == TensorInterleave::none || rank >= 3, "is interleaved and has less than 3 dimensions",
          "use rank 3 to 5");
  check_row(map, image ? image->channels : box[0]);
  if (image) return check_image(map);
  for (std::size_t i = 1; i < rank; ++i)
    require(box[i] >= 1 && box[i] <= 256, fmt::format("has a box of {} along dimension {}", box[i], i),
            "use 1 to 256");
}

EncodedTensorMap encode_for_executor(const TensorMap& given) {
  const TensorMap map = given.with_strides();
  Wire wire{.address = map.address,
            .strides = map.strides,
            .type = static_cast<std::uint8_t>(map.element_number()),
            .rank = static_cast<std::uint8_t>(map.rank),
            .interleave = static_cast<std::uint8_t>(map.interleave),
            .swizzle = static_cast<std::uint8_t>(map.swizzle),
            .atom = static_cast<std::uint8_t>(map.atom),
            .l2 = static_cast<std::uint8_t>(map.l2),
            .fill = static_cast<std::uint8_t>(map.fill),
            .is_image = map.image.has_value()};
  for (std::size_t i = 0; i < 5; ++i) {
    wire.last[i] = static_cast<std::uint32_t>(map.dims[i] - 1);
    wire.box[i] = static_cast<std::uint16_t>(map.box[i]);
    wire.element_strides[i] = static_cast<std::uint8_t>(map.element_strides[i]);
  }
  if (map.image) {
    wire.lower = map.image->lower;
    wire.upper = map.image->upper;
    wire.channels = static_cast<std::uint16_t>(map.image->channels);
    wire.pixels = static_cast<std::uint16_t>(map.image->pixels);
  }
  EncodedTensorMap encoded;
  std::memcpy(encoded.bytes.data(), &wire, sizeof wire);
  return encoded;
}

std::optional<TensorMap> decode_for_executor(std::span<const std::byte, 128> bytes) {
  Wire wire;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.magic != Wire::kMagic) return std::nullopt;
  TensorMap map{.rank = wire.rank,
                .address = wire.address,
                .strides = wire.strides,
                .interleave = static_cast<TensorInterleave>(wire.interleave),
                .swizzle = static_cast<TensorSwizzle>(wire.swizzle),
                .atom = static_cast<SwizzleAtom>(wire.atom),
                .l2 = static_cast<L2Promotion>(wire.l2),
                .fill = static_cast<TensorFill>(wire.fill)};
  map.set_element(wire.type);
  for (std::size_t i = 0; i < 5; ++i) {
    map.dims[i] = std::uint64_t{wire.last[i]} + 1;
    map.box[i] = wire.box[i];
    map.element_strides[i] = wire.element_strides[i];
  }
  if (wire.is_image != 0) {
    map.image = TensorMap::Image{
        .lower = wire.lower, .upper = wire.upper, .channels = wire.channels, .pixels = wire.pixels};
  }
  return map;
}

}  // namespace ptxloom
