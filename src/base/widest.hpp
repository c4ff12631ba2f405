// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fastest.hpp"

// The few loops in which nearly all time of a matrix product is spent are compiled a third time on x86-64,
// for processors with vectors of 512 bits. On these the version of fastest.hpp is not used, so tests there do
// not cover it.
namespace ptxloom::base {

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
template <auto function>
struct Widest;
template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Widest<function> {
  [[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"), gnu::flatten]]
  static Result run(Arguments... arguments) {
    return function(arguments...);
  }
};

template <auto function>
auto widest() {
  const bool widest = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return widest ? &Widest<function>::run : fastest<function>();
}
#else
template <auto function>
auto widest() {
  return function;
}
#endif

}  // namespace ptxloom::base
