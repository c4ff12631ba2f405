// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "ptxloom/tuner.hpp"

namespace ptxloom::api {

/// A candidate that differs from its reference is a bug of ours: its PTX, configuration and seed are saved
/// next to the records, and logged. Returns the folder; empty if it cannot be written.
std::filesystem::path save_wrong(const Context& context, const Tunable& what, std::uint64_t seed,
                                 const tune::Measurement& wrong, const tune::Candidate& candidate);

}  // namespace ptxloom::api
