// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/machine/form_flow.hpp"
#include "exec/machine/lanes.hpp"

// A kernel is decoded once into micro-operations: a function and the positions of its operands. Each
// instruction family has a file that lists the forms it supports (a span of Semantics) with the decoder and
// the data flow of each. What it keeps beside registers and memory is a State (state.hpp).
namespace ptxloom::exec {

class Warp;
class Decoder;
struct Operation;

/// Executes one instruction for the lanes of `mask`, which is never empty.
using Semantic = void (*)(Warp& warp, const Operation& op, Mask mask);

/// State spaces as instructions name them. A generic address is classified by its window (address.hpp).
/// `cluster` is the shared memory of all thread blocks of a cluster, `shared` that of the thread's own.
enum class StateSpace : std::uint8_t { generic, global, shared, cluster, local, constant, param };

struct Operation {
  Semantic run = nullptr;
  bool begins = false;  ///< first of its instruction's operations
  bool guarded = false;
  bool ends = false;      ///< threads leave the function, or the kernel, here
  bool branches = false;  ///< to `target`
  bool by_index = false;  ///< brx.idx: the plan has its targets
  Slot guard;
  std::vector<Slot> slots;               ///< the operands in the variant's order, vectors element by element
  std::array<std::uint8_t, 16> first{};  ///< where each operand starts in `slots`
  std::uint32_t target = 0;              ///< of a branch
  std::uint32_t together = 0;            ///< the operation of lanes that are at several of its kind; 0: none
  std::uint32_t function = 0;            ///< 0: of the kernel; else of Code::callees[function - 1]
  std::uint32_t instruction = 0;         ///< index into Function::instructions, or into calls
  bool is_call = false;
  std::shared_ptr<const void> plan;  ///< what the family prepared when decoding; the family knows its type

  /// Whether both belong to the same instruction.
  bool continues(const Operation& other) const {
    return !begins && !is_call && function == other.function && instruction == other.instruction;
  }
  const Slot& slot(std::size_t operand) const { return slots[first[operand]]; }
  template <class Plan>
  const Plan& plan_as() const {
    return *static_cast<const Plan*>(plan.get());
  }
};

/// How to decode instructions of one form, and their data flow.
struct Semantics {
  std::string_view form;
  void (*decode)(Decoder& decoder);
  FormFlow flow;
};

/// The forms of all families, which families.cpp lists.
std::vector<std::span<const Semantics>> semantics_families();
std::map<std::string_view, const Semantics*> semantics_by_form();
/// Why the executor cannot execute a form that no family has.
std::string lacking(std::string_view form);

}  // namespace ptxloom::exec
