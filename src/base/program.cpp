// SPDX-License-Identifier: Apache-2.0
#include "base/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/file.hpp"

extern char** environ;

namespace ptxloom {
namespace {

namespace fs = std::filesystem;

/// Where the program's stdin, stdout and stderr go.
class FileActions {
 public:
  explicit FileActions(int output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
  }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

using Clock = std::chrono::steady_clock;

/// Waits for something to read, or the end of it; false if the time is over.
bool is_readable(int from, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd one{.fd = from, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
  }
}

/// Reads to the end; false if the time is over before.
bool read_in_time(int from, Clock::time_point end, std::string& output) {
  std::array<char, 65536> part{};
  while (is_readable(from, end)) {
    const ssize_t got = ::read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(part.data(), static_cast<std::size_t>(got));
  }
  return false;
}

}  // namespace

std::vector<fs::path> folders_in(const char* variable) {
  const char* const value = std::getenv(variable);
  std::string_view text = value == nullptr ? "" : value;
  std::vector<fs::path> folders;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end > 0) folders.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folders;
}

std::optional<fs::path> find_on_path(std::string_view name) {
  for (const fs::path& folder : folders_in("PATH")) {
    fs::path program = folder / name;
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

Ended run_program(const fs::path& program, std::vector<std::string> arguments,
                  std::chrono::milliseconds limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {.output = std::strerror(errno)};
  const FileDescriptor from(ends[0]);
  FileDescriptor to(ends[1]);
  const FileActions actions(to.get());
  arguments.insert(arguments.begin(), program.string());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, program.c_str(), actions.get(), nullptr, argv.data(), environ);
  if (failed != 0) return {.output = std::generic_category().message(failed)};
  to = FileDescriptor();
  Ended ended;
  const Clock::time_point end = limit.count() > 0 ? Clock::now() + limit : Clock::time_point::max();
  const bool in_time = read_in_time(from.get(), end, ended.output);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time)
    return {.output =
                fmt::format("it did not end in {:g} seconds", static_cast<double>(limit.count()) / 1000)};
  ended.success = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return ended;
}

}  // namespace ptxloom
