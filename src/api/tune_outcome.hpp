// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ptxloom/tuner.hpp"

// The outcome of rank 0, as text for the other ranks.
namespace ptxloom::api {

std::string to_outcome(const TuneResult& result);
std::string to_outcome(const Error& error);
/// Fills in the record and how the search ended. Throws if the outcome is an error.
void read_outcome(const std::string& text, TuneResult& result);

}  // namespace ptxloom::api
