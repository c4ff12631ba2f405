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

/// A .global variable of the module. It lives as long as the program.
struct GlobalVariable {
  std::string name;
  std::vector<std::byte> data;
};

/// A register that must hold the address of a global variable, which is known when the kernel runs.
struct Relocation {
  Slot slot;
  std::size_t variable = 0;  ///< index into Code::globals
  std::int64_t addend = 0;
};

/// The address of a global variable in the initial value of another.
struct DataRelocation {
  std::size_t variable = 0;  ///< index into Code::globals
  std::uint64_t offset = 0;
  std::size_t bytes = 8;
  std::size_t target = 0;  ///< index into Code::globals
  std::int64_t addend = 0;
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
  std::uint32_t stack_begin = 0;   // what of them is for alloca begins here
  std::uint32_t shared_limit = 0;  // of a block on the module's target
  std::vector<std::byte> constants;
  mutable std::vector<GlobalVariable> globals;  // kernels write them; the next run sees it
  std::vector<Relocation> relocations;
  std::vector<DataRelocation> data_relocations;
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
