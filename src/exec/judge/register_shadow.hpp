// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "exec/machine/code.hpp"
#include "exec/machine/lanes.hpp"
#include "exec/memory/element.hpp"

// The bits of a warp's registers that were never given a value: a second register file of the same layout,
// plus one word per register that says whether the file must be consulted. For most it never must.
namespace ptxloom::exec {

class RegisterShadow {
 public:
  /// No register of the kernel and its functions has a value, except constants.
  void reset(const Code& code) {
    file_.resize(code.registers.size());
    states_.assign(code.registers.size() / kStep, State::defined);
    padding_.clear();
    for (const auto& function : code.register_slots) {
      for (const Slot& slot : function) {
        state(slot) = State::undefined;
        if (slot.bytes == 16) states_[(slot.offset + 8 * kLanes) / kStep] = State::undefined;
      }
    }
  }

  bool is_defined(const Slot& slot) const { return states_[slot.offset / kStep] == State::defined; }
  std::uint64_t undefined(const Slot& slot, int lane) const {
    switch (states_[slot.offset / kStep]) {
      case State::defined:
        return 0;
      case State::undefined:
        return ~std::uint64_t{0};
      case State::mixed:
        break;
    }
    auto* file = const_cast<std::byte*>(file_.data());
    return slot.bytes == 0 ? std::uint64_t{Lanes<bool>(file, plain(slot))[lane]}
                           : read_element(file, slot, lane);
  }
  void set(const Slot& slot, int lane, std::uint64_t bits) {
    if (slot.offset == kNobodys || (bits == 0 && is_defined(slot))) return;
    if (!padding_.empty()) padding_[slot.offset / kStep] &= ~lane_bit(lane);
    spread(slot);
    if (slot.bytes == 0) {
      Lanes<bool>(file_.data(), plain(slot)).set(lane, (bits & 1) != 0);
    } else {
      write_element(file_.data(), slot, lane, bits);
    }
  }
  /// The undefined bits of a lane, which were set just now, are padding of a struct that was only moved.
  void set_padding(const Slot& slot, int lane) {
    if (padding_.empty()) padding_.resize(states_.size());
    padding_[slot.offset / kStep] |= lane_bit(lane);
  }
  /// The lanes whose undefined bits are.
  Mask padding(const Slot& slot) const { return padding_.empty() ? 0 : padding_[slot.offset / kStep]; }
  /// The lanes get a value; `live` are all lanes there are.
  void define(const Slot& slot, Mask lanes, Mask live) {
    if (is_defined(slot)) return;
    if ((live & ~lanes) == 0) {
      state(slot) = State::defined;
      return;
    }
    for_lanes(lanes, [&](int lane) { set(slot, lane, 0); });
  }

  /// For instructions that move matrix elements: the file, in which the undefined bits of registers of at
  /// most eight bytes may be accessed until they are closed.
  std::byte* open(std::span<const Slot> slots) {
    for (const Slot& slot : slots) {
      spread(slot);
      if (!padding_.empty()) padding_[slot.offset / kStep] = 0;
    }
    return file_.data();
  }
  void close(std::span<const Slot> slots) {
    for (const Slot& slot : slots) {
      const auto begin = file_.begin() + slot.offset;
      const bool defined = std::all_of(begin, begin + slot.bytes * kLanes,
                                       [](std::byte bits) { return bits == std::byte{0}; });
      if (defined || slot.offset == kNobodys) state(slot) = State::defined;
    }
  }

 private:
  enum class State : std::uint8_t { defined, undefined, mixed };
  static constexpr std::size_t kStep = 8;       // alignment of registers
  static constexpr std::uint32_t kNobodys = 0;  // the register of `_`

  static Slot plain(Slot slot) {
    slot.negated = false;
    return slot;
  }
  State& state(const Slot& slot) { return states_[slot.offset / kStep]; }
  // From here on the file holds the register's bits.
  void spread(const Slot& slot) {
    State& state = this->state(slot);
    if (state == State::mixed) return;
    const int fill = state == State::undefined ? 0xff : 0;
    std::memset(file_.data() + slot.offset, fill, slot.bytes == 0 ? sizeof(Mask) : slot.bytes * kLanes);
    state = State::mixed;
  }

  std::vector<std::byte> file_;
  std::vector<State> states_;
  std::vector<Mask> padding_;  // by register; empty: none
};

}  // namespace ptxloom::exec
