// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec_error.hpp"

// The digit algebra of fragment maps. "4*k2 8*m1" splits an index into digits, fastest first: one of radix 4
// that counts along axis k in steps of 2, then one of radix 8 along m. "2*=TA" is a digit that must equal the
// operand TA, "2*=BA/2" one that must equal half of BA.
namespace ptxloom::spec {

struct Digit {
  int radix = 1;
  char axis = '\0';      // '\0': a selector
  int stride = 1;        // along the axis; for a selector, the divisor of its operand
  std::string selector;  // the operand whose value the digit must equal
};

/// Axes are single letters: m, k, n, and i for the index among several matrices.
inline constexpr std::string_view kAxes = "mkni";

class Coordinates {
 public:
  int& operator[](char axis) { return along_[kAxes.find(axis)]; }
  int operator[](char axis) const { return along_[kAxes.find(axis)]; }
  friend auto operator<=>(const Coordinates&, const Coordinates&) = default;

 private:
  int along_[kAxes.size()] = {};
};

/// The largest radix and stride, and the largest product of radices that is distinguished from larger ones.
inline constexpr int kMostDigits = 1 << 12, kMostIndices = 1 << 16;

/// Digits of an axis with radix 1 are omitted. Throws "spec-fragment" if the text is not a list of digits.
std::vector<Digit> parse_digits(std::string_view text, Place place);

/// The number of indices: the product of the radices, or kMostIndices if that is smaller.
int index_count(std::span<const Digit> digits);

struct Selected {
  std::string_view operand;
  int value = 0;
};

/// The digit value that this value of the operand selects; -1 if it selects none.
int selected_digit(const Digit& selector, int operand_value);

/// Adds the coordinates of an index; false if a digit does not match its selector. Operands that are not
/// selected count as 0.
bool add_coordinates(std::span<const Digit> digits, int index, std::span<const Selected> selected,
                     Coordinates& into);

}  // namespace ptxloom::spec
