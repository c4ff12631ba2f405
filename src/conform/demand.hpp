// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "ptxloom/type.hpp"

// What an operand must hold for the result of an instruction to be defined, in the syntax of specs/README.md
// ("conform"): "-1", "4,14", "!0", "0..255", "16..64/8", "<=314" (for floats, which may be NaN or infinite
// too), "nibbles 4,14", "threads", "descriptor", "uniform" (all threads of a thread block hold the same truth
// value); after "warp " all threads of a warp hold the same value.
namespace ptxloom::conform_kernels {

class Demand {
 public:
  /// `type`: of the operand's elements. Throws Error(usage, "spec-demand") for any other text.
  Demand(std::string_view text, const Type& type);

  /// Whether the threads of a warp hold the same value.
  bool is_of_warp() const { return of_warp_; }

  /// A valid value: the given one if it is valid.
  std::uint64_t meet(std::uint64_t value, std::size_t block, std::mt19937_64& random) const;

 private:
  enum class Kind : std::uint8_t {
    anything,
    one_of,
    none_of,
    range,
    magnitude,
    nibbles,
    descriptor,
    uniform
  };
  Type type_;
  Kind kind_ = Kind::anything;
  bool of_warp_ = false;
  std::vector<std::uint64_t> values_;
  std::uint64_t step_ = 1;  // of a range
};

}  // namespace ptxloom::conform_kernels
