// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "exec/machine/lanes.hpp"

// System calls (PTX writer's guide): functions that the driver provides, and that modules declare without a
// body. Each file of src/exec/system has some, and families.cpp lists them. The machine passes their
// arguments as those of any function.
namespace ptxloom::exec {

class Warp;
struct Callee;
struct Operation;

/// A call of one, by lanes of a warp.
class SystemCall {
 public:
  SystemCall(Warp& warp, const Operation& op, const Callee& callee) : warp_(warp), op_(op), callee_(callee) {}

  Warp& warp() const { return warp_; }
  const Operation& op() const { return op_; }
  /// A parameter of at most eight bytes, zero-extended.
  std::uint64_t argument(int lane, std::size_t index) const;
  void set_result(int lane, std::uint64_t value) const;

 private:
  Warp& warp_;
  const Operation& op_;
  const Callee& callee_;
};

struct SystemFunction {
  std::string_view name;                                     ///< or its beginning, if it ends in "*"
  void (*run)(const SystemCall& call, Mask mask) = nullptr;  ///< null: the executor has none
  const char* lacks = "";                                    ///< in that case: what the executor lacks
  std::array<std::uint8_t, 5> parameters{};                  ///< their sizes in bytes; 0: there are no more
  std::uint8_t result = 0;                                   ///< its size in bytes; 0: it has none
  bool prints = false;                                       ///< it writes to the launch's output
};

/// Null for a function that no file knows.
const SystemFunction* find_system_function(std::string_view name);

}  // namespace ptxloom::exec
