// SPDX-License-Identifier: Apache-2.0
#include "exec/async/tensor_box.hpp"

namespace ptxloom::exec {
namespace {

// Advances a position, fastest dimension first; false after the last.
template <class Step>
bool advance(std::uint32_t dimensions, Step step) {
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    if (step(i)) return true;
  }
  return false;
}

std::vector<TensorPoint> tile_rows(const TensorMap& map, const TensorBox& box) {
  std::vector<TensorPoint> rows;
  std::array<std::uint32_t, 5> at{};
  const auto step = [&](std::uint32_t i) {
    at[i + 1] += map.element_strides[i + 1];
    if (at[i + 1] < map.box[i + 1]) return true;
    at[i + 1] = 0;
    return false;
  };
  do {
    TensorPoint point{};
    for (std::size_t i = 0; i < map.rank; ++i) point[i] = std::int64_t{box.coordinates[i]} + at[i];
    rows.push_back(point);
  } while (advance(map.rank - 1, step));
  return rows;
}

// Consecutive pixels within the bounding box given by the map, across the images N.
std::vector<TensorPoint> image_rows(const TensorMap& map, const TensorBox& box) {
  std::vector<TensorPoint> rows;
  TensorPoint at{};
  for (std::size_t i = 0; i < map.rank; ++i) at[i] = box.coordinates[i];
  const std::uint32_t spatial = map.rank - 2;
  const auto step = [&](std::uint32_t i) {
    at[i + 1] += map.element_strides[i + 1];
    if (i == spatial || at[i + 1] < static_cast<std::int64_t>(map.dims[i + 1]) + map.image->upper[i])
      return true;
    at[i + 1] = map.image->lower[i];
    return false;
  };
  for (std::uint32_t pixel = 0; pixel < map.image->pixels; ++pixel) {
    TensorPoint point = at;
    for (std::uint32_t i = 0; i < spatial; ++i) point[i + 1] += box.offsets[i];
    rows.push_back(point);
    advance(spatial + 1, step);
  }
  return rows;
}

}  // namespace

std::vector<TensorPoint> rows_of(const TensorMap& map, const TensorBox& box) {
  switch (box.mode) {
    case TensorMode::tile:
      return tile_rows(map, box);
    case TensorMode::image:
      return image_rows(map, box);
    default:
      break;
  }
  std::vector<TensorPoint> rows;
  for (std::size_t i = 1; i <= 4; ++i) rows.push_back({box.coordinates[0], box.coordinates[i]});
  return rows;
}

std::uint32_t row_elements(const TensorMap& map) { return map.image ? map.image->channels : map.box[0]; }

std::uint32_t row_bytes(const TensorMap& map) {
  const TensorUnit unit = map.unit();
  return row_elements(map) / unit.elements * unit.shared_bytes;
}

// Rows shorter than the swizzle width leave the rest of their line unused.
std::uint32_t row_pitch(const TensorMap& map) {
  switch (map.swizzle) {
    case TensorSwizzle::by_32_bytes:
      return 32;
    case TensorSwizzle::by_64_bytes:
      return 64;
    case TensorSwizzle::by_128_bytes:
      return 128;
    default:
      return row_bytes(map);
  }
}

std::uint32_t swizzled(const TensorMap& map, std::uint32_t offset) {
  const std::uint32_t line = offset >> 7;  // lines of 128 bytes: all banks once
  switch (map.swizzle) {
    case TensorSwizzle::none:
      return offset;
    case TensorSwizzle::by_32_bytes:
    case TensorSwizzle::by_96_bytes:
      return offset ^ (line & 1) << 4;
    case TensorSwizzle::by_64_bytes:
      return offset ^ (line & 3) << 4;
    case TensorSwizzle::by_128_bytes:
      break;
  }
  switch (map.atom) {
    case SwizzleAtom::of_16_bytes:
      return offset ^ (line & 7) << 4;
    case SwizzleAtom::of_32_bytes:
      return offset ^ (line & 3) << 5;
    case SwizzleAtom::of_32_bytes_flip8:
      return offset ^ (line & 3) << 5 ^ (line & 1) << 3;
    case SwizzleAtom::of_64_bytes:
      return offset ^ (line & 1) << 6;
  }
  return offset;
}

std::uint32_t swizzle_chunk(const TensorMap& map) {
  if (map.swizzle == TensorSwizzle::none) return 1u << 30;
  return map.atom == SwizzleAtom::of_32_bytes_flip8 ? 8 : 16;
}

}  // namespace ptxloom::exec
