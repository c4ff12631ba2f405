// SPDX-License-Identifier: Apache-2.0
// Kernels of CUDA C++ (language.cu), compiled by nvcc: printf, assert, grid.sync(), recursion, virtual
// functions, and what the executor does not have.
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdio>
#include <functional>

#include "exec/harness.hpp"
#include "exec/machine/nvcc.hpp"

namespace ptxloom::exec::test::language_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Ints = std::vector<int>;

const ir::Module& language() {
  static const ir::Module module = compiled_by_nvcc("language.cu", "sm_80");
  return module;
}

int tree(int depth, int value, const int* above) {
  int mine[4];
  for (int i = 0; i < 4; ++i) mine[i] = value * (i + 1) + above[i];
  if (depth == 0) return mine[value & 3];
  const int left = tree(depth - 1, value + 1, mine), right = tree(depth - 1, value + 2, mine);
  return left + 3 * right + mine[depth & 3] + above[0];
}

}  // namespace

TEST_CASE("printf of a compiled kernel prints as the host's does, thread by thread") {
  Random random;
  INFO("seed " << random.seed);
  constexpr std::uint32_t threads = 40, blocks = 3;
  std::vector<double> in(threads);
  for (double& value : in) value = random.uniform(-1000, 1000);
  std::string expected;
  std::map<std::uint32_t, std::string> lines[blocks];
  for (std::uint32_t t = 1; t < threads; t += 3) {
    char line[100];
    std::snprintf(line, sizeof line, "%d:%6.2f|%-5s|%llu|%c%%\n", static_cast<int>(t), in[t],
                  t % 2 != 0 ? "odd" : "even", 1ull << (20 + t), static_cast<char>('a' + t));
    for (auto& block : lines) block[t] = line;
  }
  for (std::uint32_t t = 2; t < threads; t += 3)
    for (auto& block : lines) block[t] = "no arguments\n";

  const Program program(language(), "prints");
  const auto print_with = [&](unsigned jobs, std::vector<Printed>& printed) {
    Memory memory;
    Ints out(threads, -77);
    const auto parameters = pack(
        {memory.map(out.data(), threads * sizeof(int)), memory.map(in.data(), threads * sizeof(double))});
    program.run(memory, {.grid = {blocks, 1, 1},
                         .block = {threads, 1, 1},
                         .parameters = parameters,
                         .jobs = jobs,
                         .judge = false,  // the thread blocks write the same results
                         .print = [&](const Printed& text) { printed.push_back(text); }});
    for (std::uint32_t t = 0; t < threads; ++t) CHECK(out[t] == (t % 3 == 1 ? 5 : t % 3 == 2 ? 0 : 7));
  };
  std::vector<Printed> alone, together;
  print_with(1, alone);
  print_with(3, together);
  REQUIRE(alone.size() == blocks * lines[0].size());
  REQUIRE(together.size() == alone.size());
  std::uint32_t block = 0;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    CHECK(alone[i].text == lines[alone[i].block[0]].at(alone[i].thread[0]));
    CHECK(alone[i].block[0] >= block);  // in the order of thread blocks
    block = alone[i].block[0];
    CHECK(alone[i].text == together[i].text);
    CHECK(alone[i].block == together[i].block);
    CHECK(alone[i].thread == together[i].thread);
  }
}

TEST_CASE("a failed assertion gives its text, file, line, function and thread") {
  constexpr std::uint32_t threads = 48;
  const Program program(language(), "asserts");
  const auto run_with = [&](std::uint64_t limit) {
    Memory memory;
    Ints data(threads, 3);
    data[37] = 9;
    const auto parameters = pack({memory.map(data.data(), threads * sizeof(int)), limit});
    program.run(memory, {.block = {threads, 1, 1}, .parameters = parameters});
    return data;
  };
  const Ints passed = run_with(10);
  for (std::uint32_t t = 0; t < threads; ++t) CHECK(passed[t] == (t == 37 ? 18 : 6));
  const Diagnostic d = fault_of([&] { run_with(9); });
  CHECK(d.code == "assert");
  CHECK_THAT(d.message, ContainsSubstring("assertion `data[threadIdx.x] < limit && \"too large\"` failed") &&
                            ContainsSubstring("language.cu:17, in void asserts(int *, int)") &&
                            ContainsSubstring("block (0,0,0), thread (37,0,0)"));
  CHECK(d.line > 0);
}

TEST_CASE("grid.sync() of cooperative groups orders what thread blocks write") {
  constexpr std::uint32_t threads = 48, blocks = 7, all = threads * blocks;
  Random random;
  INFO("seed " << random.seed);
  Memory memory;
  Ints data(all), out(all, -1);
  for (int& value : data) value = static_cast<int>(random.below(1000));
  const Ints before = data;
  const auto parameters =
      pack({memory.map(data.data(), all * sizeof(int)), memory.map(out.data(), all * sizeof(int))});
  Findings findings;
  const Program program(language(), "grid_sums");
  program.run(memory, {.grid = {blocks, 1, 1},
                       .block = {threads, 1, 1},
                       .cooperative = true,
                       .parameters = parameters,
                       .findings = &findings});
  for (const Finding& finding : findings.all()) UNSCOPED_INFO(finding.code << ": " << finding.what);
  CHECK(findings.all().empty());
  const auto sum = [&](std::uint32_t i) {
    return (before[(i + 1) % all] + 1) * 10 + before[all - 1 - i] + 1;
  };
  for (std::uint32_t i = 0; i < all; ++i) {
    CHECK(out[i] == sum(i));
    CHECK(data[i] == sum((i + 5) % all));
  }
}

TEST_CASE("each call of a function that calls itself has its own variables") {
  constexpr std::uint32_t threads = 96;
  const auto out = run<int>(Program(language(), "recurses"), threads, threads);
  for (std::uint32_t t = 0; t < threads; ++t) {
    const int above[4] = {1, 2, 3, static_cast<int>(t)};
    CHECK(out[t] == tree(static_cast<int>(t % 5), static_cast<int>(t), above));
  }
  const auto even = run<int>(Program(language(), "calls_each_other"), 40, 40);
  for (int t = 0; t < 40; ++t) CHECK(even[static_cast<std::size_t>(t)] == (t % 2 == 0 ? 1 << t / 2 : 0));
}

TEST_CASE("virtual functions call each other, and what nothing calls is not missed") {
  constexpr int threads = 64;
  const auto out = run<int>(Program(language(), "virtual_calls"), threads, threads);
  for (int t = 0; t < threads; ++t) {
    const auto square = [](int side, int scale) { return side * side * scale; };
    const auto inner = [&](int scale) { return square(t, scale) + 2 * square(t + 1, scale + 1); };
    CHECK(out[static_cast<std::size_t>(t)] == inner(3) + 2 * (t % 2 == 0 ? inner(4) : square(t, 4)));
  }
}

TEST_CASE("what the executor does not have is named, with the line, before anything runs") {
  const auto refusal_of = [&](const char* kernel) { return fault_of([&] { Program(language(), kernel); }); };
  const Diagnostic heap = refusal_of("allocates");
  CHECK(heap.code == "exec-unsupported");
  CHECK(heap.line > 0);
  CHECK_THAT(heap.message, ContainsSubstring("malloc") && ContainsSubstring("no device heap"));
  CHECK_THAT(refusal_of("samples").message, ContainsSubstring("it has no textures"));
  CHECK_THAT(refusal_of("reads_surface").message, ContainsSubstring("it has no surfaces"));
}

}  // namespace ptxloom::exec::test::language_test
