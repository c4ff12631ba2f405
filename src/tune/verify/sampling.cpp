// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/sampling.hpp"

#include <algorithm>

namespace ptxloom {
namespace {

constexpr std::uint64_t kTile = 16;                            // rows and columns of the smallest tile
constexpr std::size_t kMostUntouched = 4096, kBehindRow = 16;  // elements of padding in all, and of a row

}  // namespace

std::vector<std::uint32_t> sampled_places(std::uint32_t extent, std::uint64_t count,
                                          std::mt19937_64& random) {
  std::vector<std::uint32_t> places;
  const std::uint64_t parts = std::clamp<std::uint64_t>(count, 1, extent);
  if (parts < extent) places.push_back(0);
  for (std::uint64_t part = 0; part < parts; ++part) {
    const std::uint64_t begin = part * extent / parts, end = (part + 1) * extent / parts;
    places.push_back(static_cast<std::uint32_t>(begin + random() % (end - begin)));
  }
  if (parts < extent) places.push_back(extent - 1);
  return places;
}

std::vector<MatrixElement> sampled_elements(std::uint64_t rows, std::uint64_t columns, std::uint64_t count,
                                            std::mt19937_64& random) {
  const std::uint64_t down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
  const std::uint64_t step = (down * across + count - 1) / count;
  std::vector<MatrixElement> elements;
  for (std::uint64_t tile = 0; tile < down * across; tile += step) {
    const std::uint64_t row = std::min(tile / across * kTile + random() % kTile, rows - 1);
    const std::uint64_t column = std::min(tile % across * kTile + random() % kTile, columns - 1);
    elements.push_back({row, column});
  }
  elements.push_back({rows - 1, columns - 1});
  return elements;
}

bool list_padding(std::uint64_t rows, std::uint64_t length, std::uint64_t pitch,
                  std::vector<std::uint64_t>& untouched) {
  const std::uint64_t padding = pitch - length;
  const std::size_t before = untouched.size();
  for (std::uint64_t row = 0; row < rows && untouched.size() - before < kMostUntouched; ++row)
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(padding, kBehindRow); ++i)
      untouched.push_back(row * pitch + length + i);
  return untouched.size() - before == padding * rows;
}

}  // namespace ptxloom
