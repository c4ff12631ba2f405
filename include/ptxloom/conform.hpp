// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"

/// \file
/// Compares the executor with a GPU. For each variant of the specs a kernel is made that loads every operand
/// from memory, executes the instruction once per warp and stores every result. It runs on the device and in
/// the executor with the same operands: random bits, special values, values near rounding boundaries, and for
/// matrix products values at the boundaries of their alignment. The results are compared bit by bit.
namespace [[gnu::visibility("default")]] ptxloom {

/// What conform() tries.
struct ConformOptions {
  std::string selection = {};               ///< an opcode or its beginning, a family or a form; empty: all
  std::uint64_t elements = 10000;           ///< elements to compare for each variant, at least
  std::uint64_t seed = 1;                   ///< of the operands
  unsigned jobs = 0;                        ///< host threads; 0: one per core
  const std::atomic<bool>* stop = nullptr;  ///< once it is true, no new variant is begun
  /// Called with the number of variants that are done, and the number of all.
  std::function<void(std::size_t, std::size_t)> progress = {};
};

/// The result for one variant.
struct ConformResult {
  /// How a comparison ended.
  enum class State : std::uint8_t {
    agrees,   ///< all bits are equal, or all errors within the limit that the specs give (`error`)
    differs,  ///< at least one element is wrong
    failed,   ///< the linker, the device or the executor refused the kernel
    skipped,  ///< there is nothing to compare, or the executor has no semantics for it
  };
  std::string form;                ///< the variant's form
  std::string family;              ///< the form's family
  std::string opcode;              ///< the variant's opcode
  State state = State::skipped;    ///< how the comparison ended
  std::uint64_t operand_sets = 0;  ///< executions of the instruction by a warp
  std::uint64_t elements = 0;      ///< elements compared
  std::uint64_t differing = 0;     ///< elements that differ
  std::string note = {};           ///< why it was skipped or failed, or the first difference

  /// The elements whose operands were drawn from one profile: "alike", "wide", "special", "ties" or "bits"
  /// for any instruction, and for matrix products "spread", "window-edge", "least-exponent", "zero-factor",
  /// "zero-addend", "subnormal" or "cancellation".
  struct OfProfile {
    std::string profile;          ///< its name
    std::uint64_t elements = 0;   ///< elements compared
    std::uint64_t differing = 0;  ///< elements that differ
  };
  std::vector<OfProfile> profiles = {};  ///< those that were drawn, in the order above
};

/// Tries the selected variants that the context's target has and the PTX ISA promises. With the executor as
/// `context` it is compared with itself, which shows that every kernel can be made. Throws Error(usage,
/// "unknown-family") for a selection that matches nothing.
std::vector<ConformResult> conform(const Context& context, const ConformOptions& options);

}  // namespace ptxloom
