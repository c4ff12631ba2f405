// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "conform/profile.hpp"
#include "conform/subject.hpp"
#include "ptxloom/conform.hpp"

namespace ptxloom::conform_kernels {

/// What the threads left behind: their result records, the contents of their slots in global memory (or, if
/// they have none, in shared memory), and of those in shared memory if they have both.
struct Outcome {
  std::vector<std::byte> records, slots, tiles = {};
};

/// Compares what all threads left behind and fills in the counts, in total and per profile, the state, and
/// the first difference with the operands of its thread.
void compare(const Subject& subject, const Turns& turns, std::span<const std::byte> inputs,
             const Outcome& device, const Outcome& executor, ConformResult& result);

/// The number of threads needed to compare this many elements from as many operand sets.
std::size_t threads_for(const Subject& subject, std::uint64_t elements);

}  // namespace ptxloom::conform_kernels
