// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_async.hpp"

/// \file
/// The builder that people write kernels with; docs/builder.md teaches it. An instruction is appended by its
/// opcode, or by a Variant that Specs::select chose, and its operands. It is checked at once against the
/// specs and the target: an illegal one throws on the line that emits it. The short names (`add`, `load`,
/// `if_` ...) choose an opcode by type and append it in the same way. Each layer of the builder is a header
/// with one concern:
///
/// | header | contents |
/// |---|---|
/// | builder_operands.hpp | Reg, Address, Pointer, Shared, Global, Arg |
/// | builder_core.hpp | registers, parameters, `emit` and `op`, launch bounds |
/// | builder_arithmetic.hpp | `mov`, `set`, `add`, ..., `exp2`, `convert` |
/// | builder_memory.hpp | arrays, `load`, `store` |
/// | builder_control.hpp | `if_`, `for_`, `while_`, `unroll`, `function`, `call` |
/// | builder_warp.hpp | shuffles, votes, reductions, barriers |
/// | builder_async.hpp | cp.async, mbarrier |
///
/// The operands of a short name have one type: nothing is converted or reinterpreted implicitly. A `.b`
/// register is untyped and goes with any type of its size. Signed and unsigned integers of one size go
/// together where the bits of the result do not depend on the sign (add, sub, mul, fma, mov, select, store).
/// They do not where it matters (compare, min, max, div, rem, mul_wide, for_). Literals must fit the type.
/// `convert` converts, `as` reinterprets.
///
/// The message of a builder's Error begins with the caller's line, "scale_add.cpp:31: ", and names the
/// kernel, the operation and the operand. The compiler fills in the last parameter of each function, `at`.
///
/// Errors of all functions: Error(illegal_ptx) for an instruction that the target or PTX does not have, with
/// the codes of the checker; Error(usage) for a wrong use of the builder, such as "operand-type",
/// "operand-literal", "foreign-operand", "bad-name" or "builder-finished". docs/diagnostics.md lists them.
namespace [[gnu::visibility("default")]] ptxloom {

/// Builds a module with one or more kernels. Not thread-safe. It keeps its specs alive.
class KernelBuilder : public AsyncBuilder {
 public:
  /// Begins a kernel for a target. A Context converts to its specs. Throws Error(usage, "bad-kernel-name")
  /// for a name that PTX does not allow.
  KernelBuilder(std::shared_ptr<const Specs> specs, std::string name, Target target,
                Caller at = Caller::current())
      : AsyncBuilder(std::move(specs), std::move(name), target, at) {}

  /// Ends this kernel and begins another one of the same module. Registers, labels and shared arrays belong
  /// to the kernel that is ended; functions, constants and globals are there for both.
  void next_kernel(std::string name, Caller at = Caller::current());
  /// The module, with the lowest PTX version that has all its instructions. Afterwards only specs() and
  /// target() may be called.
  ir::Module finish(Caller at = Caller::current());
};

}  // namespace ptxloom
