// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "insn/device.hpp"

// Values of the operands. Plain ones are 1 for floats and small numbers for integers, so that a chain stays
// where it is: it neither overflows nor reaches subnormal numbers, which take other paths.
namespace ptxloom::insn {

/// The operands of 32 lanes for each of `streams` streams.
std::vector<std::byte> operands(const Row& row, const Frame& frame, int streams, Data data);

/// The memory of the threads, at this address.
std::vector<std::byte> memory(const Row& row, const Frame& frame, std::uint64_t address, std::size_t bytes,
                              Data data);

}  // namespace ptxloom::insn
