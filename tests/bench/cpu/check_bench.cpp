// SPDX-License-Identifier: Apache-2.0
// Checking PTX. Claims: at least 20,000 lines a second by `check --jsonl`, legal or not, which takes all
// cores; parse and check of a large file at least 20 times as fast as ptxas -O0, both in CPU time, which a
// busy machine does not change; the specs are there in less than 1 ms.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "bench/bench.hpp"
#include "bench/cpu/statements.hpp"
#include "ptxloom/check.hpp"

namespace {

using namespace ptxloom;

/// Of the programs that ran and ended.
double cpu_seconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Lines a second by `ptxloom check --jsonl FILE`, start included.
struct Rate {
  double all = 0;       // by the clock
  double one_core = 0;  // of CPU time
};

/// The best of a few runs: others slow a run down, and none speeds it up.
Rate rate(const std::filesystem::path& tool, const std::string& lines) {
  constexpr int kRuns = 5;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("check_bench.{}", ::getpid());
  std::ofstream(file) << lines;
  const std::string command =
      fmt::format("'{}' check --jsonl - < '{}' > /dev/null", tool.string(), file.string());
  const auto count = static_cast<double>(std::ranges::count(lines, '\n'));
  Rate best;
  for (int i = 0; i < kRuns; ++i) {
    const double before = cpu_seconds_of_children();
    int status = 0;
    const double ms = bench::milliseconds_of([&] { status = std::system(command.c_str()); });
    if (status != 0 && status != 256) fmt::print(stderr, "{} failed\n", command);
    best.all = std::max(best.all, 1000 * count / ms);
    best.one_core = std::max(best.one_core, count / (cpu_seconds_of_children() - before));
  }
  std::filesystem::remove(file);
  return best;
}

/// `count` lines of JSON: legal statements, illegal ones, or both in turn.
std::string lines_of(bench::Statements& statements, std::string_view kind, std::size_t count) {
  std::string lines;
  for (std::size_t i = 0; i < count; ++i) {
    const bool legal = kind == "legal" || (kind == "mixed" && i % 2 == 0);
    lines += bench::json_of(i, legal ? statements.legal() : statements.illegal()) + "\n";
  }
  return lines;
}

/// A module of about so many bytes: the largest gemm, again and again.
std::string large_module(const std::shared_ptr<const Specs>& specs, std::size_t bytes) {
  const Target target("sm_80");
  const auto most = bench::largest(specs, target, {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}});
  ir::Module module = gemm_template().emit(specs, target, most.problem, most.config).module;
  const std::size_t one = print(module).size();
  const ir::Function first = module.functions.at(0);
  for (std::size_t i = 1; i * one < bytes; ++i) {
    module.functions.push_back(first);
    module.functions.back().name += std::to_string(i);
  }
  return print(module);
}

void compare_with_ptxas(const std::shared_ptr<const Specs>& specs) {
  const std::string ptx = large_module(specs, 5'000'000);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("large.{}.ptx", ::getpid());
  std::ofstream(file) << ptx;
  std::size_t found = 0;
  double ours = 1e9;
  for (int i = 0; i < 3; ++i)
    ours = std::min(ours, bench::cpu_milliseconds_of([&] {
                      const ParseResult read = parse(ptx, specs);
                      found = read.diagnostics.size() + check(read.module).size();
                    }));
  fmt::print("parse and check of {:.1f} MB: {:.0f} ms, {:.0f} MB/s, {} diagnostics\n",
             static_cast<double>(ptx.size()) / 1e6, ours, static_cast<double>(ptx.size()) / 1e3 / ours,
             found);
  const double before = cpu_seconds_of_children();
  const int status =
      std::system(fmt::format("ptxas -O0 -arch=sm_80 '{}' -o /dev/null", file.string()).c_str());
  const double ptxas = 1000 * (cpu_seconds_of_children() - before);
  std::filesystem::remove(file);
  if (status == 0) fmt::print("ptxas -O0: {:.0f} ms; of the ratio 20 claimed: {:.1f}\n", ptxas, ptxas / ours);
}

}  // namespace

/// `check_bench KIND COUNT SEED` prints the lines that it would time.
int main(int argc, char** argv) {
  constexpr std::size_t kLines = 30000;
  const auto specs = std::make_shared<const Specs>();
  if (argc == 4) {
    bench::Statements statements(specs, static_cast<unsigned>(std::stoul(argv[3])));
    fmt::print("{}", lines_of(statements, argv[1], std::stoul(argv[2])));
    return 0;
  }
  const std::filesystem::path tool =
      std::filesystem::absolute(argv[0]).parent_path().parent_path().parent_path() / "ptxloom";
  std::vector<double> starts;
  for (int i = 0; i < 21; ++i) starts.push_back(bench::milliseconds_of([] { const Specs own; }));
  fmt::print("specs: {:.3f} ms; of the 1 ms claimed: {:.2f}\n", bench::median(starts), bench::median(starts));
  bench::Statements statements(specs, 1);
  for (const char* kind : {"legal", "illegal", "mixed"}) {
    const Rate found = rate(tool, lines_of(statements, kind, kLines));
    fmt::print(
        "check --jsonl, {}: {:.0f} lines/s, {:.0f} a second of CPU time; of the 20000 claimed: {:.2f}\n",
        kind, found.all, found.one_core, found.all / 20000);
  }
  compare_with_ptxas(specs);
}
