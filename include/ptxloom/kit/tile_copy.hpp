// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/kit/swizzled_tile.hpp"

/// \file
/// Copies of tiles from global to shared memory by the threads of a thread block. A tile has `extent` x
/// `depth` elements of a matrix operand (matrix.hpp), stored as the matrix stores them: its rows are parts of
/// the matrix's rows. Each copy moves to the next tile along k:
///
///     k-contiguous              k ->              not k-contiguous         extent ->
///     extent  | tile 0 | tile 1 | tile 2 | .      k  | tile 0 |
///        |                                        |  | tile 1 |
///        v                                        v  | tile 2 |
///
/// The tile is divided into units of 16 bytes, or as many as the alignment of the rows allows. They are dealt
/// to the threads so that adjacent threads read adjacent units. Elements outside the matrix are not read, and
/// become zero.
///
/// Targets with cp.async copy asynchronously: the caller closes groups and waits for them. Other targets, and
/// units too small for cp.async, load into registers (issue()) and store later (land()), so that the
/// arithmetic in between hides the latency:
///
///     copy.issue(stage);  multiply;  copy.land();  cp.async.commit_group;  wait_group;  barrier
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// How threads read a matrix.
struct CopyAccess {
  int bytes = 16;            ///< of a unit: 1 to 16
  bool asynchronous = true;  ///< by cp.async; else through registers
};
/// The widest access that the alignment of the matrix's rows allows, by cp.async if the target has it.
CopyAccess copy_access(const Specs& specs, const Target& target, const MatrixOperand& matrix);

/// What is copied, and by how many threads.
struct TileCopyShape {
  Type type = {};            ///< of an element
  bool k_contiguous = true;  ///< see MatrixOperand
  CopyAccess access = {};    ///< as copy_access() says, or narrower
  int threads = 0;           ///< of the thread block, all of which copy: a power of two
  /// Bytes of a tile's row that a unit has for itself; 0: as many as it has. 16 for units of 8 bytes leaves
  /// the gaps that ldmatrix .b4x16_p64 passes over; what is in them is undefined.
  int slot = 0;
  bool whole_extent = false;  ///< all tiles end inside the matrix along m or n: this is not checked
  bool whole_k = false;       ///< the same along k
};

/// Registers that a copy starts from: u32, except for the pointer.
struct TileCopyInputs {
  Reg pointer;  ///< u64, the matrix in global memory
  Reg ld;       ///< its leading dimension, in elements
  Reg origin;   ///< where the tile begins along m or n
  Reg extent;   ///< of the matrix along m or n: m or n
  Reg k;        ///< of the matrix along k
  Reg shared;   ///< address of the tile in stage 0, in shared memory
  Reg thread;   ///< number of this thread, below `threads`
};

/// Copies one tile after the other, along k. All threads call its functions.
class TileCopy {
 public:
  /// Emits the setup: this thread's pointer and its place in a tile. The depth of the tile is what lies along
  /// k in `tile`. Throws Error(usage, "bad-tile-copy") unless the number of threads and the bytes of a unit
  /// are powers of two, a unit holds whole elements and fits its slot, and cp.async copies at least 4 bytes.
  TileCopy(KernelBuilder& k, const TileCopyShape& shape, const SwizzledTile& tile, const TileCopyInputs& in);

  bool asynchronous() const { return asynchronous_; }  ///< by cp.async, whose groups the caller closes
  /// Starts copying the next tile along k to the stage at `stage_offset` bytes (u32), and moves on by one
  /// tile.
  void issue(Reg stage_offset);
  /// Stores what the last issue() loaded; does nothing for asynchronous copies.
  void land();

 private:
  struct Unit {
    int row = 0, byte = 0;   // distance from this thread's first unit, in the matrix
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
  SwizzledTile tile_;
  int size_;  // bytes of an element
  bool k_contiguous_;
  int threads_, access_;  // bytes of a unit
  int spread_;            // bytes of a tile's row for each byte of a unit
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
  int depth_;                                   // of a tile, along k
  // For the tile being copied: for each column the bytes that exist, or, where units are loaded, a predicate;
  // and the stage address with these bits flipped.
  std::vector<Reg> columns_;
  std::map<int, Reg> flipped_;
  std::vector<Pending> pending_;
};

}  // namespace kit
}  // namespace ptxloom
