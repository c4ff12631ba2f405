// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec_error.hpp"

// The digit algebra of fragment maps. "4*k2 8*m1" splits an index into digits, the fastest first: one of
// radix 4 that counts along axis k in steps of 2, then one of radix 8 along m. "2*=TA" is a digit that must
// equal the operand TA, "2*=BA/2" one that must equal half of BA.
namespace ptxloom::spec {

struct Digit {
  int radix = 1;
  char axis = '\0';      // '\0': a selector
  int stride = 1;        // along the axis; of a selector, what its operand is divided by
  std::string selector;  // the operand whose value the digit must equal
};

/// Axes are single letters: m, k, n, and i for one of several matrices.
inline constexpr std::string_view kAxes = "mkni";

class Coordinates {
 public:
  int& operator[](char axis) { return along_[kAxes.find(axis)]; }
  int operator[](char axis) const { return along_[kAxes.find(axis)]; }
  friend auto operator<=>(const Coordinates&, const Coordinates&) = default;

 private:
  int along_[kAxes.size()] = {};
};

/// The greatest radix and stride, and the greatest product of radices that is told from a greater one.
inline constexpr int kMostDigits = 1 << 12, kMostIndices = 1 << 16;

/// Digits of an axis with radix 1 are left out. Throws "spec-fragment" for what is no list of digits.
std::vector<Digit> parse_digits(std::string_view text, Place place);

/// The number of indices: the product of the radices, or kMostIndices if it is greater.
int index_count(std::span<const Digit> digits);

struct Selected {
  std::string_view operand;
  int value = 0;
};

/// The value of the digit that this value of its operand selects; -1 if it selects none.
int selected_digit(const Digit& selector, int operand_value);

/// Adds the coordinates of an index; false where one of its digits is not what a selector asks for. Operands
/// not selected are 0.
bool add_coordinates(std::span<const Digit> digits, int index, std::span<const Selected> selected,
                     Coordinates& into);

}  // namespace ptxloom::spec
