// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ptxloom/context.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/template.hpp"

namespace ptxloom::api {

/// "m=64 n=128"
std::string words_of(const Settings& settings);

/// The record of exactly this problem on the context's device, by this version. Throws Error(refused,
/// "no-record"), which names the nearest one.
Record require_record(const Context& context, std::string_view name, const Settings& problem);

/// Tells the context's records what the template's parameters are called, unless they know.
void know_parameters(const Context& context, const Template& kernel_template);

}  // namespace ptxloom::api
