// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/parameter.hpp"

namespace ptxloom::gemm_kernel::wgmma {

/// The operand that the two thread blocks of a cluster share and load for each other.
enum class Multicast { none, a, b };
inline constexpr std::string_view kMulticasts[] = {"none", "a", "b"};
/// How warpgroups divide tiles of D: all compute one tile, or each its own, in alternation.
enum class Schedule { cooperative, pingpong };
inline constexpr std::string_view kSchedules[] = {"cooperative", "pingpong"};
/// Who issues TMA loads: a producer warp, or a thread of a consumer warp.
enum class Loads { warp, thread };
inline constexpr std::string_view kLoads[] = {"warp", "thread"};

/// What strategy wgmma adds to a configuration.
struct Options {
  Multicast multicast = Multicast::none;
  Schedule schedule = Schedule::cooperative;
  Loads loads = Loads::warp;
  bool every_width = false;  ///< N is any multiple of 8; else 8, 24 or a multiple of 16

  bool producer_warp() const { return loads == Loads::warp; }
};

inline bool never(const Target&, const Problem&, std::span<const Strategy* const>) { return false; }

/// Its parameters; `kOptions` leads from a configuration to its Options.
template <auto kOptions>
inline constexpr Parameter kParameters[] = {
    // loads=thread has never won.
    Parameter(parameter::choice<kLoads, kOptions, &Options::loads>("loads")).searched_if(never),
    parameter::choice<kMulticasts, kOptions, &Options::multicast>("multicast"),
    parameter::choice<kSchedules, kOptions, &Options::schedule>("schedule"),
};

}  // namespace ptxloom::gemm_kernel::wgmma
