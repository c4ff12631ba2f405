// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/machine/operation.hpp"
#include "exec/machine/system_call.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ir.hpp"

// A decoded kernel: its operations, the initial register file including constants, and the layout of its
// variables.
namespace ptxloom::exec {

/// A .global variable of the module. It lives as long as the program, at one address in every memory the
/// program runs on, so a launch need not place anything.
struct GlobalVariable {
  std::string name;
  std::uint64_t address = 0;
  std::vector<std::byte> data;
};

/// A .global or .const variable of the module, by name.
struct NamedVariable {
  std::string name;
  std::optional<std::size_t> global = {};  ///< index into Code::globals
  std::uint64_t offset = 0, bytes = 0;     ///< else in Code::constants
};

/// Where a call passes or returns a value.
struct Location {
  Slot slot;
  bool in_memory = false;    ///< in local memory instead of a register
  bool in_frame = false;     ///< in that case: of a frame
  std::uint32_t offset = 0;  ///< in local memory, or in the frame
  std::uint32_t bytes = 0;
};

/// A register that holds the address of something in the frame of the function that a thread is in.
struct FrameAddress {
  Slot slot;
  std::uint64_t offset = 0;
};

/// A device function.
struct Callee {
  ir::Function function;
  const SystemFunction* system = nullptr;  ///< what the driver provides in place of a body
  std::uint32_t entry = 0;                 ///< its first operation
  std::vector<Location> parameters = {}, results = {};
  bool certain = false;  ///< the kernel, or a function that is certain, calls it by name
  /// A thread may be in it several times. Its parameters and variables are then in frames on the stack.
  bool recurses = false;
  std::uint32_t frame_bytes = 0, frame_alignment = 16;
  std::vector<FrameAddress> frame_addresses = {};
};

/// A variable in local memory, or something that a call passes there.
struct LocalVariable {
  std::string name;
  std::uint32_t function = 0;  ///< as Operation::function
  std::uint64_t offset = 0, bytes = 0;
  bool in_frame = false;  ///< the offset is that in a frame of the function
};

/// What an SM of the module's target holds at once.
struct SmLimits {
  std::uint64_t threads = 0, blocks = 0, shared = 0;
  std::uint64_t shared_reserved = 0;  ///< per thread block
  std::uint64_t registers = 0;
};

struct Code {
  std::shared_ptr<const Specs> specs;  // keeps the variants alive
  ir::Kernel kernel;
  std::vector<ir::File> files;                    // of `.loc`
  std::vector<Callee> callees;                    // functions the kernel may reach, each before its callers
  std::vector<std::vector<Slot>> register_slots;  // by function, numbered as in Operation::function, and
                                                  // register
  std::vector<Operation> operations;
  /// The index of one of them.
  std::uint32_t number_of(const Operation& op) const {
    return static_cast<std::uint32_t>(&op - operations.data());
  }
  std::uint32_t entry = 0;                       // the kernel's first
  std::vector<std::byte> registers;              // poison and constants; the initial contents for every warp
  std::vector<std::uint32_t> parameter_offsets;  // of the kernel's parameters
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_offset = 0;  // offset of the launch's dynamic shared memory
  std::uint32_t local_bytes = 0;
  std::vector<LocalVariable> locals;
  std::uint32_t stack_begin = 0;    // offset of the part reserved for alloca
  std::uint32_t shared_limit = 0;   // per thread block on the module's target
  std::uint32_t cluster_limit = 0;  // thread blocks per cluster there
  std::vector<std::byte> constants;
  // By address. Kernels write their data; the host does so between launches.
  mutable std::vector<GlobalVariable> globals;
  std::vector<NamedVariable> variables;
  SmLimits sm;
  std::uint64_t sms = 0;
  std::vector<Slot> shared_addresses;  // registers that hold one; a thread block adds its window to them
  /// Thread blocks may communicate through global memory, so they run alternately, in a fixed order.
  bool communicates = false;
  bool has_weak_fence = false;                  ///< a fence that is not fence.sc.gpu or .sys
  bool discards = false;                        ///< a discard.L2
  std::optional<std::uint32_t> grid_wait = {};  ///< the first griddepcontrol.wait
  bool cancels = false;               ///< thread blocks take over the work of others (clusterlaunchcontrol)
  bool prints = false;                ///< threads may write to the launch's output
  bool uses_reserved_shared = false;  ///< asks where the reserved part of shared memory is
  bool uses_workspace = false;        ///< asks for the workspace of a cooperative grid

  const ir::Function& function_of(const Operation& op) const {
    return op.function == 0 ? kernel : callees[op.function - 1].function;
  }
};

}  // namespace ptxloom::exec
