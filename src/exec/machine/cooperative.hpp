// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "exec/machine/code.hpp"
#include "ptxloom/exec.hpp"

// A cooperative launch: all thread blocks of the grid run at once and may wait for each other.
namespace ptxloom::exec {

/// How many thread blocks a GPU of the kernel's target holds at once.
std::uint64_t resident_blocks(const Code& code, const Launch& launch);
/// Throws Error(usage, "launch-cooperative") for a grid of more thread blocks than a GPU of the kernel's
/// target holds at once. In both, registers are ignored: only the assembler knows how many a thread takes.
void check_cooperative(const Code& code, const Launch& launch);

/// What CUDA provides for such a grid, and cooperative groups find through %envreg1 and %envreg2: its size
/// and the barrier of grid.sync(), both 32-bit words.
class GridWorkspace {
 public:
  GridWorkspace(Memory& memory, const Launch& launch);
  ~GridWorkspace();
  GridWorkspace(const GridWorkspace&) = delete;
  GridWorkspace& operator=(const GridWorkspace&) = delete;

  std::uint64_t address() const { return address_; }  ///< 0 if the launch is not cooperative

 private:
  Memory& memory_;
  std::array<std::uint32_t, 2> words_ = {sizeof words_, 0};
  std::uint64_t address_ = 0;
};

}  // namespace ptxloom::exec
