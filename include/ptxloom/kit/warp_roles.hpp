// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

/// \file
/// Warp specialisation: one warp of a thread block produces, the others consume. Of the producer warp a
/// single thread works, as it issues TMA loads:
///
///     warp           0   1   2   3   4
///     role           consumers       producer (one elected thread)
///
/// The linker takes a branch by a warp's number for one that all lanes take alike only if it knows the number
/// to be the same in all of them, as it is for uniform_warp().
///
/// Errors: none of its own. The functions throw as KernelBuilder::emit() does, divide_roles() also on targets
/// before sm_90.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The number of the warp in its thread block (u32), read from lane 0. `thread`: the thread's number there,
/// where x alone counts threads.
Reg uniform_warp(KernelBuilder& k, Reg thread);

/// Emits `produce` for one thread of warp number `producer`, and `consume` for all threads of the other
/// warps. `warp`: of uniform_warp(). Needs elect.sync (sm_90). What the producer warp does is a section of
/// the kernel, "the producer warp: load" (KernelBuilder::section).
void divide_roles(KernelBuilder& k, Reg warp, int producer, const KernelBuilder::Body& produce,
                  const KernelBuilder::Body& consume);

}  // namespace kit
}  // namespace ptxloom
