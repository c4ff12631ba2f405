// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/code.hpp"

// One launch: what its blocks share and do not change.
namespace ptxloom::exec {

using Index3 = std::array<std::uint32_t, 3>;

/// x first.
inline Index3 unflatten(std::uint64_t index, const Index3& extent) {
  return {static_cast<std::uint32_t>(index % extent[0]),
          static_cast<std::uint32_t>(index / extent[0] % extent[1]),
          static_cast<std::uint32_t>(index / extent[0] / extent[1])};
}

class Grid {
 public:
  Grid(const Code& code, const Memory& memory, const Launch& launch);

  const Code& code() const { return code_; }
  const Launch& launch() const { return launch_; }
  std::uint32_t block_threads() const { return launch_.block[0] * launch_.block[1] * launch_.block[2]; }
  std::uint64_t blocks() const { return std::uint64_t{launch_.grid[0]} * launch_.grid[1] * launch_.grid[2]; }
  /// What a warp's register file begins with.
  std::span<const std::byte> registers() const { return registers_; }
  std::span<std::byte> registers() { return registers_; }
  /// By address.
  std::span<const Memory::Allocation> allocations() const { return allocations_; }
  const Memory& memory() const { return memory_; }
  std::size_t shared_bytes() const { return std::size_t{code_.dynamic_shared_offset} + launch_.shared_bytes; }

 private:
  const Code& code_;
  const Memory& memory_;
  const Launch& launch_;
  std::vector<std::byte> registers_;
  std::vector<Memory::Allocation> allocations_;
};

}  // namespace ptxloom::exec
