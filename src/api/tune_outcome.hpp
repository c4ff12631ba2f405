// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ptxloom/tuner.hpp"

// What rank 0 has come to, as text for the other ranks.
namespace ptxloom::api {

std::string to_outcome(const TuneResult& result);
std::string to_outcome(const Error& error);
/// Fills in the record and how the search ended. Throws the error, if it is one.
void read_outcome(const std::string& text, TuneResult& result);

}  // namespace ptxloom::api
