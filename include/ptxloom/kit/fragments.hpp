// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/kit/swizzled_tile.hpp"
#include "ptxloom/layout.hpp"

/// \file
/// Fragments of A and B of an mma.sync, loaded from a tile in shared memory into the registers of a warp. The
/// fragment map of the instruction (layout.hpp) says which elements each register of each lane holds. In all
/// shapes a register holds an 8 x 4 pattern of lanes, here of A of m16n8k16, with its four registers:
///
///                 k 0  2  4  6   8 10 12 14
///     row 0       | register 0 | register 2 |      lane l holds row l / 4 and the elements from
///     row 8       | register 1 | register 3 |      k = l % 4 * (elements of a register) on
///
/// so that one load fetches a register for all lanes (or ldmatrix several registers), and only the positions
/// of the registers differ between shapes and types. A warp's part of a tile has several mma tiles along its
/// extent, m or n, and several k-steps, each the depth of an mma.
///
/// Elements of 6 and 4 bits whose instruction has bytes for them (.kind::mxf8f6f4 beside wider ones) lie in a
/// tile of bytes, 16 of them packed at the beginning of each 16 bytes; ldmatrix widens them.
///
/// Where the tile is not contiguous along k, 16-bit elements are transposed by ldmatrix, pairs of 8-bit
/// elements by ldmatrix and prmt, and others are loaded one by one. 8-bit elements come in another order of
/// rows then (FragmentOrder).
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// How fragments are loaded from a tile.
enum class FragmentPath {
  ldmatrix,        ///< k-contiguous, 4 to 32 bits
  ldmatrix_trans,  ///< not k-contiguous, 16 bits
  ldmatrix_bytes,  ///< not k-contiguous, 8 bits: pairs of bytes through ldmatrix.trans, then sorted by prmt
  scalar,          ///< not k-contiguous and 32 bits, and f64: element by element
};
/// The path for a matrix of this type. Types below 8 bits are k-contiguous.
FragmentPath fragment_path(Type type, bool k_contiguous);

/// A tile of `extent` (m or n) x `depth` (k) elements in the swizzle that suits its path. Throws Error(usage,
/// "bad-tile") if its rows are not a power of two of bytes.
SwizzledTile fragment_tile(Type type, bool k_contiguous, int extent, int depth);

/// The position of lane 0's first element of a register: along the operand's extent (m or n) and along k.
struct FragmentPlace {
  int extent = 0;  ///< m or n
  int k = 0;       ///< along k
};
/// The positions of the registers of operand "A" or "B". Throws Error(refused, "fragment-map") if lanes do
/// not follow the 8 x 4 pattern.
std::vector<FragmentPlace> register_places(Variant mma, std::string_view operand);

/// The order of rows (columns of B) within a fragment. 8-bit fragments that are fetched transposed have their
/// 16 rows in the order 0 2 4 .. 14 1 3 .. 15. Accumulators have the order of their operands.
struct FragmentOrder {
  bool interleaved = false;  ///< even rows first
  /// The real row of a fragment's row `place` in the first group of four lanes; for a register (u32),
  /// positions are multiples of 8.
  ///@{
  int origin(int place) const { return interleaved ? (place & ~15) + ((place >> 3) & 1) : place; }
  Reg origin(KernelBuilder& k, Reg place) const;
  ///@}
  int step() const { return interleaved ? 2 : 1; }  ///< from one group of four lanes to the next
};
/// The order for an operand of this type.
FragmentOrder fragment_order(Type type, bool k_contiguous);

/// What a warp loads.
struct FragmentShape {
  Variant mma;                    ///< the instruction
  std::string_view operand = {};  ///< "A" or "B"
  Type type = {};                 ///< of an element
  bool k_contiguous = true;       ///< see MatrixOperand
  int extent = 0;                 ///< of the warp's part, in elements: m or n of several mma tiles
};

/// Registers that the loads start from, u32.
struct FragmentInputs {
  Reg shared;  ///< address of the tile in stage 0, in shared memory; a multiple of 128
  /// First row (or column of B) of this warp in the tile. Where the tile is not contiguous along k, it is a
  /// multiple of the extent of the warp's part, rounded up to a power of two, or of 128 bytes.
  Reg warp_origin;
  Reg lane;  ///< lane of this thread, 0 to 31
};

/// Loads the fragments of a warp's part of a tile, k-step by k-step. All lanes call its functions together.
class Fragments {
 public:
  /// [mma tile along the extent][register of the operand]
  using Tiles = std::vector<std::vector<Reg>>;

  /// Emits the setup: this lane's address. `tile`: of fragment_tile(), for widened elements that of u8.
  /// Throws Error(usage, "bad-fragments") unless the warp's part has whole mma tiles, and 16 rows of 8-bit
  /// elements that are transposed, and for types below 8 bits that are not k-contiguous.
  Fragments(KernelBuilder& k, const FragmentShape& shape, const SwizzledTile& tile, const FragmentInputs& in);

  /// New registers for the fragments of one k-step: b32, or f64.
  Tiles allocate();
  /// Selects the stage at this byte offset (u32) for the loads that follow.
  void set_stage(Reg offset);
  /// Loads the fragments of one k-step of the stage, counted from 0, into registers of allocate().
  void load(int step, const Tiles& into);

 private:
  struct Block {
    FragmentPlace place;
    Reg into;
  };
  std::vector<Block> blocks(const Tiles& into) const;
  void prepare_ldmatrix(Reg warp_origin, Reg lane);
  void prepare_scalar(Reg warp_origin, Reg lane);
  std::string ldmatrix_opcode() const;
  void load_ldmatrix(int k_origin, const std::vector<Block>& blocks);
  void load_bytes(int k_origin, const std::vector<Block>& blocks);
  void load_scalar(int k_origin, const std::vector<Block>& blocks);
  std::vector<FragmentPlace> matrix_places() const;  // of one k-step, in the order ldmatrix fetches them
  Address address(FragmentPlace place);

  KernelBuilder& k_;
  Type type_;
  int tile_bits_ = 0;  // of an element in the tile, and in a register
  int shift_ = 0;      // of the first element in a register
  bool k_contiguous_;
  SwizzledTile tile_;
  FragmentPath path_;
  std::vector<FragmentPlace> places_;  // of the registers of one mma
  int mma_extent_ = 0, mma_k_ = 0, tiles_ = 0;
  int group_ = 1;               // matrices per ldmatrix
  Reg base_;                    // this lane's address in stage 0
  Reg stage_;                   // and in the current stage
  std::map<int, Reg> flipped_;  // stage_ with some bits flipped
};

}  // namespace kit
}  // namespace ptxloom
