// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/fastest.hpp"
#include "exec/machine/operation.hpp"
#include "exec/machine/warp.hpp"

// Most instructions do the same in every lane: one result from values of the same lane. `lanewise<In...>(f)`
// is the Semantic that sets the first operand to f(the others, read as In...); f is a lambda without
// captures.
namespace ptxloom::exec {

template <class F, class... In>
void run_lanewise(Warp& warp, const Operation& op, Mask mask) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    using Out = std::invoke_result_t<F, In...>;
    const Lanes<Out> out(warp.registers(), op.slots[0]);
    const std::tuple<Lanes<In>...> in(Lanes<In>(warp.registers(), op.slots[I + 1])...);
    if constexpr (std::is_same_v<Out, bool>) {  // lanes share the mask: it is written once
      Mask result = 0;
      for_lanes(mask, [&](int lane) { result |= Mask{F{}(std::get<I>(in)[lane]...)} << lane; });
      out.set(mask, result);
    } else {
      for_lanes(mask, [&](int lane) { out.set(lane, F{}(std::get<I>(in)[lane]...)); });
    }
  }(std::index_sequence_for<In...>{});
}

template <class... In, class F>
Semantic lanewise(F) {
  return base::fastest<&run_lanewise<F, In...>>();
}

template <class F, class Exact, class... In>
void run_lanewise_or_exact(Warp& warp, const Operation& op, Mask mask) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    using Out = std::invoke_result_t<Exact, In...>;
    const Lanes<Out> out(warp.registers(), op.slots[0]);
    const std::tuple<Lanes<In>...> in(Lanes<In>(warp.registers(), op.slots[I + 1])...);
    std::array<Out, kLanes> results;
    std::uint32_t any = 0;
    for_lanes(mask, [&](int lane) {
      bool doubtful = false;
      results[static_cast<std::size_t>(lane)] = F{}(std::get<I>(in)[lane]..., doubtful);
      any |= std::uint32_t{doubtful};
    });
    if (any != 0) {  // rare, so the lanes are found in a second pass
      for (Mask rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        bool doubtful = false;
        F{}(std::get<I>(in)[lane]..., doubtful);
        if (doubtful) results[static_cast<std::size_t>(lane)] = Exact{}(std::get<I>(in)[lane]...);
      }
    }
    for_lanes(mask, [&](int lane) { out.set(lane, results[static_cast<std::size_t>(lane)]); });
  }(std::index_sequence_for<In...>{});
}

/// The same where f(values..., doubtful) is right unless it sets the bool `doubtful`; then exact(values...)
/// is used.
template <class... In, class F, class Exact>
Semantic lanewise_or_exact(F, Exact) {
  return base::fastest<&run_lanewise_or_exact<F, Exact, In...>>();
}

/// Calls f.template operator()<T>(), with T the C++ integer of a PTX type name ("u16", "s64", "b32"). f
/// returns a pointer, such as a Semantic; null for other names.
template <class F>
auto with_integer(std::string_view type, F f) -> decltype(f.template operator()<std::uint32_t>()) {
  if (type == "u32" || type == "b32") return f.template operator()<std::uint32_t>();
  if (type == "s32") return f.template operator()<std::int32_t>();
  if (type == "u64" || type == "b64") return f.template operator()<std::uint64_t>();
  if (type == "s64") return f.template operator()<std::int64_t>();
  if (type == "u16" || type == "b16") return f.template operator()<std::uint16_t>();
  if (type == "s16") return f.template operator()<std::int16_t>();
  return nullptr;
}

/// The same, including byte types.
template <class F>
auto with_any_integer(std::string_view type, F f) -> decltype(f.template operator()<std::uint32_t>()) {
  if (type == "u8") return f.template operator()<std::uint8_t>();
  if (type == "s8") return f.template operator()<std::int8_t>();
  return with_integer(type, f);
}

}  // namespace ptxloom::exec
