// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exec/judge/judge.hpp"
#include "exec/matrix/fragment.hpp"
#include "exec/matrix/product.hpp"

// How matrix instructions propagate undefined bits (judge/undefined.hpp). The judge tracks those of registers
// and shared memory in the same layout, so elements are located by the same maps as values. An element of a
// product is undefined if anything it is computed from is.
namespace ptxloom::exec {

/// The undefined bits of registers, of a warp or of the four warps of a warpgroup.
class UndefinedElements {
 public:
  UndefinedElements(Judge& judge, std::span<Warp* const> warps) : judge_(&judge), warps_(warps) {}

  /// Whether the registers at `slots` have any.
  bool any(std::span<const Slot> slots) const;
  void define(std::span<const Slot> slots) const;
  /// By element of a fragment whose registers start at `slots`.
  template <class Bits>
  std::vector<Bits> gather(const Fragment& fragment, std::span<const Slot> slots) const {
    std::vector<Bits> elements(fragment.positions().size());
    slots = slots.first(fragment.registers());
    if (!any(slots)) return elements;
    const Opened opened = open(slots);
    fragment.gather(opened.files(), slots, elements);
    close(slots);
    return elements;
  }
  template <class Bits>
  void scatter(const Fragment& fragment, std::span<const Slot> slots, std::span<const Bits> elements) const {
    slots = slots.first(fragment.registers());
    const Opened opened = open(slots);
    fragment.scatter(opened.files(), slots, elements);
    close(slots);
  }
  /// Whether an element has undefined bits; and all bits of those that do.
  std::vector<bool> flags(const Fragment& fragment, std::span<const Slot> slots) const;
  void set_flags(const Fragment& fragment, std::span<const Slot> slots, const std::vector<bool>& flags) const;

 private:
  struct Opened {
    std::array<std::byte*, 4> all{};
    std::size_t count = 0;
    Fragment::Files files() const { return Fragment::Files(all).first(count); }
  };
  Opened open(std::span<const Slot> slots) const;
  void close(std::span<const Slot> slots) const;

  Judge* judge_;
  std::span<Warp* const> warps_;
};

/// Which elements have set bits.
template <class Bits>
std::vector<bool> flags_of(const std::vector<Bits>& elements) {
  std::vector<bool> flags(elements.size());
  std::transform(elements.begin(), elements.end(), flags.begin(), [](Bits bits) { return bits != 0; });
  return flags;
}

/// The undefined bits of lines of shared or global memory.
struct UndefinedLines {
  std::vector<std::byte> bits;        ///< of all lines
  std::vector<std::byte*> lines;      ///< those of each
  const std::byte* global = nullptr;  ///< the first undefined byte, if it is in global memory
};
/// Of lines of `bytes` bytes each; nothing if all are defined.
std::optional<UndefinedLines> undefined_lines(Judge& judge, std::span<std::byte* const> lines,
                                              std::uint32_t bytes);

/// Which elements of Factors are undefined.
struct UndefinedFactors {
  std::vector<bool> a, b, sums;
};
/// Marks the elements of lines (rows of A, columns of B) of length `depth` by `flags`, which has the same
/// number per line.
void mark_lines(std::vector<bool>& elements, std::size_t depth, const std::vector<bool>& flags);
/// Turns `sums` from C's flags into D's. `picked` is as in Factors.
void multiply_undefined(const Product& product, std::span<const std::uint16_t> picked,
                        UndefinedFactors& factors);

}  // namespace ptxloom::exec
