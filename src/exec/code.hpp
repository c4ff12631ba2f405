// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/operation.hpp"
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

struct Code {
  std::shared_ptr<const Specs> specs;  // keeps the variants alive
  ir::Kernel kernel;
  std::vector<Operation> operations;
  std::vector<std::byte> registers;  // poison and constants; what every warp begins with
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_offset = 0;  // where the launch's shared memory begins
  std::uint32_t local_bytes = 0;
  std::uint32_t shared_limit = 0;  // of a block on the module's target
  std::vector<std::byte> constants;
  mutable std::vector<GlobalVariable> globals;  // kernels write them; the next run sees it
  std::vector<Relocation> relocations;
};

}  // namespace ptxloom::exec
