// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/machine/operation.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ir.hpp"

// A kernel decoded: its operations, the initial register file with constants in place, and where its
// variables lie.
namespace ptxloom::exec {

/// A .global variable of the module. It lives as long as the program, at one address in whatever memory the
/// program runs, so that no launch has anything to place.
struct GlobalVariable {
  std::string name;
  std::uint64_t address = 0;
  std::vector<std::byte> data;
};

/// A .global or .const variable of the module, by its name.
struct NamedVariable {
  std::string name;
  std::optional<std::size_t> global = {};  ///< index into Code::globals
  std::uint64_t offset = 0, bytes = 0;     ///< else in Code::constants
};

/// Where a call takes or leaves a value.
struct Location {
  Slot slot;
  bool in_memory = false;    ///< in local memory, not in a register
  std::uint32_t offset = 0;  ///< in local memory
  std::uint32_t bytes = 0;
};

/// A device function.
struct Callee {
  ir::Function function;
  std::uint32_t entry = 0;  ///< its first operation
  std::vector<Location> parameters = {}, results = {};
};

/// What an SM of the module's target holds at once.
struct SmLimits {
  std::uint64_t threads = 0, blocks = 0, shared = 0;
  std::uint64_t shared_reserved = 0;  ///< of each block
};

struct Code {
  std::shared_ptr<const Specs> specs;  // keeps the variants alive
  ir::Kernel kernel;
  std::vector<Callee> callees;  // functions the kernel may reach, each before those that call it
  std::vector<std::vector<Slot>> register_slots;  // by function as Operation::function counts, and register
  std::vector<Operation> operations;
  std::uint32_t entry = 0;           // the kernel's first
  std::vector<std::byte> registers;  // poison and constants; what every warp begins with
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_offset = 0;  // where the launch's shared memory begins
  std::uint32_t local_bytes = 0;
  std::uint32_t stack_begin = 0;    // what of them is for alloca begins here
  std::uint32_t shared_limit = 0;   // of a block on the module's target
  std::uint32_t cluster_limit = 0;  // blocks of a cluster there
  std::vector<std::byte> constants;
  // By address. Kernels write their data; so does the host, between launches.
  mutable std::vector<GlobalVariable> globals;
  std::vector<NamedVariable> variables;
  SmLimits sm;
  std::vector<Slot> shared_addresses;  // registers that hold one; a block adds its window to them
  /// Blocks may tell each other something through global memory: they then run in turns, in a fixed order.
  bool communicates = false;
  bool fences = false;   ///< it has fences between accesses
  bool cancels = false;  ///< blocks take over the work of others (clusterlaunchcontrol)

  const ir::Function& function_of(const Operation& op) const {
    return op.function == 0 ? kernel : callees[op.function - 1].function;
  }
};

}  // namespace ptxloom::exec
