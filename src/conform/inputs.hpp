// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conform/subject.hpp"

// Operands for the comparison. Sets differ in the distribution of their values (profile.hpp); everything
// follows from the seed.
namespace ptxloom::conform_kernels {

/// The input records of this many threads.
std::vector<std::byte> inputs(const Subject& subject, std::size_t threads, std::uint64_t seed);

/// The contents of their slots; empty if the subject has none.
std::vector<std::byte> slots(const Subject& subject, std::size_t threads, std::uint64_t seed);

}  // namespace ptxloom::conform_kernels
