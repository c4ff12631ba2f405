// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ptxloom/context.hpp"
#include "ptxloom/plan.hpp"

namespace ptxloom::api {

/// "m=64 n=128"
std::string words_of(const Settings& settings);

/// The record of exactly this problem on the context's device, by this version. Throws Error(refused,
/// "no-record"), which names the nearest one.
Record require_record(const Context& context, std::string_view name, const Settings& problem);

}  // namespace ptxloom::api
