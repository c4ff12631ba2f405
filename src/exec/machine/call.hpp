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
// variables, so a thread may be in it only once at a time: recursion is a fault. Parameters and results lie
// in local memory, or in registers where they are declared so, and a call copies them. Functions stand before
// what calls them: threads in a function are then at a lower program counter than those that wait behind the
// call, run first, and meet the others again there.
namespace ptxloom::exec {

/// The functions that a kernel may reach, each before those that call it.
std::vector<Callee> callees_of(const ir::Module& module, const ir::Function& kernel);

/// By name; its index.
std::optional<std::size_t> find_callee(std::span<const Callee> callees, std::string_view name);

/// The address of a function, for `mov` and calls by address.
std::uint64_t function_address(std::size_t callee);

/// Of a call: what it passes, and to whom.
struct CallPlan {
  std::optional<Slot> address;  ///< empty: `callee`
  std::uint32_t callee = 0;     ///< index into Code::callees
  std::vector<Location> arguments;
};
void run_call(Warp& warp, const Operation& op, Mask mask);

/// Of the operation behind a call: where the results go.
struct ResultPlan {
  std::vector<Location> results;
};
void run_results(Warp& warp, const Operation& op, Mask mask);

/// The end of a function.
void run_return(Warp& warp, const Operation& op, Mask mask);

}  // namespace ptxloom::exec
