// SPDX-License-Identifier: Apache-2.0
#include "base/standard_streams.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <functional>

#include "base/file.hpp"
#include "ptxloom/log.hpp"
#include "support/environment.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

/// The exit code of a child that does this; 128 and the signal that ended it.
int exit_code_of(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("what cannot be written to stderr is dropped, without a signal") {
  CHECK(exit_code_of([] {
          int ends[2];
          if (::pipe(ends) != 0) return 1;
          ::dup2(ends[1], STDERR_FILENO);
          ::close(ends[0]);
          write_to_stderr("nobody reads this\n");
          sigset_t pending;
          ::sigpending(&pending);
          return ::sigismember(&pending, SIGPIPE) == 0 ? 0 : 2;
        }) == 0);
  CHECK(exit_code_of([] {
          ::close(STDERR_FILENO);
          write_to_stderr("nor this\n");
          return 0;
        }) == 0);
}

TEST_CASE("a log writes into no file that has taken the place of stderr") {
  const TemporaryFolder folder;
  const ScopedVariable level("PTXLOOM_LOG", "debug");
  const std::string file = folder / "mine";
  CHECK(exit_code_of([&] {
          ::close(STDERR_FILENO);
          const Log log = Log::from_environment();
          if (::open(file.c_str(), O_WRONLY | O_CREAT, 0600) != STDERR_FILENO) return 1;
          log(LogLevel::error, "a line");
          return 0;
        }) == 0);
  CHECK(read_file(file).empty());
}

TEST_CASE("closed streams are filled, so that no file takes their place") {
  const TemporaryFolder folder;
  const std::string file = folder / "mine";
  for (const int closed : {0b001, 0b010, 0b100, 0b110, 0b111}) {
    CHECK(exit_code_of([&] {
            for (int fd = 0; fd < 3; ++fd)
              if ((closed >> fd & 1) != 0) ::close(fd);
            fill_closed_streams();
            if (::open(file.c_str(), O_WRONLY | O_CREAT, 0600) < 3) return 1;
            char one = 0;
            if ((closed & 1) != 0 && ::read(0, &one, 1) >= 0) return 2;
            if ((closed & 2) != 0 && ::write(1, &one, 1) >= 0) return 3;
            return ::write(2, &one, 0) == 0 ? 0 : 4;
          }) == 0);
  }
}
