// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxloom/specs.hpp"

// What a family of instructions says about the data flow of a form, for the judge (judge/data_flow.hpp).
namespace ptxloom::exec {

/// Which bits of a result are undefined.
enum class FlowRule : std::uint8_t {
  undeclared,  ///< the family does not say: an error
  smear,       ///< all, if any operand of the lane has some
  pack,        ///< the operands' bits side by side
  computed,    ///< those that FormFlow::function returns; without a function as smear
  collective,  ///< all in all lanes, if any lane has some
  loaded,      ///< those in memory
  update,      ///< atomic operation: all, if memory has any; memory keeps them
  elsewhere,   ///< first result: the instruction reports it when it is done
  matrix,      ///< the instruction itself propagates those of matrices
  decides,     ///< none: all operands must be defined, because they decide what the instruction does
  none,        ///< it has no result, or a defined one
};

/// An operand of one lane.
struct FlowOperand {
  const void* reg = nullptr;  ///< the register; null: a constant
  std::uint64_t undefined = 0;
  std::uint64_t value = 0;
  int bits = 32;
};
/// The undefined bits of result number `result`. bit_flow.hpp has the usual ones.
using FlowFunction = std::uint64_t (*)(std::span<const FlowOperand> in, std::size_t result);

struct FormFlow {
  FlowRule rule = FlowRule::undeclared;
  FlowFunction function = nullptr;
  bool stores = false;                               ///< what is read goes to memory
  bool exact = false;                                ///< ... unchanged
  bool divides = false;                              ///< an integer division by the second operand
  bool scales = false;                               ///< a product or quotient of floats: 0 only of 0
  bool multiplies = false;                           ///< a wgmma: its registers stay in use after it
  bool moves = false;                                ///< its result is its operand
  bool synchronises = false;                         ///< a barrier, a fence, or a wait
  FormFlow (*of_variant)(const Variant&) = nullptr;  ///< if variants differ
};

constexpr FormFlow computed_by(FlowFunction function) {
  return {.rule = FlowRule::computed, .function = function};
}

}  // namespace ptxloom::exec
