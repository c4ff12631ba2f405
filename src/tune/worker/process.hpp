// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tune/worker/channel.hpp"

// A worker in its own process: spawned, never forked, because a fork after CUDA is initialised leaves both
// sides with a broken driver.
namespace ptxloom::tune {

/// File descriptors that are open in a worker.
inline constexpr int kSocketFd = 3, kMemoryFd = 4;

class Process {
 public:
  Process() = default;
  /// Throws Error(missing, "no-worker") if it cannot be started.
  Process(const std::filesystem::path& program, const std::vector<std::string>& arguments, int memory);
  /// Kills it, and waits until it has released the device.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const Channel& channel() const { return channel_; }
  pid_t id() const { return pid_; }
  /// Waits for it to end: "was killed by signal 11 (Segmentation fault)".
  std::string end();
  void kill() const;

 private:
  pid_t pid_ = -1;
  Channel channel_;
};

/// A file in libexec/ relative to this program or library, or at its installation path.
std::optional<std::filesystem::path> find_beside(const std::string& name);

/// The program given in WorkerOptions, or the one next to this program or library. Throws Error(missing,
/// "no-worker").
std::filesystem::path find_worker(const std::filesystem::path& given);

}  // namespace ptxloom::tune
