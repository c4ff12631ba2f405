// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ptxloom/specs.hpp"

// The surroundings of a form's instruction in its kernel, as given by `conform` (specs/README.md): the memory
// that its operands point to, the statements before and after it, the launch shape.
namespace ptxloom::conform_kernels {

/// Threads of a thread block, thread blocks of a cluster, and thread blocks of the grid in y and z. In x the
/// grid has as many as needed.
struct LaunchShape {
  std::array<std::uint32_t, 3> block{128, 1, 1}, cluster{1, 1, 1};
  std::array<std::uint32_t, 2> grid{1, 1};

  bool has_clusters() const { return cluster != std::array<std::uint32_t, 3>{1, 1, 1}; }
  bool is_flat() const {
    return block[1] * block[2] == 1 && grid[0] * grid[1] == 1 && cluster[1] * cluster[2] == 1;
  }
};

struct Around {
  bool global = false, shared = false;  ///< each thread has a slot in this memory
  bool peer = false;  ///< threads access shared memory of the next thread block of their cluster
  bool maps = false;  ///< each warp has a tensor map
  bool data = false;  ///< the kernel has a parameter with kDataBytes random bytes
  LaunchShape shape;
  std::string before, after;  ///< statements; $NAME is replaced by an operand
  std::string module;         ///< functions next to the kernel
};

Around around(Variant variant);

/// The address or name that the specs give an operand; "" if they give none.
std::string address_text(Variant variant, const OperandSpec& operand);

/// Whether an address, possibly generic, or a matrix descriptor points to shared memory.
bool is_shared(const OperandSpec& operand);

}  // namespace ptxloom::conform_kernels
