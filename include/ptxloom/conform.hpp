// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"

// Does the executor compute what the GPU computes? For each variant of the specs a kernel is made that loads
// every operand from memory, executes the instruction once a warp and stores every result. It runs on the
// device and in the executor on the same operands (random bits, special values, values near where rounding
// turns, and of products what their alignment turns on), and the results are compared bit by bit.
namespace [[gnu::visibility("default")]] ptxloom {

struct ConformOptions {
  std::string selection = {};      ///< an opcode (or its beginning), a family or a form; empty: all
  std::uint64_t elements = 10000;  ///< to compare for each variant, at least
  std::uint64_t seed = 1;
  unsigned jobs = 0;                                            ///< host threads; 0 = one a core
  const std::atomic<bool>* stop = nullptr;                      ///< true: no new variants are begun
  std::function<void(std::size_t, std::size_t)> progress = {};  ///< variants done, of all
};

/// What became of one variant.
struct ConformResult {
  enum class State : std::uint8_t {
    agrees,  ///< no bit differs, or none by more than the specs allow where they say `error`
    differs,
    failed,   ///< the linker, the device or the executor refused the kernel
    skipped,  ///< it has nothing to compare, or the executor has no semantics for it
  };
  std::string form, family, opcode;
  State state = State::skipped;
  std::uint64_t operand_sets = 0, elements = 0, differing = 0;
  std::string note = {};  ///< why it was skipped or failed; the first difference

  /// The elements by what their operands were made of: "alike", "wide", "special", "ties" and "bits" of any
  /// instruction, and of products "spread", "window-edge", "least-exponent", "zero-factor", "zero-addend",
  /// "subnormal" and "cancellation". Those that were drawn, in this order.
  struct OfProfile {
    std::string profile;
    std::uint64_t elements = 0, differing = 0;
  };
  std::vector<OfProfile> profiles = {};
};

/// Variants that the context's target has and the manual promises. `context` is a GPU; on the executor it is
/// compared with itself, which shows that every kernel can be made.
std::vector<ConformResult> conform(const Context& context, const ConformOptions& options);

}  // namespace ptxloom
