// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/matrix.hpp"

namespace ptxloom::kit {

std::uint64_t span(std::uint64_t rows, std::uint64_t cols, std::uint64_t ld, std::uint64_t stride,
                   std::uint64_t batches) {
  return (batches - 1) * stride + (rows - 1) * ld + cols;
}

int alignment(Type type, std::uint64_t ld, std::uint64_t stride, std::uint64_t length, bool whole) {
  const auto size = static_cast<std::uint64_t>(type.bytes());
  std::uint64_t bits = 16 | (ld * size) | (stride * size);
  if (whole) bits |= length * size;
  return static_cast<int>(bits & (~bits + 1));
}

int alignment(const MatrixOperand& x, bool whole) { return alignment(x.type, x.ld, x.stride, x.cols, whole); }

}  // namespace ptxloom::kit
