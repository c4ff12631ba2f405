// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ptxloom/layout.hpp"

// The fragments of the PTX manual (9.7.14 and 9.7.15), written down once more: as its formulas where it gives
// them, as its figures show where it does not. Nothing here knows of digits or of our specs; which formula
// holds is read from the words of the opcode.
namespace ptxloom {

struct Place {
  int row = 0, col = 0, matrix = 0;
};

/// Values of selector operands by name; absent ones are 0.
using Selection = std::map<std::string, int>;

struct ManualFragment {
  std::string type;  ///< of an element
  int bits = 0;      ///< from one value to the next in a register
  int shift = 0;     ///< of an element in those
  int lanes = 32;
  int block = 0;            ///< k for each column of scale factors
  std::string axes = "mn";  ///< what rows and columns count
  std::vector<std::string> selectors;
  /// Of value i of a lane, counted from the lowest bit of its first register; nothing where it holds none.
  std::function<std::optional<Place>(int lane, int i)> place;
};

/// The fragment of the manual's operand: d a b c, e (metadata), sa sb (scale factors), r, or in capitals.
/// Nothing where the manual has none.
std::optional<ManualFragment> manual_fragment(const Variant& variant, std::string operand,
                                              const Selection& selection = {});

/// The elements that the manual says an operand of so many registers has, in the order of Layout.
std::vector<LayoutElement> manual_elements(const ManualFragment& fragment, const OperandSpec& operand);

}  // namespace ptxloom
