// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "conform/profile.hpp"
#include "conform/subject.hpp"
#include "ptxloom/conform.hpp"

namespace ptxloom::conform_kernels {

/// What the threads left: their result records, what their slots of global memory hold afterwards (where they
/// have none, those of shared memory), and those of shared memory where they have both.
struct Outcome {
  std::vector<std::byte> records, slots, tiles = {};
};

/// Compares what all threads left and fills in the counts, in all and by profile, the state and the first
/// difference, shown with the operands of its thread.
void compare(const Subject& subject, const Turns& turns, std::span<const std::byte> inputs,
             const Outcome& device, const Outcome& executor, ConformResult& result);

/// How many threads it takes to compare so many elements from so many operand sets.
std::size_t threads_for(const Subject& subject, std::uint64_t elements);

}  // namespace ptxloom::conform_kernels
