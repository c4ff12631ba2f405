// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_async.hpp"

// The builder people write kernels with; docs/builder.md teaches it. An instruction is appended by its opcode
// (or a Variant that `select` chose) and its operands, and is checked there and then against the specs and
// the target: an illegal one throws on the line that emits it. The short names (add, load, if_ ...) choose
// opcodes by type and go the same way. Its layers, each a header with one concern:
//   operands    Reg, Address, Pointer, Shared, Global, Arg
//   core        registers, parameters, emit and op, launch bounds
//   arithmetic  mov, set, add, ..., exp2, convert
//   memory      arrays, load, store
//   control     if_, for_, while_, unroll, function, call
//   warp        shuffles, votes, reductions, barriers
//   async       cp.async, mbarrier
//
// Operands of a short name are of one type: nothing is converted or reinterpreted behind the caller's back.
// A .b register is untyped and goes with any type of its size. Where the bits of the result do not depend on
// the sign (add, sub, mul, fma, mov, select, store), integers of one size go together; where they do
// (compare, min, max, div, rem, mul_wide, for_), they do not. Literals must fit the type. `convert` converts,
// `as` reinterprets.
//
// An Error of the builder begins with the line of the caller, "scale_add.cpp:31: ", and names the kernel, the
// operation and the operand. The last parameter of each function, `at`, is filled in by the compiler.
namespace [[gnu::visibility("default")]] ptxloom {

class KernelBuilder : public AsyncBuilder {
 public:
  /// A kernel for a target; a Context converts to its specs. Throws Error(usage) for a name PTX does not
  /// allow.
  KernelBuilder(std::shared_ptr<const Specs> specs, std::string name, Target target,
                Caller at = Caller::current())
      : AsyncBuilder(std::move(specs), std::move(name), target, at) {}

  /// Ends this kernel: what follows belongs to another one of the same module. Registers, labels and shared
  /// arrays stay behind; functions, constants and globals are there for both.
  void next_kernel(std::string name, Caller at = Caller::current());
  /// The module, with the lowest PTX version that has all its instructions. Afterwards the builder can be
  /// asked for its specs and target, and nothing else.
  ir::Module finish(Caller at = Caller::current());
};

}  // namespace ptxloom
