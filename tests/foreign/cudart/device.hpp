// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/exec.hpp"
#include "ptxloom/ir.hpp"
#include "ptxloom/signature.hpp"
#include "ptxloom/target.hpp"

// The device of a CUDA program whose runtime library is this one: its memory and its kernels are the
// executor's. Every launch runs under the judge and is reported; see README.md.
namespace ptxloom::foreign {

/// A fat binary: the PTX of one source file.
struct Module {
  std::string ptx;
  ir::Module ir;
  std::map<std::string, std::vector<std::byte>> values = {};  ///< of variables that the host has set
};

struct Kernel {
  Module* module = nullptr;
  std::string name;
  KernelSignature signature = {};
  std::unique_ptr<exec::Program> program = {};  ///< made by the first launch
  bool recorded = false;
};

/// A variable of a module, by the address of its shadow on the host.
struct Variable {
  Module* module = nullptr;
  std::string name;
  std::size_t bytes = 0;
};

struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{};
  std::uint32_t shared_bytes = 0;
  bool cooperative = false;
};

class Device {
 public:
  /// The one device of the process. A C interface has nowhere else to keep it.
  static Device& get();

  Module* add_module(std::string ptx);
  void add_kernel(Module* module, const void* host, std::string name);
  void add_variable(Module* module, const void* host, std::string name, std::size_t bytes);
  /// Null if there is none.
  ///@{
  Kernel* find_kernel(const void* host);
  const Variable* find_variable(const void* host) const;
  ///@}
  /// Bytes that the variable has in later launches.
  static void set_variable(const Variable& variable, std::span<const std::byte> bytes, std::size_t offset);

  /// Runs the kernel and reports what the judge finds. False: a fault ended it.
  bool launch(Kernel& kernel, const LaunchShape& shape, void** arguments);

  exec::Memory& memory() { return memory_; }
  std::uint64_t allocate(std::size_t bytes);
  void release(std::uint64_t address);
  /// That of the program's PTX.
  Target target() const;

 private:
  Device();
  void prepare(Kernel& kernel);

  exec::Memory memory_;
  std::shared_ptr<const Specs> specs_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::map<const void*, Kernel> kernels_;
  std::map<const void*, Variable> variables_;
  std::vector<exec::Memory::Allocation> allocations_;  ///< all there ever were, in order: for recordings
};

}  // namespace ptxloom::foreign
