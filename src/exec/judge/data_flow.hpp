// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exec/machine/code.hpp"

// Where undefined bits go when an instruction is executed: which registers it reads and writes, as PTX names
// them, and by what rule.
namespace ptxloom::exec {

/// Of the bits of a result, which are undefined. Where no rule says better: all, if any bit read is.
enum class FlowRule : std::uint8_t {
  smear,        ///< all, if any of the lane's operands
  pack,         ///< those of the operands, laid side by side
  conjunction,  ///< and: none where the other operand is 0
  disjunction,  ///< or: none where the other operand is 1
  exclusive,    ///< xor: those of either
  choose,       ///< selp: those of the operand chosen
  bytes,        ///< prmt: those of the bytes picked
  collective,   ///< all of all lanes, if any of any lane
  loaded,       ///< those in memory
  update,       ///< of an atomic operation: all, if any in memory; so is memory then
  elsewhere,    ///< of the first result: as the instruction says when it is done
  matrix,       ///< the instruction carries those of matrices itself
  none,
};

/// A register of at most eight bytes a lane, half of a larger one, or a constant.
struct FlowPiece {
  const ir::RegisterDecl* reg = nullptr;  ///< null: a constant
  Slot slot;
  std::uint8_t bits = 32;
  std::uint64_t value = 0;
};

inline std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}
/// In a lane; what stands above the piece's bits means nothing.
std::uint64_t value_of(Warp& warp, const FlowPiece& piece, int lane);

struct DataFlow {
  FlowRule rule = FlowRule::none;
  std::vector<FlowPiece> in, out, addresses;  ///< the last: of a matrix instruction all that is no matrix
  std::vector<FlowPiece> of_wgmma;            ///< registers it accesses that some wgmma has as D or A
  bool multiplies = false;                    ///< it is one
  bool stores = false;                        ///< what is read goes to memory
  bool exact = false;                         ///< ... as it is, `element_bytes` of each
  bool divides = false;                       ///< integers, by the second operand
  bool exchanges = false;                     ///< atomically
  std::uint32_t element_bytes = 0;            ///< of a load or store
};

/// By operation; of those that do not begin an instruction, empty.
std::vector<DataFlow> data_flows_of(const Code& code);

}  // namespace ptxloom::exec
