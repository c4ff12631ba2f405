// SPDX-License-Identifier: Apache-2.0
#include "base/standard_streams.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace ptxloom {
namespace {

bool is_open(int fd) noexcept { return ::fcntl(fd, F_GETFD) >= 0; }

/// Suppresses the SIGPIPE of a write in this thread; one that was pending before stays pending.
class NoSigpipe {
 public:
  NoSigpipe() noexcept {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    constexpr timespec kNoWait = {};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &kNoWait) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

}  // namespace

bool stderr_is_open() noexcept { return is_open(STDERR_FILENO); }

void write_to_stderr(std::string_view text) noexcept {
  const int error = errno;
  {
    const NoSigpipe guard;
    while (!text.empty()) {
      const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  errno = error;
}

void fill_closed_streams() noexcept {
  // open() uses the lowest free number. Opened in the opposite mode, stdin and stdout fail when used.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (!is_open(fd) && ::open("/dev/null", kModes[fd]) != fd) return;
  }
}

}  // namespace ptxloom
