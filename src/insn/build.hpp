// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "insn/proof.hpp"
#include "ptxloom/jit.hpp"

// The kernels of one row, linked and proven: a pair for the latency of each chain and one for the throughput.
// The second of a pair has twice as many copies.
namespace ptxloom::insn {

/// A pair of kernels.
struct BuiltPair {
  KernelShape shape;  ///< of the first
  Proof proof;        ///< of what the second has more
  bool throughput = false;
  std::string few, many;  ///< their names
  std::size_t module = 0;
};

struct BuiltModule {
  std::string ptx;
  std::vector<std::byte> cubin;
};

struct BuiltRow {
  std::vector<BuiltModule> modules;
  std::vector<BuiltPair> pairs;  ///< the last one is for the throughput
  std::string failure;           ///< why the linker refused it; empty if it did not
};

/// Identifies the kernels of a row. If it changes, so do the kernels, and earlier measurements no longer
/// apply.
std::string revision_of(const Row& row, const Target& target);

/// Throws Error(missing, "no-nvjitlink") without a linker.
BuiltRow build(const Row& row, const Linker& linker, const Target& target);

}  // namespace ptxloom::insn
