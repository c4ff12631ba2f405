// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// How atom, red and reducing copies combine a value in memory with an incoming one (PTX ISA 9.7.13.5): one
// table for all of them.
namespace ptxloom::exec {

struct Reduction {
  /// Combines the bits in memory with the incoming ones.
  using Combine = std::uint64_t (*)(std::uint64_t old, std::uint64_t value);

  std::string_view op, type;
  std::uint32_t bytes = 4;  ///< per element
  Combine combine = nullptr;
  /// Replaces it in global memory, where an f32 sum flushes subnormals and an f64 sum keeps NaN as it is;
  /// null: no difference.
  Combine on_global = nullptr;
  /// Replaces that in reducing copies, whose f32 sums keep subnormals (as on an H200); null: no difference.
  Combine in_copy = nullptr;

  Combine on(bool global) const { return global && on_global != nullptr ? on_global : combine; }
  /// A reducing copy, element by element, on arrays of `count` bytes of global memory (or shared memory,
  /// which makes no difference for the types allowed there).
  void apply(std::byte* to, const std::byte* from, std::size_t count) const;
};

/// By the instruction's modifiers: "add", "f16x2"; with .noftz an f32 sum keeps subnormals. Null if there is
/// none.
const Reduction* find_reduction(std::string_view op, std::string_view type, bool noftz);

}  // namespace ptxloom::exec
