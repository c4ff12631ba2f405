// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ptxloom/specs.hpp"

// What surrounds a form's instruction in its kernel, as its `conform` says (specs/README.md): the memory that
// its operands point into, the statements before and after, the shape of the launch.
namespace ptxloom::conform_kernels {

/// Threads of a block, blocks of a cluster, and blocks of a grid by y and z. By x a grid has as many as it
/// takes.
struct LaunchShape {
  std::array<std::uint32_t, 3> block{128, 1, 1}, cluster{1, 1, 1};
  std::array<std::uint32_t, 2> grid{1, 1};

  bool has_clusters() const { return cluster != std::array<std::uint32_t, 3>{1, 1, 1}; }
  bool is_flat() const {
    return block[1] * block[2] == 1 && grid[0] * grid[1] == 1 && cluster[1] * cluster[2] == 1;
  }
};

struct Around {
  bool global = false, shared = false;  ///< each thread has a slot of this memory
  bool peer = false;  ///< threads reach into shared memory of the next block of their cluster
  bool maps = false;  ///< each warp has a tensor map
  bool data = false;  ///< the kernel has a parameter of kDataBytes random bytes
  LaunchShape shape;
  std::string before, after;  ///< statements; $NAME stands for an operand
  std::string module;         ///< functions beside the kernel
};

Around around(Variant variant);

/// The address or the name that the specs give an operand; "" where they give none.
std::string address_text(Variant variant, const OperandSpec& operand);

/// Of an address, also a generic one, or of a matrix descriptor, which points into shared memory too.
bool is_shared(const OperandSpec& operand);

}  // namespace ptxloom::conform_kernels
