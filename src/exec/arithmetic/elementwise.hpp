// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/fastest.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/machine/operation.hpp"
#include "exec/machine/warp.hpp"

// What lanewise.hpp does for values that fill a lane, for elements of packed registers, and with
// per-instruction constants. f(plan, a, ...) gives one element; the plan is a small struct of masks and
// bounds that compilers keep in registers during the loop, so one loop serves all modifiers of an
// instruction.
namespace ptxloom::exec {

struct NoPlan {};

template <class T, std::size_t>
using Repeated = T;

/// A packed register has two elements per lane; lanes are adjacent, and so are their elements, the low one
/// first.
template <class T>
inline constexpr int kElements = 2 * kLanes;

template <class Plan, class F, class T, class... Rows>
void run_elements(const Plan& plan, int begin, int count, T* out, Rows... rows) {
  if (count == kElements<T>) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
    for (int i = 0; i < kElements<T>; ++i) out[i] = F{}(plan, rows[i]...);
  } else {
    for (int i = begin; i < begin + count; ++i) out[i] = F{}(plan, rows[i]...);
  }
}

template <class Plan, class F, class T, std::size_t... I>
void run_pairs(Warp& warp, const Operation& op, Mask mask) {
  using Element [[gnu::may_alias]] = T;
  Plan plan{};
  if constexpr (!std::is_empty_v<Plan>) plan = op.plan_as<Plan>();
  const auto row = [&](std::size_t i) {
    return reinterpret_cast<Element*>(warp.registers() + op.slots[i].offset);
  };
  if (mask == kAllLanes) return run_elements<Plan, F>(plan, 0, kElements<T>, row(0), row(I + 1)...);
  for (; mask != 0; mask &= mask - 1)
    run_elements<Plan, F>(plan, 2 * std::countr_zero(mask), 2, row(0), row(I + 1)...);
}

template <class Plan, class F, class... In>
void run_planned(Warp& warp, const Operation& op, Mask mask) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    using Out = std::invoke_result_t<F, const Plan&, In...>;
    Plan plan{};
    if constexpr (!std::is_empty_v<Plan>) plan = op.plan_as<Plan>();
    const Lanes<Out> out(warp.registers(), op.slots[0]);
    const std::tuple<Lanes<In>...> in(Lanes<In>(warp.registers(), op.slots[I + 1])...);
    for_lanes(mask, [&](int lane) { out.set(lane, F{}(plan, std::get<I>(in)[lane]...)); });
  }(std::index_sequence_for<In...>{});
}

/// The Semantic that sets the first operand to f(plan, the others, read as In...). f is a lambda without
/// captures, and the operation has a Plan.
template <class Plan, class... In, class F>
Semantic planned(F) {
  return base::fastest<&run_planned<Plan, F, In...>>();
}

/// The same for each element of pairs of T.
template <class Plan, class T, std::size_t arity, class F>
Semantic pairwise(F) {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return base::fastest<&run_pairs<Plan, F, T, I...>>();
  }(std::make_index_sequence<arity>());
}

/// For one T per lane, or a pair.
template <class Plan, class T, std::size_t arity, class F>
Semantic elementwise(bool pair, F f) {
  if (pair) return pairwise<Plan, T, arity>(f);
  return []<std::size_t... I>(std::index_sequence<I...>, F g) { return planned<Plan, Repeated<T, I>...>(g); }(
             std::make_index_sequence<arity>(), f);
}

}  // namespace ptxloom::exec
