// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "ptxloom/tuner.hpp"

namespace ptxloom::api {

/// A candidate that computes something else than its reference is a bug of ours: its PTX, configuration and
/// seed are kept beside the records, and the log says so. Returns the folder; empty where it cannot be
/// written.
std::filesystem::path save_wrong(const Context& context, const Tunable& what, std::uint64_t seed,
                                 const tune::Measurement& wrong, const tune::Candidate& candidate);

}  // namespace ptxloom::api
