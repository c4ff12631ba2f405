// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/async/async_copies.hpp"
#include "exec/judge/judge.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/reduction.hpp"

// The memory pieces that a bulk or tensor copy moves. The source is read as late as the instruction's waits
// allow, and the destination is poison until then, so that accessing either too early shows.
namespace ptxloom::exec {

class Transfer {
 public:
  struct Piece {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;  ///< null: filled with the pattern
    std::uint32_t bytes = 0;
  };

  explicit Transfer(const Actor& actor, const Reduction* reduction = nullptr)
      : actor_(actor), reduction_(reduction) {}

  void add(const Piece& piece) { pieces_.push_back(piece); }
  /// The pieces fill these bytes, in whatever order: they are judged as one.
  void set_whole(std::byte* to, std::uint32_t bytes) { whole_ = {.to = to, .bytes = bytes}; }
  /// A value that has already been read.
  void add_value(std::byte* to, const void* value, std::uint32_t bytes);
  /// The pattern for pieces without a source; zeros by default. Its bytes repeat.
  void set_fill(const std::array<std::byte, 8>& pattern) { fill_ = pattern; }
  /// It uses this tensor map until it has read its source; null: nothing is to be found about it.
  void set_map(const std::byte* map) { map_ = map; }
  /// Applied to the bytes that each piece reads from its source.
  void set_change(void (*change)(std::span<std::byte>)) { change_ = change; }
  /// Poisons the destination, unless it is reduced into, because others may reduce into it too. `counted`: an
  /// mbarrier counts it.
  void begin(bool counted);
  /// Reads the source, which may be overwritten afterwards.
  void take();
  /// Writes the destination; reads the source first if that has not happened.
  void land();

  bool taken() const { return taken_; }
  const Actor& actor() const { return actor_; }

 private:
  /// Calls f(place, bytes) for pieces whose sources or destinations (`place`) follow one another, together.
  template <class Byte, class F>
  void for_runs(Byte* Piece::* place, F f) const;
  /// The same for all that it writes.
  template <class F>
  void for_written(F f) const;
  AccessKind kind() const;
  Judge::End end() const;

  Actor actor_;
  const Reduction* reduction_;
  std::vector<Piece> pieces_;
  Piece whole_;  // no bytes: each piece is judged by itself
  std::array<std::byte, 8> fill_{};
  const std::byte* map_ = nullptr;
  std::uint64_t map_version_ = 0;  // tensor_maps.hpp
  void (*change_)(std::span<std::byte>) = nullptr;
  std::vector<std::byte> data_;  // of all pieces, once read
  Time begun_ = 0;               // judge/order.hpp
  bool taken_ = false, counted_ = false;
  bool values_ = false;  // it moves values, not memory
};

/// The bulk copies of each thread of a warp that no mbarrier counts.
class BulkCopies final : public AsyncGroups<Transfer> {
 public:
  using AsyncGroups::AsyncGroups;
  /// Completes the copies to global memory. A fault if one has not read its source: nobody waited for that.
  void finish() override;
};

struct SharedPlace;

/// Puts the copy in flight; it completes on an mbarrier with `bytes`, after a thread has tested that in vain.
void issue(Transfer transfer, const SharedPlace& barrier, std::uint32_t bytes);
/// Puts the copy in flight as part of the thread's bulk group.
void issue(Transfer transfer);

}  // namespace ptxloom::exec
