// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// What atom, red and the reducing copies make of a value in memory and one that comes to it (PTX ISA
// 9.7.13.5): one table for all of them.
namespace ptxloom::exec {

struct Reduction {
  /// Of the bits in memory and those that come.
  using Combine = std::uint64_t (*)(std::uint64_t old, std::uint64_t value);

  std::string_view op, type;
  std::uint32_t bytes = 4;  ///< of an element
  Combine combine = nullptr;
  /// What replaces it on global memory, where an f32 sum loses its subnormals and an f64 sum keeps NaN as it
  /// is; null: nothing does.
  Combine on_global = nullptr;
  /// What replaces that in reducing copies, whose f32 sums keep subnormals (as on an H200); null: nothing
  /// does.
  Combine in_copy = nullptr;

  Combine on(bool global) const { return global && on_global != nullptr ? on_global : combine; }
  /// A reducing copy: element by element on arrays of `count` bytes of global memory (or shared memory, which
  /// for the types allowed there makes no difference).
  void apply(std::byte* to, const std::byte* from, std::size_t count) const;
};

/// By the words of the instruction: "add", "f16x2". Null where there is none.
const Reduction* find_reduction(std::string_view op, std::string_view type);

}  // namespace ptxloom::exec
