// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// The registers of a warp are in one block of bytes, the register file, with the 32 lanes of each side by
// side, so that one instruction is one loop over lanes. A lane takes four bytes for every type of up to 32
// bits (16-bit registers too: bits above the value are never read), eight for 64 bits and sixteen for 128; a
// predicate is a mask of one bit per lane. Constants are registers that nothing writes, `_` is a register
// that nothing reads, so semantics need no special cases.
namespace ptxloom::exec {

inline constexpr int kLanes = 32;
using Mask = std::uint32_t;
inline constexpr Mask kAllLanes = ~Mask{0};
inline constexpr Mask lane_bit(int lane) { return Mask{1} << lane; }

/// The position of an operand in the register file.
struct Slot {
  std::uint32_t offset = 0;
  std::uint8_t bytes = 4;         ///< per lane: 4, 8 or 16; 0 for a predicate
  bool negated = false;           ///< a predicate written `!p`
  std::int64_t displacement = 0;  ///< of an address, in bytes
};

template <class T>
using Storage = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;

/// The lanes of one register as values of type T: an integer, a float, a double, or a struct of bits.
template <class T>
class Lanes {
 public:
  Lanes(std::byte* file, const Slot& slot) : lanes_(reinterpret_cast<Storage<T>*>(file + slot.offset)) {}

  T operator[](int lane) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(lanes_[lane]);
    } else if constexpr (sizeof(T) == sizeof(Storage<T>)) {
      return std::bit_cast<T>(lanes_[lane]);
    } else {
      return std::bit_cast<T>(static_cast<std::uint16_t>(lanes_[lane]));
    }
  }
  void set(int lane, T value) const {
    if constexpr (std::is_integral_v<T>) {
      lanes_[lane] = static_cast<Storage<T>>(value);  // sign-extends if T is signed
    } else if constexpr (sizeof(T) == sizeof(Storage<T>)) {
      lanes_[lane] = std::bit_cast<Storage<T>>(value);
    } else {
      lanes_[lane] = std::bit_cast<std::uint16_t>(value);
    }
  }

 private:
  Storage<T>* lanes_;
};

/// A snapshot of the bits of a predicate.
template <>
class Lanes<bool> {
 public:
  Lanes(std::byte* file, const Slot& slot)
      : mask_(reinterpret_cast<Mask*>(file + slot.offset)), value_(*mask_ ^ (slot.negated ? kAllLanes : 0)) {}

  bool operator[](int lane) const { return (value_ >> lane & 1) != 0; }
  void set(int lane, bool value) const { set(lane_bit(lane), Mask{value} << lane); }
  Mask mask() const { return value_; }
  void set(Mask lanes, Mask value) const { *mask_ = (*mask_ & ~lanes) | (value & lanes); }

 private:
  Mask* mask_;
  Mask value_;
};

/// Calls f(lane) for every lane of the mask. Registers overlap either entirely or not at all, and a lane
/// reads before it writes, so the full loop may be vectorised.
template <class F>
inline void for_lanes(Mask mask, F&& f) {
  if (mask == kAllLanes) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
    for (int lane = 0; lane < kLanes; ++lane) f(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
  }
}

}  // namespace ptxloom::exec
