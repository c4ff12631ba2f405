// SPDX-License-Identifier: Apache-2.0
// `ptxloom list`, start to end. Claim: under 20 ms, median.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "bench.hpp"

namespace {

int list(const char* tool) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execl(tool, tool, "list", nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int, char** argv) {
  // Beside this program's folder in the build: build/tests/bench/list_bench, build/ptxloom.
  const std::string tool =
      std::filesystem::absolute(argv[0]).parent_path().parent_path().parent_path() / "ptxloom";
  std::vector<double> times;
  for (int i = 0; i < 50; ++i) {
    int status = -1;
    times.push_back(ptxloom::bench::milliseconds_of([&] { status = list(tool.c_str()); }));
    if (status != 0) {
      fmt::print(stderr, "{} list failed\n", tool);
      return 1;
    }
  }
  const double median = ptxloom::bench::median(times);
  fmt::print("ptxloom list: {:.2f} ms; of the 20 ms claimed: {:.2f}\n", median, median / 20);
}
