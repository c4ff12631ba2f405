// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ptxloom/specs.hpp"

// What a family of instructions says about the data flow of a form, for the judge (judge/data_flow.hpp).
namespace ptxloom::exec {

/// Which bits of a result are undefined.
enum class FlowRule : std::uint8_t {
  undeclared,   ///< the family does not say: an error
  smear,        ///< all, if any operand of the lane has some
  pack,         ///< the operands' bits side by side
  conjunction,  ///< and: none where the other operand is 0
  disjunction,  ///< or: none where the other operand is 1
  exclusive,    ///< xor: those of either operand
  choose,       ///< selp: those of the chosen operand
  bytes,        ///< prmt: those of the selected bytes
  collective,   ///< all in all lanes, if any lane has some
  loaded,       ///< those in memory
  update,       ///< atomic operation: all, if memory has any; memory keeps them
  elsewhere,    ///< first result: the instruction reports it when it is done
  matrix,       ///< the instruction itself propagates those of matrices
  none,         ///< it has no result, or a defined one
};

struct FormFlow {
  FlowRule rule = FlowRule::undeclared;
  bool stores = false;                               ///< what is read goes to memory
  bool exact = false;                                ///< ... unchanged
  bool divides = false;                              ///< an integer division by the second operand
  bool multiplies = false;                           ///< a wgmma: its registers stay in use after it
  FlowRule (*of_variant)(const Variant&) = nullptr;  ///< the rule, if variants differ
};

}  // namespace ptxloom::exec
