// SPDX-License-Identifier: Apache-2.0
// One program, or several, run by several host threads in one memory.
#include <atomic>
#include <functional>
#include <thread>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::concurrent_test {
namespace {

constexpr int kThreads = 4, kRuns = 200;

/// Calls `run` on each of the threads, `kRuns` times, and gives how many calls threw, or said no.
int failures(const std::function<bool()>& run) {
  std::atomic<int> failed = 0, ready = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (++ready; ready < kThreads;) std::this_thread::yield();
        for (int j = 0; j < kRuns; ++j) {
          try {
            if (!run()) ++failed;
          } catch (const Error&) {
            ++failed;
          }
        }
      });
    }
  }
  return failed;
}

}  // namespace

TEST_CASE("variables that hold addresses are right in runs at the same time") {
  const Program program =
      program_of(".param .u64 out",
                 ".reg .u64 %out, %at, %v, %sum; .reg .u32 %i; .reg .pred %p; ld.param.u64 %out, [out];\n"
                 "mov.u64 %sum, 0; mov.u32 %i, 0;\n"
                 "again: ld.global.u64 %at, [list+8]; ld.global.u64 %at, [%at]; ld.global.u64 %v, [%at];\n"
                 "add.u64 %sum, %sum, %v; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 300; @%p bra again;\n"
                 "st.global.u64 [%out], %sum;\n",
                 ".global .align 8 .u64 v[2] = {10, 20}; .global .align 8 .u64 p = v+8; "
                 ".global .align 8 .u64 list[2] = {0, p};");
  Memory memory;
  CHECK(failures([&] {
          std::uint64_t sum = 0;
          const std::uint64_t address = memory.map(&sum, sizeof sum, "sum");
          program.run(memory, {.parameters = pack({address})});
          memory.release(address);
          return sum == 300 * 20;
        }) == 0);
}

TEST_CASE("a variable's address is the same in every run and every memory") {
  const Program program = program_of(kOutIn,
                                     ".reg .u64 %out, %v; ld.param.u64 %out, [out]; mov.u64 %v, w; "
                                     "st.global.u64 [%out], %v; ld.global.u64 %v, [p]; st.global.u64 "
                                     "[%out+8], %v;\n",
                                     ".global .align 8 .u64 w[4]; .global .align 8 .u64 p = w+8;");
  const auto first = run<std::uint64_t>(program, 1, 2);
  CHECK(first[1] == first[0] + 8);
  CHECK(run<std::uint64_t>(program, 1, 2) == first);
}

TEST_CASE("a pointer that a kernel has turned elsewhere stays there") {
  const Program program = program_of(
      kOutIn,
      ".reg .u64 %out, %at; .reg .u32 %x; ld.param.u64 %out, [out]; ld.global.u64 %at, [p]; "
      "ld.global.u32 %x, [%at]; st.global.u32 [%out], %x; mov.u64 %at, w; st.global.u64 [p], %at;\n",
      ".global .align 4 .u32 v = 5; .global .align 4 .u32 w = 6; .global .align 8 .u64 p = v;");
  CHECK(run<std::uint32_t>(program, 1, 1)[0] == 5);
  CHECK(run<std::uint32_t>(program, 1, 1)[0] == 6);
}

TEST_CASE("constants hold addresses of variables too, and single bytes of them") {
  const Program program = program_of(
      kOutIn,
      ".reg .u64 %out, %at, %v; .reg .u32 %x; ld.param.u64 %out, [out]; ld.const.u64 %at, [c];\n"
      "ld.global.u32 %x, [%at]; st.global.u32 [%out], %x; shr.u64 %at, %at, 56; cvt.u32.u64 %x, %at;\n"
      "st.global.u32 [%out+4], %x; ld.const.u8 %x, [b]; st.global.u32 [%out+8], %x;\n",
      ".global .align 4 .u32 v[2] = {5, 6}; .const .align 8 .u64 c = v+4; "
      ".const .align 1 .u8 b[1] = {0xFF00000000000000(v)};");
  const auto out = run<std::uint32_t>(program, 1, 3);
  CHECK(out[0] == 6);
  CHECK(out[1] != 0);
  CHECK(out[2] == out[1]);
}

