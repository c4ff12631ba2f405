// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ptxloom/context.hpp"
#include "ptxloom/plan.hpp"

namespace ptxloom::api {

/// "m=64 n=128"
std::string words_of(const Settings& settings);

/// The record of this very problem on the context's device, of this version. Throws Error(refused,
/// "no-record") that names the nearest one.
Record require_record(const Context& context, std::string_view name, const Settings& problem);

}  // namespace ptxloom::api
