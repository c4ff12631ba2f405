// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptxloom/tune.hpp"

// Candidates that fail in every way that a kernel can, for a worker to survive.
namespace ptxloom::test {

inline constexpr std::uint64_t kCount = 997;

// %rd4 is the address of x[i], %rd5 of y[i], %r1 is i, %r5 is x[i] + 1.
inline constexpr const char* kText = R"(.version 7.0
.target sm_80
.address_size 64

.visible .entry add_one(.param .u32 n, .param .u64 x, .param .u64 y, .param .u64 z)
{{
  .reg .b32 %r<10>;
  .reg .b64 %rd<10>;
  .reg .pred %p<4>;
  ld.param.u32 %r9, [n];
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r1, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r1, %r9;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.s32 %r6, [%rd4];
  add.s32 %r5, %r6, 1;
  {}
  st.global.s32 [%rd5], %r5;
DONE:
  ret;
}}
)";

inline const std::map<std::string, const char*> kFaults = {
    {"good", ""},
    {"good2", "add.s32 %r5, %r5, 0;"},
    {"memory", ""},
    {"wrong", "add.s32 %r5, %r5, 1;"},
    {"hole", "setp.eq.u32 %p2, %r1, 500;\n  @%p2 bra DONE;"},
    {"spill", "st.global.s32 [%rd2+3992], %r5;"},    // y[998]
    {"outside", "st.global.s32 [%rd2+4004], %r5;"},  // after the end of y
    {"spoil", "st.global.s32 [%rd4], %r5;"},
    {"address", "add.s64 %rd5, %rd5, 0x7f0000000000;"},
    {"trap", "trap;"},
    // x never changes, but ptxas must not know that: it assumes that a loop without effect terminates.
    {"loop",
     "AGAIN:\n  ld.volatile.global.s32 %r7, [%rd4];\n  setp.eq.s32 %p3, %r7, %r6;\n  @%p3 bra AGAIN;"},
    {"syntax", "add.s32 %r5, ;"},
};

/// y[i] = x[i] + 1 for n elements of s32; y has two more, which must not be written.
inline tune::Task make_task(std::uint64_t seed) {
  const TensorPlan x{.name = "x", .type = s32, .shape = {kCount}, .role = TensorPlan::Role::in};
  const TensorPlan y{.name = "y", .type = s32, .shape = {kCount + 2}, .role = TensorPlan::Role::out};
  tune::Task task{.tensors = {random_tensor(x, seed), poisoned_tensor(y)}};
  Expectation& expected =
      task.expected.emplace_back(Expectation{.tensor = "y", .untouched = {kCount, kCount + 1}});
  for (std::uint64_t i = 0; i < kCount; ++i) {
    std::int32_t value = 0;
    std::memcpy(&value, task.tensors[0].bytes.data() + 4 * i, 4);
    const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) + 1U);
    expected.points.push_back({.index = i, .value = static_cast<double>(sum), .tolerance = 0});
  }
  return task;
}

/// A kernel for it, "good" or with a fault of kFaults; "throw" throws.
inline tune::Candidate make_candidate(const std::string& fault) {
  if (fault == "throw") throw std::runtime_error("this configuration makes no kernel");
  tune::Candidate candidate{.ptx = fmt::format(fmt::runtime(kText), kFaults.at(fault)),
                            .launches = {{.entry = "add_one",
                                          .grid = {8, 1, 1},
                                          .block = {128, 1, 1},
                                          .arguments = {{.name = "n", .type = u32, .bits = kCount},
                                                        {.name = "x", .type = u64, .tensor = "x"},
                                                        {.name = "y", .type = u64, .tensor = "y"},
                                                        {.name = "z", .type = u64, .tensor = "z"}}}}};
  const std::uint64_t bytes = fault == "memory" ? std::uint64_t{1} << 50 : 64;
  candidate.scratch = {{.name = "z", .type = u8, .shape = {bytes}}};
  return candidate;
}

inline std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

inline void write_script(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace ptxloom::test
