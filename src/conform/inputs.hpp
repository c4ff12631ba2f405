// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conform/subject.hpp"

// Operands to compare on. Sets differ in what they are made of: values of like magnitude, of any magnitude,
// special values among them, and random bits; the lanes of a warp make one set of a matrix, so a warp's
// values are all of one make.
namespace ptxloom::conform_kernels {

/// The input records of so many threads.
std::vector<std::byte> inputs(const Subject& subject, std::size_t threads, std::uint64_t seed);

/// What their slots hold; empty where the subject has none.
std::vector<std::byte> slots(const Subject& subject, std::size_t threads, std::uint64_t seed);

}  // namespace ptxloom::conform_kernels
