// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_memory.hpp"

/// \file
/// Control flow. A body is a C++ function that is called once and emits the instructions of the body, between
/// labels and branches. Loops are rolled; `unroll` emits its body several times.
namespace [[gnu::visibility("default")]] ptxloom {

/// The builder's layer for control flow and functions.
class ControlBuilder : public MemoryBuilder {
 public:
  using MemoryBuilder::MemoryBuilder;

  /// Emits a body.
  using Body = std::function<void()>;
  /// Emits the body of a loop with this loop variable.
  using LoopBody = std::function<void(Reg i)>;
  /// Executes `then` in the threads whose predicate holds, `otherwise` in the others.
  ///@{
  void if_(Reg predicate, const Body& then, Caller at = Caller::current());
  void if_(Reg predicate, const Body& then, const Body& otherwise, Caller at = Caller::current());
  ///@}
  /// `for (i = begin; i < end; i += step)`. The type of `i` is that of the registers, or s32 if all are
  /// literals.
  void for_(Arg begin, Arg end, Arg step, const LoopBody& body, Caller at = Caller::current());
  /// Repeats `body` as long as the predicate holds that `condition` emits and returns. It is tested before
  /// each iteration.
  void while_(const std::function<Reg()>& condition, const Body& body, Caller at = Caller::current());
  /// Executes `body`, and again as long as the predicate holds that it returns.
  void do_while(const std::function<Reg()>& body, Caller at = Caller::current());
  /// Emits `body` `count` times, for 0, 1, ..., count - 1.
  void unroll(int count, const std::function<void(int i)>& body, Caller at = Caller::current());
  /// As for_, with `factor` iterations between two tests, and a rolled loop for the rest. `step` is a
  /// literal.
  void unroll(int factor, Arg begin, Arg end, Arg step, const LoopBody& body, Caller at = Caller::current());
  /// Leaves the innermost loop, or goes on with its next iteration. `unroll(count, ...)` counts as a loop.
  /// The second pair does so where the predicate holds. Error(usage, "no-loop") outside of a loop.
  ///@{
  void break_(Caller at = Caller::current());
  void continue_(Caller at = Caller::current());
  void break_if(Reg predicate, Caller at = Caller::current());
  void continue_if(Reg predicate, Caller at = Caller::current());
  ///@}
  /// Guards every instruction of `body` with the predicate or its negation. For a few instructions this is
  /// cheaper than a branch. Guards do not nest: Error(usage, "nested-guard").
  ///@{
  void guarded(Reg predicate, const Body& body, Caller at = Caller::current());
  void guarded_not(Reg predicate, const Body& body, Caller at = Caller::current());
  ///@}
  /// Emits `body`, and refuses in it the barriers of the thread block and of the cluster: Error(usage,
  /// "no-barrier-here"). For code of others, such as a callback, that not all threads reach. What functions
  /// do that it calls is not seen.
  void without_barriers(const Body& body, Caller at = Caller::current());
  /// A new label; a number makes its name unique.
  Label label(std::string_view name, Caller at = Caller::current());
  /// Puts a label here. Each label is placed once.
  void place(Label label, Caller at = Caller::current());
  /// Goes to a label: always, or where the predicate holds, or where it does not.
  ///@{
  void branch(Label label, Caller at = Caller::current());
  void branch_if(Reg predicate, Label label, Caller at = Caller::current());
  void branch_unless(Reg predicate, Label label, Caller at = Caller::current());
  ///@}
  /// Ends the thread, or returns from a function without results.
  void ret(Caller at = Caller::current());

  /// Emits the body of a function and returns the registers that hold its results.
  using FunctionBody = std::function<std::vector<Reg>(std::span<const Reg> parameters)>;
  /// A function of the module (`.func`) with parameters and results of these types, which are not predicates.
  /// Registers of the kernel cannot be used in its body. Parameters and a single result are passed in
  /// registers. Several results are returned in one `.param` array, as C++ compilers return a struct: ptxas
  /// -c and nvJitLink refuse functions with several results.
  Callee function(std::string name, std::vector<Type> results, std::vector<Type> parameters,
                  const FunctionBody& body, Caller at = Caller::current());
  /// Calls a function. Its results are in new registers.
  std::vector<Reg> call(const Callee& callee, std::initializer_list<Arg> args, Caller at = Caller::current());

 protected:
  void with_guard(Reg predicate, bool negated, const Body& body, const Operation& operation);
  void check_labels(Caller at) const;
  void in_loop(bool continues, const Body& body);
  void end_turn(Caller at);
  void end_loop(Caller at);
  Label loop_label(std::string_view name, bool leaves, Caller at);
  Type loop_type(const Operation& operation, const Arg& begin, const Arg& end, const Arg& step) const;
  void declare_interface(const Operation& operation, const std::vector<Type>& results,
                         const std::vector<Type>& parameters);
  void return_values(const Operation& operation, const std::vector<Type>& results,
                     const std::vector<Reg>& values);
  void require_arguments(const Operation& operation, const Callee& callee, std::span<const Arg> args) const;
  void append_call(const Callee& callee, const std::vector<Arg>& results, std::span<const Arg> args,
                   Caller at);
  void take_results(const std::vector<Reg>& results, std::uint32_t array,
                    const std::vector<std::int64_t>& offsets, Caller at);
  void close_scope(std::string_view operation, Caller at);
};

}  // namespace ptxloom
