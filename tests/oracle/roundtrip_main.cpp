// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "oracle/roundtrip.hpp"
#include "support/components.hpp"
#include "support/folders.hpp"
#include "support/ptxas.hpp"

// nvcc's output for CUDA sources, and PTX files, there and back again. Without arguments two kernels of
// tests/oracle/kernels for two targets; with --all every one for every target, with debug information and
// without. Sources given are compiled for each target given, with the options given.
//
// usage: test_roundtrip [--all | FILE.ptx... | FILE.cu... TARGET... [-OPTION_OF_NVCC...]]
namespace {

using namespace ptxloom;
using namespace ptxloom::oracle;

struct Case {
  std::string name;
  std::filesystem::path source;
  std::string target = {};
  std::string options = {};
};

Case compiled(const std::filesystem::path& source, const std::string& target, const std::string& options) {
  return {.name = source.stem().string() + " " + target + (options.empty() ? "" : " " + options),
          .source = source,
          .target = target,
          .options = options};
}

Case kernel(const std::string& name, const std::string& target, const std::string& options) {
  const std::filesystem::path folder = std::filesystem::path(test::source_folder()) / "tests/oracle/kernels";
  return compiled(folder / (name + ".cu"), target, options);
}

std::vector<Case> quick_cases() {
  return {kernel("language", "sm_80", "-G"), kernel("language", "sm_120a", ""), kernel("narrow", "sm_80", ""),
          kernel("narrow", "sm_120a", "-lineinfo")};
}

// CUB takes minutes to compile, so it is not compiled for everything.
std::vector<Case> all_cases() {
  std::vector<Case> cases{kernel("cub", "sm_90a", "-G"), kernel("cub", "sm_80", ""),
                          kernel("cub", "sm_120a", "-lineinfo")};
  for (const char* name : {"async", "groups", "language", "narrow"})
    for (const char* target : {"sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"})
      for (const char* options : {"", "-lineinfo", "-G"}) cases.push_back(kernel(name, target, options));
  for (const char* name : {"atomics", "data", "textures"})
    for (const char* target : {"sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"})
      cases.push_back(kernel(name, target, ""));
  return cases;
}

// Empty where sources, targets and options do not go together.
std::vector<Case> cases_of(const std::vector<std::string>& arguments) {
  std::vector<Case> cases;
  std::vector<std::string> sources, targets;
  std::string options;
  for (const std::string& argument : arguments) {
    if (argument.ends_with(".cu"))
      sources.push_back(argument);
    else if (argument.ends_with(".ptx"))
      cases.push_back({.name = argument, .source = argument});
    else if (argument.starts_with("-"))
      options += (options.empty() ? "" : " ") + argument;
    else
      targets.push_back(argument);
  }
  if (sources.empty() != targets.empty() || (sources.empty() && !options.empty())) return {};
  for (const std::string& target : targets)
    for (const std::string& source : sources) cases.push_back(compiled(source, target, options));
  return cases;
}

Verdict judge(const Toolchain& tools, const Case& what, const std::shared_ptr<const Specs>& specs) {
  const TemporaryFolder folder;
  std::filesystem::path ptx = what.source;
  if (!what.target.empty()) {
    ptx = folder / "original.ptx";
    const CommandResult made =
        run_command("'" + tools.nvcc + "' -ptx -std=c++17 -rdc=true -arch=" + what.target + " " +
                    what.options + " '" + what.source.string() + "' -o '" + ptx.string() + "'");
    if (made.status != 0)
      return {.facts = {}, .complaints = {}, .failure = "nvcc: " + made.output, .differences = {}};
  }
  return round_trip(tools, ptx, folder / "", specs);
}

void report(const Case& what, const Verdict& verdict) {
  std::printf("%-40s %s%s\n", what.name.c_str(), verdict.facts.c_str(), verdict.ok() ? ", the same" : "");
  if (!verdict.complaints.empty()) std::printf("  complaints: %s\n", verdict.complaints.c_str());
  if (!verdict.failure.empty()) std::printf("  %s\n", verdict.failure.c_str());
  if (!verdict.differences.empty()) std::printf("  differ:%s\n", verdict.differences.c_str());
  std::fflush(stdout);
}

int run(const Toolchain& tools, const std::vector<Case>& cases) {
  const auto specs = std::make_shared<const Specs>();
  std::atomic<std::size_t> next = 0, bad = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      const Verdict verdict = judge(tools, cases[i], specs);
      const std::scoped_lock lock(mutex);
      report(cases[i], verdict);
      if (!verdict.ok()) ++bad;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) helpers.emplace_back(work);
    work();
  }
  std::printf("%zu texts, %zu of them wrong\n", cases.size(), bad.load());
  return bad == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  constexpr int kSkipped = 77;
  const std::vector<std::string> given(arguments + 1, arguments + count);
  const std::vector<Case> cases = given.empty()                                ? quick_cases()
                                  : given == std::vector<std::string>{"--all"} ? all_cases()
                                                                               : cases_of(given);
  if (cases.empty()) {
    std::puts("usage: test_roundtrip [--all | FILE.ptx... | FILE.cu... TARGET... [-OPTION_OF_NVCC...]]");
    return 2;
  }
  const auto nvcc = find_cuda_tool("nvcc"), ptxas = find_cuda_tool("ptxas");
  if (!ptxas || (!nvcc && !cases.back().target.empty())) {
    const bool required =
        (!ptxas && test::requires_component("ptxas")) || (!nvcc && test::requires_component("nvcc"));
    std::puts(required ? "PTXLOOM_REQUIRE names nvcc or ptxas, which is not installed"
                       : "skipped: nvcc or ptxas is not installed");
    return required ? 1 : kSkipped;
  }
  return run({nvcc.value_or(""), *ptxas}, cases);
}
