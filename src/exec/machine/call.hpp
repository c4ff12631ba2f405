// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "exec/machine/code.hpp"
#include "exec/machine/warp.hpp"

// Calls of device functions. A function is decoded once and has one set of registers, parameters and
// variables; recursion.hpp has what a thread needs that is in it several times. Parameters and results are in
// local memory, or in registers if declared so, and a call copies them. Functions are placed before their
// callers: threads in a function then have a lower program counter than those that wait after the call, so
// they run first and rejoin the others there. System calls (system_call.hpp) are done within the call.
namespace ptxloom::exec {

/// The functions that a kernel may reach, each before its callers.
std::vector<Callee> callees_of(const ir::Module& module, const ir::Function& kernel);

/// The index of a function by name.
std::optional<std::size_t> find_callee(std::span<const Callee> callees, std::string_view name);

/// The address of a function, for `mov` and indirect calls.
std::uint64_t function_address(std::size_t callee);

/// What a call passes, and to which function.
struct CallPlan {
  std::optional<Slot> address;  ///< empty: `callee`
  std::uint32_t callee = 0;     ///< index into Code::callees
  std::vector<Location> arguments;
  std::size_t results = 0;  ///< how many the prototype has
};
void run_call(Warp& warp, const Operation& op, Mask mask);

/// For the operation after a call: where the results go.
struct ResultPlan {
  std::vector<Location> results;
};
void run_results(Warp& warp, const Operation& op, Mask mask);

/// The end of a function.
void run_return(Warp& warp, const Operation& op, Mask mask);

}  // namespace ptxloom::exec
