// SPDX-License-Identifier: Apache-2.0
#include "conform/tensors.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

#include "conform/replaced.hpp"

namespace ptxloom::conform_kernels {
namespace {

using Random = std::mt19937_64;

constexpr std::uint64_t kWarpBytes = std::uint64_t{kSlotBytes} * kWarpThreads;
constexpr std::uint32_t kMostBoxBytes = 8192;  // next to an mbarrier, in the shared memory of a warp

/// The specs' description of a map.
struct Kind {
  std::uint32_t rank = 1;
  bool image = false;   ///< for image mode
  bool inside = false;  ///< an image whose box stays inside it
  std::vector<std::string> types;
  std::string field;  ///< the field that the kernel sets
  std::uint32_t number = 0;

  ReplacedField replaced() const { return {.name = field, .number = number}; }
};

/// The value of a literal operand for "$NAME".
std::uint32_t number_of(const Subject& subject, std::string_view word) {
  if (word.starts_with('$'))
    return static_cast<std::uint32_t>(
        subject.immediates[static_cast<std::size_t>(subject.variant.operand_index(word.substr(1)))]);
  return static_cast<std::uint32_t>(std::stoul(std::string(word)));
}

Kind kind_of(const Subject& subject) {
  std::istringstream words(subject.variant.conform("map"));
  Kind kind{.types = {}, .field = {}};
  std::string rank, shape, types, without, number;
  words >> rank >> shape >> types >> without >> kind.field >> number;
  kind.rank = static_cast<std::uint32_t>(rank.at(0) - '0');
  kind.inside = shape == "inside";
  kind.image = kind.inside || shape == "image";
  std::istringstream list(types);
  for (std::string type; std::getline(list, type, ',');) kind.types.push_back(type);
  if (!number.empty()) kind.number = number_of(subject, number);
  return kind;
}

std::uint32_t below(Random& random, std::uint32_t count) {
  return static_cast<std::uint32_t>(random() % count);
}

/// "f32.ftz" or a type's name.
void set_type(TensorMap& map, std::string_view name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  map.ftz = dot != name.size();
  map.type = find_type(name.substr(0, dot)).value_or(f32);
}

// Elements of a row in shared memory: a multiple of 16 bytes, within the swizzle width.
std::uint32_t random_row(Random& random, const TensorMap& map) {
  constexpr std::array<std::uint32_t, 4> kSpans{256, 32, 64, 128};
  const std::uint32_t size = map.unit().global_bytes,
                      most = std::min(kSpans[static_cast<std::size_t>(map.swizzle)], 256 * size);
  return 16 * (1 + below(random, most / 16)) / size;
}

std::uint32_t pitch_of(const TensorMap& map, std::uint32_t row_bytes) {
  constexpr std::array<std::uint32_t, 4> kSpans{0, 32, 64, 128};
  return std::max(row_bytes, kSpans[static_cast<std::size_t>(map.swizzle)]);
}

std::uint32_t rows_of(const TensorMap& map) {
  if (map.image) return map.image->pixels;
  std::uint32_t rows = 1;
  for (std::size_t i = 1; i < map.rank; ++i)
    rows *= (map.box[i] + map.element_strides[i] - 1) / map.element_strides[i];
  return rows;
}

std::uint32_t row_bytes_of(const TensorMap& map) {
  return (map.image ? map.image->channels : map.box[0]) * map.unit().global_bytes;
}

void shape_tile(TensorMap& map, Random& random, bool narrow) {
  map.box[0] = narrow ? 16 / map.unit().global_bytes : random_row(random, map);
  map.dims[0] = map.box[0] / 2 + 1 + below(random, map.box[0]);
  for (std::size_t i = 1; i < map.rank; ++i) {
    map.dims[i] = 1 + below(random, map.rank == 2 ? 20 : 5);
    map.element_strides[i] = 1 + below(random, 3);
    map.box[i] = 1 + below(random, map.rank == 2 ? 24 : 5);
  }
}

// Places the box corners such that the starting pixel, -1 to 3 along each axis or, if `inside`, 0 to 3, lies
// in the box.
void shape_image(TensorMap& map, Random& random, bool inside) {
  TensorMap::Image image{.channels = random_row(random, map), .pixels = 1 + below(random, 40)};
  map.dims[0] = image.channels / 2 + 1 + below(random, image.channels);
  const auto corner = [](std::uint32_t most, std::uint32_t least) {
    return static_cast<std::int16_t>(static_cast<int>(most) - static_cast<int>(least));
  };
  for (std::size_t i = 1; i + 1 < map.rank; ++i) {
    map.dims[i] = (inside ? 4 : 2) + below(random, map.rank == 3 ? 12 : 3);
    if (!inside) image.lower[i - 1] = corner(0, 1 + below(random, 3));
    image.upper[i - 1] = corner(4 + below(random, 3), static_cast<std::uint32_t>(map.dims[i]));
    if (inside) image.upper[i - 1] = std::min<std::int16_t>(image.upper[i - 1], 0);
    map.element_strides[i] = 1 + below(random, 2);
  }
  map.dims[map.rank - 1] = 1 + below(random, 4);
  map.image = image;
}

// Places the tensor with some room between rows, each stride being a multiple of the previous one, as the
// driver requires; false if the tensor or its box does not fit.
bool place(TensorMap& map, Random& random) {
  std::uint64_t bytes = (map.dims[0] * map.unit().global_bytes + 15) / 16 * 16;
  bytes += 16 * below(random, 3);
  for (std::size_t i = 1; i < map.rank; ++i) {
    map.strides[i - 1] = bytes;
    bytes *= map.dims[i] + (i + 1 < map.rank ? below(random, 2) : 0);
  }
  return bytes <= kWarpBytes && rows_of(map) * pitch_of(map, row_bytes_of(map)) <= kMostBoxBytes;
}

TensorMap random_map(const Kind& kind, Random& random) {
  while (true) {
    TensorMap map{.rank = kind.rank, .swizzle = static_cast<TensorSwizzle>(below(random, 4))};
    set_type(map, kind.types[below(random, static_cast<std::uint32_t>(kind.types.size()))]);
    if (map.type.is_float() && below(random, 2) == 0) map.fill = TensorFill::nan;
    if (!kind.field.empty()) set_literal(map, kind.replaced());
    kind.image ? shape_image(map, random, kind.inside) : shape_tile(map, random, !kind.field.empty());
    if (place(map, random)) return map;
  }
}

}  // namespace

std::uint32_t box_bytes(const TensorMap& map) { return rows_of(map) * row_bytes_of(map); }

std::vector<TensorMap> tensor_maps(const Subject& subject, std::size_t warps, std::uint64_t seed) {
  if (!subject.around.maps) return {};
  const Kind kind = kind_of(subject);
  Random random(seed ^ 0xD1B54A32D192ED03);
  std::vector<TensorMap> maps;
  for (std::size_t warp = 0; warp < warps; ++warp) {
    maps.push_back(random_map(kind, random));
    maps.back().address = warp * kWarpBytes;
  }
  return maps;
}

void align_starts(const Subject& subject, const std::vector<TensorMap>& maps, std::span<std::byte> inputs) {
  const auto record = static_cast<std::size_t>(subject.in.bytes);
  for (const Field& field : subject.in.fields) {
    const OperandSpec& operand = subject.variant.operands()[static_cast<std::size_t>(field.operand)];
    if (field.element != 0 || !subject.variant.conform(operand.name).starts_with("start ")) continue;
    for (std::size_t thread = 0; thread * record < inputs.size(); ++thread) {
      std::byte* const at = inputs.data() + thread * record + static_cast<std::size_t>(field.offset);
      std::int32_t value = 0;
      std::memcpy(&value, at, sizeof value);
      value *= static_cast<std::int32_t>(16 / maps[thread / kWarpThreads].unit().global_bytes);
      std::memcpy(at, &value, sizeof value);
    }
  }
}

std::vector<std::byte> encode_maps(const Subject& subject, const std::vector<TensorMap>& maps,
                                   std::uint64_t slots,
                                   const std::function<EncodedTensorMap(const TensorMap&)>& encode) {
  if (maps.empty()) return {};
  const Kind kind = kind_of(subject);
  std::vector<std::byte> bytes(maps.size() * kMapBytes);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    TensorMap map = maps[i];
    map.address += slots;
    const std::uint32_t counted = box_bytes(map);
    const BeforeReplacing given = before_replacing(map, kind.replaced());
    const EncodedTensorMap encoded = encode(given.map);
    std::byte* const at = bytes.data() + i * kMapBytes;
    std::memcpy(at, encoded.bytes.data(), encoded.bytes.size());
    std::memcpy(at + 128, &counted, sizeof counted);
    std::memcpy(at + 136, &given.value, sizeof given.value);
  }
  return bytes;
}

}  // namespace ptxloom::conform_kernels
