// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

/// \file
/// Which elements of a large output a reference computes, for Expectation: all of it would take longer than
/// anybody waits.
namespace [[gnu::visibility("default")]] ptxloom {

/// Places below `extent`, at least 1: all of them if there are no more than `count`; else a random one of
/// each of `count` parts of about the same size, and the first and the last.
std::vector<std::uint32_t> sampled_places(std::uint32_t extent, std::uint64_t count, std::mt19937_64& random);

/// An element of a matrix.
struct MatrixElement {
  std::uint64_t row = 0;     ///< its row
  std::uint64_t column = 0;  ///< its column
};
/// About `count` elements of a matrix, at least 1 x 1: a random one of each tile of 16 x 16 elements, or of
/// evenly spaced ones of these tiles, and the last. Kernels compute no smaller tiles.
std::vector<MatrixElement> sampled_elements(std::uint64_t rows, std::uint64_t columns, std::uint64_t count,
                                            std::mt19937_64& random);

/// Appends elements of the padding behind rows of `length` elements, `pitch` apart: all, or the first
/// ones of each row where there are many. Whether it is all.
bool list_padding(std::uint64_t rows, std::uint64_t length, std::uint64_t pitch,
                  std::vector<std::uint64_t>& untouched);

}  // namespace ptxloom
