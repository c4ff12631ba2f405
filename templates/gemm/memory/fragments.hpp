// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "gemm/memory/swizzled_tile.hpp"
#include "ptxloom/layout.hpp"

// Loads fragments of A or B from shared memory into the registers of an mma. The fragment map of the variant
// says which element each register of each lane holds. Every register is a small block that one load fetches
// for all lanes, so only the positions of the blocks differ between shapes and types.
namespace ptxloom::gemm_kernel {

/// Position of lane 0's first element of a register: along the operand's own extent (m or n) and along k.
struct Place {
  int extent = 0, k = 0;
};

/// The positions of an operand's registers. Throws Error(refused) if lanes do not follow the pattern that all
/// mma.sync share: lane / 4 along the extent, lane % 4 along k.
std::vector<Place> register_places(Variant mma, std::string_view operand);

/// 8-bit fragments that are fetched transposed have their 16 rows (columns of B) in the order 0 2 4 .. 14 1 3
/// .. 15. This gives the real position of a fragment's row for lane group 0, and the step from one lane group
/// to the next.
struct Order {
  bool interleaved = false;
  int origin(int place) const { return interleaved ? (place & ~15) + ((place >> 3) & 1) : place; }
  int step() const { return interleaved ? 2 : 1; }
  /// For positions that are multiples of 8.
  Reg origin(KernelBuilder& k, Reg place) const;
};
/// The order of the rows of A's fragments, or of the columns of B's.
Order order_of(const Matrix& matrix);

struct FragmentInputs {
  Reg shared;       ///< address of the operand's tile in stage 0
  Reg warp_origin;  ///< first row (or column) of this warp in the tile
  Reg lane;
};

class Fragments {
 public:
  using Tiles = std::vector<std::vector<Reg>>;  ///< [tile along the extent][register of the operand]

  Fragments(KernelBuilder& k, const OperandPlan& plan, const Config& config, const SwizzledTile& tile,
            const FragmentInputs& in);

  /// Registers for the fragments of one k-step.
  Tiles allocate();
  /// Selects the stage at this byte offset for the loads that follow.
  void set_stage(Reg offset);
  /// Loads the fragments of one k-step of the stage.
  void load(int step, const Tiles& into);

 private:
  struct Block {
    Place place;
    Reg into;
  };
  std::vector<Block> blocks(const Tiles& into) const;
  void prepare_ldmatrix(Reg warp_origin, Reg lane);
  void prepare_scalar(Reg warp_origin, Reg lane);
  void load_ldmatrix(int k_origin, const std::vector<Block>& blocks);
  void load_bytes(int k_origin, const std::vector<Block>& blocks);
  void load_scalar(int k_origin, const std::vector<Block>& blocks);
  std::vector<Place> matrix_places() const;  // of one k-step, in the order ldmatrix fetches them
  Address address(Place place);

  KernelBuilder& k_;
  const Matrix& matrix_;
  SwizzledTile tile_;
  Path path_;
  std::vector<Place> places_;  // of the registers of one mma
  int mma_extent_, mma_k_, tiles_;
  int group_ = 1;               // matrices per ldmatrix
  Reg base_;                    // this lane's address in stage 0
  Reg stage_;                   // and in the current stage
  std::map<int, Reg> flipped_;  // stage_ with some bits flipped
};

}  // namespace ptxloom::gemm_kernel
