// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::test {

/// Kernels whose resources all differ: `shares` has shared memory, barriers and parameters, `spills` has too
/// few registers, `calls` calls a function and names lines of a source. {target} is replaced.
inline constexpr std::string_view kKernels = R"(.version {version}
.target {target}
.address_size 64
.file 1 "/folder/source.cu"
// a comment
.func (.reg .b32 o) square(.reg .b32 i)
{
  .loc 1 20 3
  mul.lo.s32 o, i, i;
  ret;
}
.visible .entry shares(.param .b64 p, .param .b8 c, .param .align 16 .b8 a[16]) .reqntid 96,2,1 {cluster}
{
  .reg .b32 r<9>; .reg .b64 d;
  .shared .b32 s[64];
  ld.param.b64 d, [p];
  ld.global.b32 r0, [d];
  st.shared.b32 [s+4], r0;
  barrier.sync 3;
  ld.shared.b32 r1, [s];
  st.global.b32 [d], r1;
  ret;
}
.visible .entry spills(.param .b64 p) .maxntid 128,1,1 .maxnreg 40
{
  .reg .f32 f<80>; .reg .b64 d; .reg .b32 r<9>;
  .local .align 16 .b8 own[64];
  ld.param.b64 d, [p];
  mov.u32 r0, %tid.x;
  st.local.b32 [own], r0;
  add.u32 r1, r0, 3;
  and.b32 r1, r1, 15;
  mov.u32 r2, own;
  add.u32 r2, r2, r1;
  ld.local.b8 r3, [r2];
  cvt.rn.f32.u32 f0, r3;
{many}  st.global.f32 [d], f0;
  ret;
}
.visible .entry calls(.param .b64 p)
{
  .reg .b32 r<9>; .reg .b64 d;
  ld.param.b64 d, [p];
  .loc 1 10 3
  ld.global.b32 r0, [d];
  .loc 1 12 5
  call (r1), square, (r0);
  st.global.b32 [d], r1;
  ret;
}
)";

struct Assembled {
  std::string cubin, log, ptx;
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(cubin)); }
};

/// More values than spills can hold in registers at once.
inline std::string many_values() {
  std::string text;
  for (int i = 1; i < 60; ++i) text += fmt::format("  ld.global.f32 f{}, [d+{}];\n", i, 4 * i);
  text += "  bar.sync 0;\n";
  for (int i = 1; i < 60; ++i) text += fmt::format("  fma.rn.f32 f0, f0, f{}, f{};\n", i, 60 - i);
  return text;
}

/// kKernels for a target, by any ptxas that has it. Other text is returned as it is.
inline std::string kernels_for(std::string_view text, const TargetInfo& target) {
  std::string ptx(text);
  const auto replace = [&](std::string_view name, const std::string& by) {
    if (const std::size_t at = ptx.find(name); at != ptx.npos) ptx.replace(at, name.size(), by);
  };
  replace("{version}", to_string(std::max(target.since, Version{7, 8})));
  replace("{target}", std::string(target.name));
  replace("{cluster}", target.cluster_blocks > 0 ? ".reqnctapercluster 2,1,1" : "");
  replace("{many}", many_values());
  return ptx;
}

/// Machine code of PTX, by this ptxas with these options; "": the one that is installed.
inline Assembled assemble(std::string_view text, std::string_view target, const std::string& options,
                          const std::string& ptxas = "") {
  const TemporaryFolder folder;
  const std::string ptx = kernels_for(text, Target(target).info());
  std::ofstream(folder / "k.ptx") << ptx;
  const CommandResult result = run_command(
      fmt::format("'{}' -arch={} {} '{}' -o '{}'", ptxas.empty() ? find_cuda_tool("ptxas").value() : ptxas,
                  target, options, (folder / "k.ptx").string(), (folder / "k.cubin").string()));
  INFO(result.output);
  REQUIRE(result.status == 0);
  std::ifstream in(folder / "k.cubin", std::ios::binary);
  return {.cubin = {std::istreambuf_iterator<char>(in), {}}, .log = result.output, .ptx = ptx};
}

/// The targets of the installed ptxas; the test is skipped without one.
inline std::vector<TargetInfo> targets_or_skip() {
  const std::optional<std::string> ptxas = find_cuda_tool("ptxas");
  if (!ptxas) skip_without("ptxas", "ptxas is not installed");
  return targets_of_ptxas(*ptxas);
}

}  // namespace ptxloom::test
