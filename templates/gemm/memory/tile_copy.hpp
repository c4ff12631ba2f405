// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "gemm/memory/swizzled_tile.hpp"

// Copies tiles of A or B from global to shared memory. The threads of a thread block are mapped to units of a
// tile (16 bytes, or as many as the alignment of the rows allows) so that adjacent threads read adjacent
// units. Elements outside the matrix become zero. Targets with cp.async copy asynchronously; other targets,
// and units too small for cp.async, load into registers (`issue`) and store later (`land`), so that the
// arithmetic in between hides the latency.
namespace ptxloom::gemm_kernel {

/// Inputs of a copy, in registers: u32, except for the 64-bit pointer.
struct TileCopyInputs {
  Reg pointer;  ///< of the matrix
  Reg ld;       ///< elements
  Reg origin;   ///< first row (k-contiguous) or column of the thread block's tile
  Reg extent;   ///< m or n
  Reg k;
  Reg shared;  ///< address of the operand's tile in stage 0
  Reg thread;
};

class TileCopy {
 public:
  /// Emits the setup: this thread's pointer and its position in a tile.
  TileCopy(KernelBuilder& k, const OperandPlan& plan, const Config& config, const SwizzledTile& tile,
           const TileCopyInputs& in);

  bool asynchronous() const { return asynchronous_; }
  /// Starts copying the next tile along k to the stage at `stage_offset` bytes, and advances by one tile.
  void issue(Reg stage_offset);
  /// Stores what the last `issue` loaded; does nothing for asynchronous copies.
  void land();

 private:
  struct Unit {
    int row = 0, byte = 0;   // distance from this thread's first unit
    std::size_t column = 0;  // index among the units of a row
  };
  struct Pending {
    int row = 0;
    std::vector<Reg> values;
    Reg destination;
    int add = 0;
  };
  void copy(const Unit& unit, const Address& source);
  void load(const Unit& unit, const Address& source);
  Reg elements_left(int byte);
  Reg bytes_left(int byte);
  void begin_columns();
  Reg destination(Reg stage, int flip);
  void guarded(int row, const std::function<void()>& body);
  void deal(Reg thread);

  KernelBuilder& k_;
  const Matrix& matrix_;
  SwizzledTile tile_;
  int threads_, access_;  // bytes of a unit
  bool asynchronous_;
  bool whole_k_, whole_rows_, whole_columns_;  // tiles end where the matrix ends: along k, and as stored
  std::vector<Unit> units_;
  std::size_t columns_count_ = 0;  // units per row
  int row_step_ = 0;               // rows between units of one thread
  Reg first_row_, first_byte_;
  int whole_rounds_end_ = 0;          // rows from here on are too few for all threads
  std::optional<Reg> has_left_over_;  // predicate: this thread has one of those rows
  Reg shared_, pointer_;
  Reg rows_stride_, tile_stride_;      // bytes from one unit's row to the next, and from tile to tile
  Reg rows_left_, row_elements_left_;  // s32: from this thread's first unit to the end of the matrix
  std::optional<Reg> guard_, left_over_guard_;  // predicates for the copies of one tile
  int k_step_;
  // For the tile being copied: for each column the bytes that exist, or, where units are loaded, a predicate;
  // and the stage address with these bits flipped.
  std::vector<Reg> columns_;
  std::map<int, Reg> flipped_;
  std::vector<Pending> pending_;
};

}  // namespace ptxloom::gemm_kernel
