// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tune/channel.hpp"

// A worker as a process of its own: started, never forked, for a fork after CUDA is up leaves both sides with
// a broken driver.
namespace ptxloom::tune {

/// What a worker finds open.
inline constexpr int kSocketFd = 3, kMemoryFd = 4;

class Process {
 public:
  Process() = default;
  /// Throws Error(missing, "no-worker") where it cannot be started.
  Process(const std::filesystem::path& program, const std::vector<std::string>& arguments, int memory);
  /// Kills it, and waits until the device is free of it.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const Channel& channel() const { return channel_; }
  pid_t id() const { return pid_; }
  /// Waits for its end, after which it is gone: "was killed by signal 11 (Segmentation fault)".
  std::string end();
  void kill() const;

 private:
  pid_t pid_ = -1;
  Channel channel_;
};

/// A file of libexec/ beside this program or library, or where it was to be installed.
std::optional<std::filesystem::path> find_beside(const std::string& name);

/// The program of WorkerOptions, or where it lies beside this program or library. Throws Error(missing,
/// "no-worker").
std::filesystem::path find_worker(const std::filesystem::path& given);

}  // namespace ptxloom::tune
