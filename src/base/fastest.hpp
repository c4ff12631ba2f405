// SPDX-License-Identifier: Apache-2.0
#pragma once

// Hot loops are compiled twice on x86-64: for every such processor, and for those with 256-bit vectors and
// fused multiply-add, which nearly all have. Both give the same bits: nothing is contracted
// (ptxloom_exact_floats in cmake/ptxloom_settings.cmake), and std::fma is exact without the instruction too.
// A build with the address sanitizer uses the plain version, so that the tests cover both.
namespace ptxloom::base {

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
template <auto function>
struct Wide;
template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Wide<function> {
  [[gnu::target("avx2,fma"), gnu::flatten]] static Result run(Arguments... arguments) {
    return function(arguments...);
  }
};

/// The version of the function compiled for the current processor. Everything that it calls in a loop must be
/// inline.
template <auto function>
auto fastest() {
  const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return wide ? &Wide<function>::run : function;
}
#else
template <auto function>
auto fastest() {
  return function;
}
#endif

}  // namespace ptxloom::base