TEST_CASE("a pointer to one program's variable reaches no variable of another") {
  const auto with = [](int value) {
    return program_of(
        kOutIn,
        ".reg .u64 %out, %in; .reg .u32 %x; ld.param.u64 %out, [out]; ld.param.u64 %in, [in];\n"
        "ld.global.u64 %in, [%in]; ld.global.u32 %x, [%in]; st.global.u32 [%out], %x; mov.u64 %in, v; "
        "st.global.u64 [%out+8], %in;\n",
        ".global .align 4 .u32 v = " + std::to_string(value) + ";");
  };
  const Program one = with(1), two = with(2);
  std::vector<std::uint64_t> out(2), pointer(1);
  Memory memory;
  const std::uint64_t data = memory.allocate(8);
  const auto parameters = pack({memory.map(out.data(), 16), memory.map(pointer.data(), 8)});
  pointer[0] = data;
  one.run(memory, {.parameters = parameters});
  pointer[0] = out[1];
  one.run(memory, {.parameters = parameters});
  CHECK(out[0] % (std::uint64_t{1} << 32) == 1);
  CHECK(fault_of([&] { two.run(memory, {.parameters = parameters}); }).code == "out-of-bounds");
}

TEST_CASE("an access beside a variable says so") {
  const Program program =
      program_of(kOutIn, ".reg .u32 %x; ld.global.u32 %x, [v+8];\n", ".global .align 4 .u32 v[2] = {1, 2};");
  const Diagnostic d = fault_of([&] { run<std::uint32_t>(program, 1, 1); });
  CHECK(d.code == "out-of-bounds");
  CHECK(d.message.find("past the end of v (8 bytes)") != std::string::npos);
}

TEST_CASE("atomic operations of launches at the same time are atomic") {
  // Each thread adds the number that it drew to a sum, with a compare-and-swap of its own making.
  const Program program =
      program_of(".param .u64 counter",
                 ".reg .u64 %c; .reg .u32 %x, %y, %z; .reg .pred %p; ld.param.u64 %c, [counter];\n"
                 "atom.global.add.u32 %x, [%c], 1; ld.relaxed.gpu.global.u32 %y, [%c+4];\n"
                 "again: add.u32 %z, %y, %x; mov.u32 %z, %z; atom.global.cas.b32 %z, [%c+4], %y, %z;\n"
                 "setp.ne.u32 %p, %z, %y; mov.u32 %y, %z; @%p bra again;\n");
  Memory memory;
  std::vector<std::uint32_t> counter(2);
  const auto parameters = pack({memory.map(counter.data(), 8, "counter")});
  CHECK(failures([&] {
          program.run(memory, {.grid = {3, 1, 1}, .block = {32, 1, 1}, .parameters = parameters});
          return true;
        }) == 0);
  const std::uint32_t all = kThreads * kRuns * 3 * 32;
  CHECK(counter[0] == all);
  CHECK(counter[1] == static_cast<std::uint32_t>(std::uint64_t{all} * (all - 1) / 2));
}

TEST_CASE("a launch that waits for another lets it run") {
  const std::string wait =
      "again: ld.acquire.gpu.global.u32 %x, [%flag]; setp.ne.u32 %p, %x, %want; @%p bra again;\n"
      "add.u32 %x, %x, 1; st.release.gpu.global.u32 [%flag], %x;\n";
  const Program program =
      program_of(".param .u64 flag, .param .u64 want",
                 ".reg .u64 %flag, %w; .reg .u32 %x, %want; .reg .pred %p; ld.param.u64 %flag, [flag];\n"
                 "ld.param.u64 %w, [want]; cvt.u32.u64 %want, %w;\n" +
                     wait);
  Memory memory;
  std::uint32_t flag = 0;
  const std::uint64_t address = memory.map(&flag, 4, "flag");
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < 3; ++i) {  // the last to begin is the first to go on
      threads.emplace_back(
          [&, i] { program.run(memory, {.parameters = pack({address, 2 - i}), .judge = false}); });
    }
  }
  CHECK(flag == 3);
}

}  // namespace ptxloom::exec::test::concurrent_test
