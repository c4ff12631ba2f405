// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

// The pairs of tests/judge/pairs/*.txt. A pair begins with `== NAME CODE[,CODE] [grid=N] [block=N]
// [cluster=N] [smem=BYTES] [orders=N] [target=T]`, and then a line or more that say what it is after, with
// the source in parentheses at the end: sections of the PTX ISA, or public reports as PROJECT#NUMBER:
//   # A bar.sync lets threads pass, but is no proxy fence (PTX ISA 8.6; flashinfer#3361).
// What follows is the body of a kernel, after the declarations of kHead in pairs.cpp:
//   //+ LINE        is in the mended kernel only
//   //- LINE        is in the broken kernel only
//   LINE //!        is a side of the finding
//   LINE //~        may be one
//   @FILL           writes the operands of wgmma
//   @MODULE TEXT    goes into the module, before the kernel
//   @ENTRY TEXT     goes among the kernel's directives
// Both kernels have the same lines, at the same numbers. A fault of a pair with `orders` does not show in the
// fixed order of warps; it shows within so many schedules that reverse what was seen.
namespace ptxloom::test::judge_test {

struct Pair {
  std::string name, about, bad, fixed;
  std::vector<std::string> codes;  ///< the first is expected, the others may come with it
  std::uint32_t grid = 1, block = 32, cluster = 1, dynamic_shared = 0, orders = 0;
  std::set<int> lines, may;
};

std::vector<Pair> read_pairs();

}  // namespace ptxloom::test::judge_test
