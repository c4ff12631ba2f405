// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "base/file.hpp"
#include "ptxloom/tune.hpp"
#include "tune/channel.hpp"

// A task, a candidate and a reading on their way between processes. The task's data lie in shared memory,
// which every worker that is started gets: inputs, then the expected values, then the places that must stay
// as they were.
namespace ptxloom::tune {

/// Memory without a name, to be handed to another process by its descriptor.
struct SharedTask {
  FileDescriptor memory;
  nlohmann::json head;  ///< what lies where
};
/// Throws Error(refused, "out-of-memory").
SharedTask share(const Task& task);
/// Throws nlohmann::json::exception or Error for what share() did not make.
Task read_task(const nlohmann::json& head, int memory);

/// What a worker must find as its tuner does, whatever its own environment says.
struct Surroundings {
  std::vector<std::filesystem::path> specs;  ///< folders of overlays
  LibraryOptions libraries;
};
nlohmann::json to_json(const Surroundings& surroundings);
Surroundings read_surroundings(const nlohmann::json& json);

/// Throws Error(usage, "bad-reference") for one that disagrees with itself.
void check_reference(const Expectation& expected);

Message to_message(const Candidate& candidate);
Candidate read_candidate(const Message& message);

nlohmann::json to_json(const Reading& reading);
Reading read_reading(const nlohmann::json& json);

nlohmann::json to_json(const Resources& resources);
Resources read_resources(const nlohmann::json& json);

nlohmann::json to_json(const Diagnostic& diagnostic);
Diagnostic read_diagnostic(const nlohmann::json& json);

}  // namespace ptxloom::tune
