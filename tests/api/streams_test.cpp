// SPDX-License-Identifier: Apache-2.0
// The order of launches that several host threads make in the executor.
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/workspace.hpp"
#include "support/errors.hpp"

namespace ptxloom::test::streams_test {
namespace {

CUstream_st* stream(std::uintptr_t number) { return reinterpret_cast<CUstream_st*>(16 * number); }

/// Adds one to a number, but not in one step: launches at the same time lose some.
struct Counter {
  Context context{{.device = "cpu"}};
  Kernel kernel = context.load(module());
  Buffer count = context.alloc(sizeof(std::uint32_t));

  Counter() { count.fill(std::byte{0}); }
  ir::Module module() const {
    KernelBuilder k(context, "count", Target("sm_75"));
    const Pointer at = k.pointer(u32, "at");
    const Reg value = k.load(at[0]);
    for (int i = 0; i < 1000; ++i) k.store(at[0], k.add(value, 1));
    return k.finish();
  }
  void launch(CUstream_st* on) const { kernel.launch(on, {}, {count}); }
  std::uint32_t value() const {
    std::array<std::uint32_t, 1> value{};
    count.copy_to(value);
    return value[0];
  }
};

/// What the counter comes to when each stream has a thread that launches there, 200 times.
std::uint32_t counted(const std::vector<CUstream_st*>& streams) {
  const Counter counter;
  {
    std::vector<std::jthread> threads;
    for (CUstream_st* each : streams) {
      threads.emplace_back([&counter, each] {
        for (int i = 0; i < 200; ++i) counter.launch(each);
      });
    }
  }
  return counter.value();
}

}  // namespace

TEST_CASE("launches on one stream follow each other, whatever thread they come from") {
  CHECK(counted({stream(1), stream(1), stream(1), stream(1)}) == 800);
}

TEST_CASE("a launch on the default stream runs alone") {
  CHECK(counted({nullptr, stream(1), nullptr}) == 600);
}

TEST_CASE("what observes a launch may launch too") {
  const Counter counter;
  int launched = 0;
  counter.kernel.launch_observed({}, std::array<Argument, 1>{counter.count},
                                 {.trace = [&](const exec::Step&) {
                                   if (launched++ == 0) counter.launch(stream(1)), counter.launch(nullptr);
                                 }});
  CHECK(launched > 1);
}

TEST_CASE("each stream has a workspace of zeros, and keeps what its launches leave there") {
  const Context context({.device = "cpu"});
  const StreamWorkspaces workspaces(context, 4);
  std::vector<std::uint64_t> seen;
  const auto address = [&](CUstream_st* on) {
    std::uint64_t found = 0;
    workspaces.with(on, [&](std::uint64_t workspace) { found = workspace; });
    return found;
  };
  for (CUstream_st* on : {static_cast<CUstream_st*>(nullptr), stream(1), stream(2)})
    seen.push_back(address(on));
  CHECK(seen[0] != seen[1]);
  CHECK(seen[0] != seen[2]);
  CHECK(seen[1] != seen[2]);
  CHECK(address(stream(1)) == seen[1]);
  const StreamWorkspaces copy = workspaces;
  copy.with(stream(2), [&](std::uint64_t workspace) { CHECK(workspace == seen[2]); });
}

TEST_CASE("a workspace is zeros at first, and again after a launch that threw") {
  const Counter counter;
  const StreamWorkspaces workspaces(counter.context, 4);
  const Kernel copy = [&] {
    KernelBuilder k(counter.context, "copy", Target("sm_75"));
    const Pointer from = k.pointer(u32, "from"), to = k.pointer(u32, "to");
    k.store(to[0], k.load(from[0]));
    return counter.context.load(k.finish());
  }();
  const auto next = [&] {  // counts on in the workspace, and gives what is there then
    workspaces.with(stream(1), [&](std::uint64_t workspace) {
      counter.kernel.launch(stream(1), {}, {Argument::pointer(workspace)});
      copy.launch(stream(1), {}, {Argument::pointer(workspace), counter.count});
    });
    return counter.value();
  };
  CHECK(next() == 1);
  CHECK(next() == 2);
  CHECK_THROWS_AS(workspaces.with(stream(1), [](std::uint64_t) { throw std::runtime_error("fault"); }),
                  std::runtime_error);
  CHECK(next() == 1);
}

}  // namespace ptxloom::test::streams_test
