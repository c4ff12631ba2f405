// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// The digit algebra of fragment maps. "4*k2 8*m1" splits an index into digits, the fastest first: one of
// radix 4 that counts along axis k in steps of 2, then one of radix 8 along m. "2*=TA" is a digit that must
// equal a selector.
namespace ptxloom::layout_digits {

struct Digit {
  int radix = 1;
  char axis = '\0';  // '\0': a selector
  int stride = 0;
  std::string selector;  // the operand whose value the digit must equal
};

/// Axes are single letters: m, k, n, and i for one of several matrices.
inline constexpr std::string_view kAxes = "mkni";

class Coordinates {
 public:
  int& operator[](char axis) { return along_[kAxes.find(axis)]; }
  int operator[](char axis) const { return along_[kAxes.find(axis)]; }

 private:
  int along_[kAxes.size()] = {};
};

/// Throws Error(usage, "bad-layout") for what is no list of digits.
std::vector<Digit> parse(std::string_view text);

/// The number of indices: the product of the radices.
int index_count(std::span<const Digit> digits);

struct Selected {
  std::string_view name;
  int value = 0;
};

/// Adds the coordinates of an index; false where one of its digits is not what a selector asks for.
bool add(std::span<const Digit> digits, int index, std::span<const Selected> selected, Coordinates& into);

}  // namespace ptxloom::layout_digits
