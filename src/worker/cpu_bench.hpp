// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "tune/worker/bench.hpp"

namespace ptxloom::worker {

/// Runs candidates in the executor, which detects every stray access. Times are those of this host's cores
/// and say nothing about a GPU. `specs`: folders of overlays; throws what reading them throws.
std::unique_ptr<tune::Bench> make_cpu_bench(const tune::Task& task,
                                            std::span<const std::filesystem::path> specs);

}  // namespace ptxloom::worker
