// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "base/file.hpp"
#include "ptxloom/tune.hpp"
#include "tune/worker/channel.hpp"

// A task, a candidate and a reading in transit between processes. The task's data are in shared memory, which
// every started worker gets: inputs, then the expected values, then the positions that must not change.
namespace ptxloom::tune {

/// Anonymous memory, passed to another process by its descriptor.
struct SharedTask {
  FileDescriptor memory;
  nlohmann::json head;  ///< the layout of the memory
};
/// Throws Error(refused, "out-of-memory").
SharedTask share(const Task& task);
/// Throws nlohmann::json::exception or Error for data that share() did not make.
Task read_task(const nlohmann::json& head, int memory);

/// Settings that a worker must share with its tuner, whatever its own environment says.
struct Surroundings {
  std::vector<std::filesystem::path> specs;  ///< folders of overlays
  LibraryOptions libraries;
};
nlohmann::json to_json(const Surroundings& surroundings);
Surroundings read_surroundings(const nlohmann::json& json);

Message to_message(const Candidate& candidate);
Candidate read_candidate(const Message& message);

nlohmann::json to_json(const Reading& reading);
Reading read_reading(const nlohmann::json& json);

nlohmann::json to_json(const Resources& resources);
Resources read_resources(const nlohmann::json& json);

nlohmann::json to_json(const Diagnostic& diagnostic);
Diagnostic read_diagnostic(const nlohmann::json& json);

}  // namespace ptxloom::tune
