// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_memory.hpp"

// Control flow: what the bodies emit stands between labels and branches. A loop of PTX is rolled; `unroll`
// emits its body several times.
namespace [[gnu::visibility("default")]] ptxloom {

class ControlBuilder : public MemoryBuilder {
 public:
  using MemoryBuilder::MemoryBuilder;

  using Body = std::function<void()>;
  using LoopBody = std::function<void(Reg i)>;
  void if_(Reg predicate, const Body& then, Caller at = Caller::current());
  void if_(Reg predicate, const Body& then, const Body& otherwise, Caller at = Caller::current());
  /// for (i = begin; i < end; i += step): tests before the first turn; the type of `i` is that of `end`, or
  /// s32.
  void for_(Arg begin, Arg end, Arg step, const LoopBody& body, Caller at = Caller::current());
  /// While the predicate holds that `condition` computes, before each turn.
  void while_(const std::function<Reg()>& condition, const Body& body, Caller at = Caller::current());
  /// Runs `body`, then again while the predicate it returns holds.
  void do_while(const std::function<Reg()>& body, Caller at = Caller::current());
  /// `body` for 0, 1, ... count - 1, one after the other.
  void unroll(int count, const std::function<void(int i)>& body, Caller at = Caller::current());
  /// As for_, with `factor` turns between two tests, and a rolled loop for those that are left. The step is a
  /// literal.
  void unroll(int factor, Arg begin, Arg end, Arg step, const LoopBody& body, Caller at = Caller::current());
  /// Leaves the innermost loop, or ends its turn; of `unroll(count, ...)` too.
  void break_(Caller at = Caller::current());
  void continue_(Caller at = Caller::current());
  void break_if(Reg predicate, Caller at = Caller::current());
  void continue_if(Reg predicate, Caller at = Caller::current());
  /// Guards every instruction of `body` with @p: for a few instructions, cheaper than a branch.
  void guarded(Reg predicate, const Body& body, Caller at = Caller::current());
  void guarded_not(Reg predicate, const Body& body, Caller at = Caller::current());
  Label label(std::string_view name, Caller at = Caller::current());  ///< made unique
  void place(Label label, Caller at = Caller::current());
  void branch(Label label, Caller at = Caller::current());
  void branch_if(Reg predicate, Label label, Caller at = Caller::current());
  void branch_unless(Reg predicate, Label label, Caller at = Caller::current());
  void ret(Caller at = Caller::current());

  // ---- functions
  /// A function of the module (.func), with registers of these types as parameters and results. `body` emits
  /// it, and returns the registers of its results; inside, registers of the kernel are not to be had.
  using FunctionBody = std::function<std::vector<Reg>(std::span<const Reg> parameters)>;
  Callee function(std::string name, std::vector<Type> results, std::vector<Type> parameters,
                  const FunctionBody& body, Caller at = Caller::current());
  /// The results, in new registers.
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
  void require_arguments(const Operation& operation, const Callee& callee, std::span<const Arg> args) const;
  void close_scope(std::string_view operation, Caller at);
};

}  // namespace ptxloom
