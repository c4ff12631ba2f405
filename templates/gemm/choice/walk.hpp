// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "gemm/config/rules.hpp"

namespace ptxloom::gemm_kernel {

/// Visits what the rules on the axes and the given parameters allow (tune::PrunedSearch). `visit` evaluates
/// the other rules, on parameters that it chooses, itself. `axes`: the numeric parameters of which all values
/// are tried, the outermost first.
void walk(const ParameterSpace& space, const Target& target, const Problem& problem, const Settings& given,
          std::span<const std::string_view> axes, const Config& base,
          const std::function<void(const Config&)>& visit);

/// Whether stream-K is tried where it is not given.
bool offers_stream_k(const Target& target, const Problem& problem, const Settings& given);

}  // namespace ptxloom::gemm_kernel
