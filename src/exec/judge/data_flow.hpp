// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exec/machine/code.hpp"

// How an instruction propagates undefined bits: which registers it reads and writes, as PTX names them, and
// by which rule, which its family declares (machine/form_flow.hpp).
namespace ptxloom::exec {

/// A register of at most eight bytes per lane, half of a larger one, or a constant.
struct FlowPiece {
  const ir::RegisterDecl* reg = nullptr;  ///< null: a constant
  Slot slot;
  std::uint8_t bits = 32;
  std::uint64_t value = 0;
};

inline std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}
/// The value in a lane; bits above the piece's are meaningless.
std::uint64_t value_of(Warp& warp, const FlowPiece& piece, int lane);

struct DataFlow {
  FlowRule rule = FlowRule::none;
  FlowFunction function = nullptr;            ///< of the rule `computed`
  std::vector<FlowPiece> in, out, addresses;  ///< addresses: also a member mask, and for a matrix
                                              ///< instruction everything except matrices
  std::vector<FlowPiece> of_wgmma;            ///< registers it accesses that some wgmma uses as D or A
  bool multiplies = false;                    ///< it is a wgmma
  bool moves = false;                         ///< its result is its operand
  bool stores = false;                        ///< what is read goes to memory
  bool exact = false;                         ///< ... unchanged, in elements of `element_bytes`
  bool divides = false;                       ///< an integer division by the second operand
  bool scales = false;                        ///< a product or quotient of floats: 0 only of 0
  bool own_memory = false;                    ///< what it accesses is local memory or a parameter
  bool synchronises = false;                  ///< a barrier, a fence, a wait, a release or an acquire
  bool exchanges = false;                     ///< an atomic exchange
  bool volatile_data = false;       ///< a volatile store, or a volatile load of what decides nothing
  bool tests = false;               ///< a strong read of what decides something
  std::uint32_t element_bytes = 0;  ///< of a load or store
};

/// By operation; empty for those that do not start an instruction.
std::vector<DataFlow> data_flows_of(const Code& code);

}  // namespace ptxloom::exec
