// SPDX-License-Identifier: Apache-2.0
// How soon does a process that finds everything in the records and the cache launch its kernel? Starts itself
// anew again and again, each time up to the first launch, with nothing tuned and nothing linked (must_hit).
// Claim: 3 ms at most, plus the driver's own start. Beside it, what an empty process takes up to its main:
// bench/empty_process, of the same C++ and fmt libraries, which is in the sum too.
//   first_launch [M N K TYPE [ROUNDS]]     default 4096 4096 4096 bf16 21; needs a GPU
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "ptxloom/gemm.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr const char* kSteps[] = {
    "process, up to main",  "the driver's own start", "context",          "record, PTX from the cache",
    "cubin from the cache", "loading by the driver",  "rest of the Gemm", "launch"};
using Times = std::array<double, std::size(kSteps)>;
constexpr std::size_t kDriver = 1;

double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

Settings problem_of(const std::vector<std::string>& words) {
  return gemm_template().problem(
      {{"m", words.at(0)}, {"n", words.at(1)}, {"k", words.at(2)}, {"a", words.at(3)}});
}

/// A record of the template's own choice, which takes as long to find as that of a search, and its kernel in
/// the cache.
void prepare(const Settings& problem) {
  const Context context({.device = "gpu"});
  const Template& gemm = gemm_template();
  const Record record{.device = device_key(context.device()),
                      .kernel_template = "gemm",
                      .problem = problem,
                      .config = gemm.config(context.specs(), context.target(), problem, {}),
                      .time_us = 1};
  context.records().add(record);
  const Record records[] = {record};
  for (const Prebuilt& one : prebuild(context, gemm, context.target(), context.linker(), records)) {
    if (one.problem) throw Error(ErrorKind::refused, {*one.problem});
  }
}

/// In the process that is timed; `begin` is when it was started, `last` when it was in main.
Times launch_first(const std::vector<std::string>& words, double begin, double last) {
  Times times{last - begin};
  const auto lap = [&] {
    const double now = now_ms();
    return now - std::exchange(last, now);
  };
  const Context context({.device = "gpu"});
  times[kDriver] = context.start_times().device;
  times[2] = lap() - times[kDriver];
  const GemmProblem problem{.m = std::stoull(words.at(0)),
                            .n = std::stoull(words.at(1)),
                            .k = std::stoull(words.at(2)),
                            .a = find_type(words.at(3)).value()};
  const Gemm product = gemm(context, problem, {}, {.must_hit = true});
  const Specialised& kernel = product.specialised();
  times[3] = kernel.emit_ms;
  times[4] = kernel.kernels.front().times().link;
  times[5] = kernel.kernels.front().times().load;
  times[6] = lap() - times[3] - times[4] - times[5];
  // The caller's own: they are there, or take what they take.
  std::vector<Buffer> buffers;
  for (const TensorPlan& tensor : kernel.tensors)
    buffers.push_back(context.alloc(tensor.bytes(), std::byte{0x3c}));
  const auto operand = [&](std::string_view name) {
    const auto tensor = std::ranges::find(kernel.tensors, name, &TensorPlan::name);
    return MatrixAddress(buffers.at(static_cast<std::size_t>(tensor - kernel.tensors.begin())));
  };
  const Buffer workspace = context.alloc(product.workspace_bytes(), std::byte{0});
  const GemmOperands operands{
      .a = operand("a"), .b = operand("b"), .d = operand("d"), .workspace = workspace};
  context.synchronize();
  lap();
  product.launch(nullptr, operands);
  times[7] = lap();
  context.synchronize();  // it did run
  return times;
}

/// What a program prints that is given the time of its start; our memory, with the driver in it, is not
/// copied.
std::string output_of(const std::string& program, std::vector<std::string> arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  arguments.insert(arguments.begin() + 2, fmt::format("{:.6f}", now_ms()));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  int status = 0;
  if (failed == 0) ::waitpid(child, &status, 0);
  if (failed != 0 || status != 0 || got <= 0) throw std::runtime_error("failed: " + program);
  return text.substr(0, static_cast<std::size_t>(got));
}

Times time_process(const std::vector<std::string>& words) {
  std::vector<std::string> arguments = {"first_launch", "--timed"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::istringstream stream(output_of("/proc/self/exe", arguments));
  Times times{};
  for (double& one : times) stream >> one;
  return times;
}

double time_empty_process() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "empty_process";
  return std::stod(output_of(program, {"empty_process", "--timed"}));
}

void time_all(const std::vector<std::string>& words, int rounds) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("first_launch.{}", ::getpid());
  ::setenv("PTXLOOM_RECORDS", (folder / "records").c_str(), 1);
  ::setenv("PTXLOOM_CACHE_DIR", (folder / "cache").c_str(), 1);
  prepare(problem_of(words));
  std::vector<std::vector<double>> steps(std::size(kSteps));
  std::vector<double> own, empty;
  for (int round = 0; round < rounds; ++round) {
    const Times times = time_process(words);
    double sum = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      steps[i].push_back(times[i]);
      if (i != kDriver) sum += times[i];
    }
    own.push_back(sum);
    empty.push_back(time_empty_process());
  }
  std::filesystem::remove_all(folder);
  const auto row = [](const char* name, const std::vector<double>& values, const char* note = "") {
    fmt::print("  {:<26} {:8.3f} {:8.3f}{}\n", name, median(values), std::ranges::max(values), note);
  };
  fmt::print("gemm {}, {} processes, ms: median, most\n", fmt::join(words, " "), rounds);
  for (std::size_t i = 0; i < steps.size(); ++i) row(kSteps[i], steps[i]);
  row("all but the driver", own, "   claimed: 3 at most");
  row("an empty process, to main", empty);
}

}  // namespace

int main(int argc, char** argv) try {
  const double in_main = now_ms();
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 6 && words[0] == "--timed") {
    const double begin = std::stod(words[1]);
    words.erase(words.begin(), words.begin() + 2);
    fmt::print("{}\n", fmt::join(launch_first(words, begin, in_main), " "));
    return 0;
  }
  if (words.empty()) words = {"4096", "4096", "4096", "bf16"};
  if (words.size() == 4) words.push_back("21");
  if (words.size() != 5) throw std::runtime_error("first_launch [M N K TYPE [ROUNDS]]");
  const int rounds = std::stoi(words.back());
  words.pop_back();
  time_all(words, rounds);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
