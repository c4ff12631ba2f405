// SPDX-License-Identifier: Apache-2.0
#include "tune/worker/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "ptxloom/error.hpp"

extern char** environ;

namespace ptxloom::tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "ptxloom-worker";
constexpr const char* kHint =
    "install ptxloom completely, or set PTXLOOM_WORKER to libexec/ptxloom-worker of the build folder";
constexpr int kAbove = 10;  // file descriptors are moved here, clear of those that the worker expects open

[[noreturn]] void no_worker(const std::string& what) {
  throw Error(ErrorKind::missing, "no-worker", what, kHint);
}

/// Attributes and actions of posix_spawn.
class SpawnPlan {
 public:
  SpawnPlan(int socket, int memory) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, kSocketFd);
    ::posix_spawn_file_actions_adddup2(&actions_, memory, kMemoryFd);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    // A process group of its own: Ctrl-C is for the tuner, which then ends the worker.
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int spawn(pid_t& pid, const fs::path& program, const std::vector<std::string>& arguments) const {
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

FileDescriptor high(int fd) { return FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, kAbove)); }

}  // namespace

Process::Process(const fs::path& program, const std::vector<std::string>& arguments, int memory) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    no_worker(fmt::format("cannot make a socket for the worker: {}", std::generic_category().message(errno)));
  const FileDescriptor theirs(ends[1]);
  channel_ = Channel(FileDescriptor(ends[0]));
  const FileDescriptor socket = high(theirs.get()), shared = high(memory);
  const int failed = SpawnPlan(socket.get(), shared.get()).spawn(pid_, program, arguments);
  if (failed == 0) return;
  pid_ = -1;
  no_worker(fmt::format("cannot start the worker {}: {}", program.string(),
                        std::generic_category().message(failed)));
}

Process::~Process() {
  if (pid_ < 0) return;
  kill();
  end();
}

void Process::kill() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

std::string Process::end() {
  int status = 0;
  while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

std::optional<fs::path> find_beside(const std::string& name) {
  std::error_code ignored;
  std::vector<fs::path> starts = {fs::read_symlink("/proc/self/exe", ignored)};
  Dl_info library = {};
  if (::dladdr(reinterpret_cast<const void*>(&find_beside), &library) != 0 && library.dli_fname != nullptr)
    starts.push_back(fs::absolute(library.dli_fname, ignored));
  for (const fs::path& start : starts) {
    // bin/ and lib/ of an installation, and the programs of a build folder, which are nested deeper.
    fs::path folder = start.parent_path();
    for (int up = 0; up < 4 && !folder.empty(); ++up, folder = folder.parent_path()) {
      if (fs::exists(folder / "libexec" / name, ignored)) return folder / "libexec" / name;
    }
  }
  if (fs::exists(fs::path(PTXLOOM_LIBEXEC) / name, ignored)) return fs::path(PTXLOOM_LIBEXEC) / name;
  return std::nullopt;
}

fs::path find_worker(const fs::path& given) {
  if (!given.empty()) return given;
  if (const char* named = std::getenv("PTXLOOM_WORKER"); named != nullptr && *named != '\0') return named;
  if (const auto found = find_beside(kProgram)) return *found;
  no_worker("the program ptxloom-worker, which runs candidates, was not found");
}

}  // namespace ptxloom::tune
