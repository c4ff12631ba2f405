// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/judge/judge.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/reduction.hpp"

// What a bulk or tensor copy moves: pieces of memory. The source is read as late as the instruction's waits
// allow, the destination is poison until then, so that touching either too early shows.
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
  /// A value that was read already.
  void add_value(std::byte* to, const void* value, std::uint32_t bytes);
  /// For pieces without a source; zeros unless set. Its bytes repeat.
  void set_fill(const std::array<std::byte, 8>& pattern) { fill_ = pattern; }
  /// Is applied to what each piece brings from its source.
  void set_change(void (*change)(std::span<std::byte>)) { change_ = change; }
  /// Poisons the destination, unless it is reduced into: then others may too. `counted` by an mbarrier.
  void begin(bool counted);
  /// Reads the source; then it may be written again.
  void take();
  /// Writes the destination, after reading the source if that was not done.
  void land();

  bool taken() const { return taken_; }
  const Actor& actor() const { return actor_; }

 private:
  Judge::End end() const;

  Actor actor_;
  const Reduction* reduction_;
  std::vector<Piece> pieces_;
  std::array<std::byte, 8> fill_{};
  void (*change_)(std::span<std::byte>) = nullptr;
  std::vector<std::byte> data_;  // of all pieces, once taken
  bool taken_ = false, counted_ = false;
};

struct SharedPlace;

/// The copy is under way, and an mbarrier counts `bytes` when it is done: it lands when a thread has looked
/// at that in vain.
void issue(Transfer transfer, const SharedPlace& barrier, std::uint32_t bytes);
/// The copy is under way as part of the thread's bulk group.
void issue(Transfer transfer);

}  // namespace ptxloom::exec
