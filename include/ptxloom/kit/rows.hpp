// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/kit/packed.hpp"
#include "ptxloom/kit/realigned.hpp"
#include "ptxloom/kit/team.hpp"

/// \file
/// Rows of elements, loaded and stored by the threads of a team in vectors, whatever the length and the
/// pitch. A row is divided into chunks of `vector` elements, dealt to the threads of the team in turn; the
/// chunks of a thread are its slots. If rows do not begin at a multiple of a chunk, chunk 0 begins before the
/// row, where the address is a multiple of a chunk (here vector = 4, a team of 2 threads, and a row that
/// begins 3 elements after such an address):
///
///     address  |. . . 0|1 2 3 4|5 6 7 8|9 . . .|     elements of the row
///     chunk    |   0   |   1   |   2   |   3   |
///     thread   |   0   |   1   |   0   |   1   |
///     slot     |     slot 0    |     slot 1    |
///
/// A chunk inside the row is one access for every 16 bytes. A chunk at an end is accessed element by element,
/// by one thread; what lies outside the row is neither read nor written. All of this is decided when the
/// kernel is made, except what differs from row to row.
///
/// Other tensors have rows of the same length, divided in the same way: their accesses are as wide as their
/// own pitch allows. A single row that all share, such as weights, lies at another offset from the chunks in
/// each row. If the window is the whole row, it is loaded in aligned vectors all the same, two for a chunk of
/// at most 16 bytes, and shifted in registers:
///
///     weights  |0 1 2 3|4 5 6 7|8 . . .|     two aligned vectors hold
///     chunk        |2 3 4 5|                 this chunk; shift = 2
///
/// Sizes are in elements. Tensors begin at multiples of 16 bytes.
///
/// Errors: RowWindow throws Error(usage, "bad-rows") for a shape or a part that has no chunks as described,
/// and RowTensor as packed.hpp and realigned.hpp say.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The rows of the leading tensor, and how they are divided.
struct RowShape {
  std::uint32_t length = 0;  ///< of a row; 1 to 2^30
  std::uint64_t pitch = 0;   ///< from a row to the next
  int vector = 1;            ///< elements of a chunk, a power of two
  Team team = {};            ///< the threads that share a row

  /// Whether rows begin within a chunk.
  bool shifted() const { return pitch % static_cast<std::uint64_t>(vector) != 0; }
  /// Slots of a thread that cover the whole row.
  int slots() const;
};

/// The chunks that this thread has of a row.
class RowWindow {
 public:
  /// The whole row number `row` (u32). `present`: a predicate; where it does not hold, all chunks are
  /// outside. Throws Error(usage, "bad-rows") for other lengths and chunks than RowShape says.
  RowWindow(KernelBuilder& k, const RowShape& shape, Reg row, std::optional<Reg> present = {});
  /// A part of the row: `slots` slots for each thread, after those of the first `part` (u32) parts. Its ends
  /// are found when the kernel runs. Throws Error(usage, "bad-rows") for less than one slot.
  RowWindow part(Reg part, int slots) const;

  const RowShape& shape() const { return shape_; }  ///< of the leading tensor
  int slots() const { return slots_; }              ///< chunks of this thread
  /// Position in the row of the first element of slot 0, an s32. Those of slot i follow after i * stride().
  Reg position() const { return position_; }
  int stride() const { return shape_.vector * shape_.team.threads(); }  ///< from slot to slot
  /// Whether an element of a slot is in the row; nullopt: it always is.
  std::optional<Reg> inside(int slot, int element) const;

  /// Emits `body` for the threads whose chunk is inside the row, with `beyond` elements after it. It may be
  /// guarded, so it must be a few instructions without branches.
  void whole(int slot, const std::function<void()>& body, int beyond = 0) const;
  /// Emits `body` for the threads whose chunk is neither whole, with the same `beyond`, nor outside the row,
  /// if there can be any.
  void ends(int slot, const std::function<void()>& body, int beyond = 0) const;

 private:
  friend class RowTensor;
  friend class NarrowRows;
  bool has_begin(int slot) const;
  bool has_end(int slot, int beyond = 0) const;
  bool splits_chunks() const;
  Reg at(int slot, int element) const;
  Reg is_inner(int slot, int beyond = 0) const;
  Reg is_partial(int slot, int beyond) const;
  Reg if_present(Reg predicate) const;

  KernelBuilder* k_;
  RowShape shape_;
  int slots_ = 0;
  bool dynamic_ = false;  // a part, whose place in the row is not known
  Reg row_, position_;
  std::optional<Reg> present_;  // whether there is such a row; nullopt: there always is
};

/// How a tensor of rows is cached.
enum class RowCaching {
  streamed,  ///< each element is read once, or written
  kept,      ///< all rows are the same, or are read again: they stay in the caches
};

/// A tensor of rows, seen through the window of its leading tensor.
class RowTensor {
 public:
  /// `pitch` is the tensor's own; 0: all rows are one, as with a vector of weights. `read_only`: nothing
  /// writes to the tensor while the kernel runs.
  RowTensor(KernelBuilder& k, const RowWindow& window, Pointer base, std::uint64_t pitch,
            RowCaching caching = RowCaching::streamed, bool read_only = false);

  Type type() const { return base_.element; }  ///< of an element
  /// A chunk, packed (packed.hpp). Elements outside the row have the value `fill`.
  std::vector<Reg> load(int slot, double fill = 0) const;
  /// All slots, with the accesses to whole chunks before those at the ends, so that as many bytes as possible
  /// are in flight.
  std::vector<std::vector<Reg>> load_all(double fill = 0) const;
  /// Stores the values of a chunk in f32, rounded to the type. Throws Error(usage, "operand-count") for
  /// another number of them.
  void store(int slot, std::span<const Reg> values) const;
  /// Whether rows begin at addresses that force small accesses on load_all() and store(), and chunks can be
  /// loaded and stored through aligned vectors instead (realigned.hpp): a team is a warp, and chunks begin
  /// with the row. All lanes take part then.
  bool realigns() const;
  /// All slots, packed, through aligned vectors. Elements outside the row are zero.
  std::vector<std::vector<Reg>> load_realigned() const;
  /// Stores the values of all slots, each packed (pack_values), through aligned vectors.
  void store_realigned(std::span<const std::vector<Reg>> packed) const;

 private:
  // How a chunk lies in two aligned vectors.
  struct Shift {
    Reg first;               // address of the first vector of slot 0
    std::vector<Reg> moves;  // whether words move by half of a vector, by a quarter, ...
    Reg rest;                // and then all bits by the size of an element, or 0
  };

  Address address(int slot, int element) const;
  Realigned realigned() const;
  Shift shift() const;
  std::string load_opcode() const;  // without vector and type
  std::vector<Reg> filled(double fill) const;
  void load_whole(int slot, std::span<const Reg> packed) const;
  int beyond() const;
  void load_shifted(int slot, std::span<const Reg> packed) const;
  void load_ends(int slot, std::span<const Reg> packed) const;
  void store_whole(int slot, std::span<const Reg> packed) const;

  KernelBuilder& k_;
  RowWindow window_;
  Pointer base_;
  RowCaching caching_;
  bool read_only_;
  std::uint64_t pitch_;
  int width_;  // elements of an access
  Reg first_;  // address of slot 0
  std::optional<Shift> shift_;
};

}  // namespace kit
}  // namespace ptxloom
