// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptxloom/type.hpp"

// How far the device may deviate from the executor where the hardware's tables are unpublished: the slot
// `error` of the specs, "ulp:2", "rel:-11" or "abs:-20.5" (powers of two), or several separated by "/", of
// which the largest counts. The bound is the manual's, for the device relative to the true value; the
// executor's result is the nearest to that. Zeros, infinities and NaN must match in every bit.
namespace ptxloom::conform_kernels {

class Tolerance {
 public:
  explicit Tolerance(std::string_view text);

  /// For results of `bytes` bytes that hold one or several elements of a type.
  bool allows(const Type& element, int bytes, std::uint64_t device, std::uint64_t executor) const;

 private:
  enum class Unit : std::uint8_t { ulp, relative, absolute };
  struct Bound {
    Unit unit = Unit::ulp;
    double amount = 0;
  };
  bool near(const Type& type, std::uint64_t device, std::uint64_t executor) const;

  std::vector<Bound> bounds_;
};

}  // namespace ptxloom::conform_kernels
