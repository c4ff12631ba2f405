// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ptxloom/ranks.hpp"

// The devices that `tune --device` means, as names for a Context and for TuneOptions::devices.
namespace ptxloom::cli {

/// For one process: a list for each kind of GPU, which shares a search.
std::vector<std::vector<std::string>> kinds_of_devices(const std::string& asked);

/// For one rank among those of its host: with "gpu" a GPU of its own, with "all" its share of them. If there
/// are more ranks than GPUs, they share and take turns. GPUs of another kind than the first are not used.
std::vector<std::string> devices_of_rank(const std::string& asked, const tune::Ranks& ranks);

}  // namespace ptxloom::cli
