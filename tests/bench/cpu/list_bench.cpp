// SPDX-License-Identifier: Apache-2.0
// `ptxloom list`, start to end: under 20 ms, median. And what the library adds to the start of a program, the
// specs and the first instruction found in them, in a process that has not touched them: under 1 ms.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "bench/bench.hpp"

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

double start_in_new_process() {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    bool found = false;
    const double time = ptxloom::bench::milliseconds_of([&] {
      const ptxloom::Specs specs;
      found = !specs.match("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32").empty();
    });
    const bool told = found && ::write(ends[1], &time, sizeof time) == sizeof time;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  double time = -1;
  if (::read(ends[0], &time, sizeof time) != sizeof time) time = -1;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return time;
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

  std::vector<double> starts;
  for (int i = 0; i < 50; ++i) starts.push_back(start_in_new_process());
  if (std::ranges::min(starts) < 0) {
    fmt::print(stderr, "a process that should start the library failed\n");
    return 1;
  }
  const double start = ptxloom::bench::median(starts);
  fmt::print("the library's start and its first opcode: {:.2f} ms; of the 1 ms claimed: {:.2f}\n", start,
             start);
}
