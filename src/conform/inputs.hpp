// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conform/subject.hpp"

// Operands to compare on. Sets differ in what they are made of, as profile.hpp has it; all follows from the
// seed.
namespace ptxloom::conform_kernels {

/// The input records of so many threads.
std::vector<std::byte> inputs(const Subject& subject, std::size_t threads, std::uint64_t seed);

/// What their slots hold; empty where the subject has none.
std::vector<std::byte> slots(const Subject& subject, std::size_t threads, std::uint64_t seed);

}  // namespace ptxloom::conform_kernels
