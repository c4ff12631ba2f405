// SPDX-License-Identifier: Apache-2.0
// The same on a GPU as in the executor: written variables, grid barriers, clusters.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <vector>

#include "ptxloom/context.hpp"
#include "support/errors.hpp"
#include "support/gpu.hpp"

namespace ptxloom::test::gpu_launch_options_test {
namespace {

using Words = std::vector<std::uint32_t>;

std::string ptx(const std::string& body, const std::string& outside = {}, const std::string& directives = {},
                const std::string& target = "sm_75") {
  return ".version 8.0\n.target " + target + "\n.address_size 64\n" + outside +
         ".visible .entry k(.param .u64 .ptr .global out)\n" + directives +
         "\n{\n.reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<4>;\nld.param.u64 %rd0, [out];\n" + body +
         "\nret;\n}\n";
}

Words run(const Context& context, const Kernel& kernel, const LaunchConfig& config, std::size_t words) {
  Buffer out = context.alloc(4 * words);
  kernel.launch(nullptr, config, {out});
  context.synchronize();
  Words values(words);
  out.copy_to(values);
  return values;
}

std::span<const std::byte> bytes_of(const Words& words) { return std::as_bytes(std::span(words)); }

}  // namespace

TEST_CASE("variables are written on the GPU, visible ones and others", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const Kernel kernel = context.load(
      ptx("ld.const.u32 %r0, [coef+4]; ld.global.u32 %r1, [bias]; st.global.u32 [%rd0], %r0; st.global.u32 "
          "[%rd0+4], %r1; ld.global.u32 %r2, [seen]; st.global.u32 [%rd0+8], %r2;",
          ".const .align 4 .b8 coef[8];\n.global .u32 bias = 5;\n.visible .global .u32 seen = 6;\n"));
  CHECK(kernel.variables().size() == 3);
  CHECK(kernel.target() == context.target());
  CHECK(run(context, kernel, {}, 3) == Words{0, 5, 6});
  kernel.write_variable("coef", bytes_of({1, 100}));
  kernel.write_variable("bias", bytes_of({7}));
  kernel.write_variable("seen", bytes_of({8}));
  CHECK(run(context, kernel, {}, 3) == Words{100, 7, 8});
  CHECK(error_of([&] { kernel.write_variable("baas", bytes_of({1})); }).diagnostics()[0].code ==
        "unknown-variable");
  CHECK(error_of([&] { kernel.write_variable("coef", bytes_of({1})); }).diagnostics()[0].code ==
        "variable-size");
}

TEST_CASE("a cooperative grid meets through its workspace on the GPU, and one too large is refused",
          "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  // As in cooperative groups; see tests/cli/launch_options_test.cpp.
  const Kernel kernel = context.load(ptx(
      "mov.u32 %r0, %envreg2; mov.u32 %r1, %envreg1; mov.b64 %rd3, {%r0, %r1};\n"
      "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mad.wide.u32 %rd4, %r1, 4, %rd0;\n"
      "add.u32 %r3, %r1, 100; st.global.u32 [%rd4], %r3;\n"
      "add.s64 %rd5, %rd3, 4; sub.u32 %r4, 0x80000001, %r2; setp.eq.u32 %p1, %r1, 0; selp.b32 %r4, %r4, 1, "
      "%p1;\nfence.acq_rel.gpu; atom.add.release.gpu.u32 %r5, [%rd5], %r4;\n"
      "again: ld.acquire.gpu.u32 %r6, [%rd5]; xor.b32 %r7, %r6, %r5; setp.gt.s32 %p2, %r7, -1; @%p2 bra "
      "again;\nnot.b32 %r8, %r1; add.u32 %r8, %r8, %r2; mad.wide.u32 %rd6, %r8, 4, %rd0;\n"
      "ld.global.u32 %r9, [%rd6]; mad.wide.u32 %rd7, %r2, 4, %rd4; st.global.u32 [%rd7], %r9;"));
  const auto blocks = static_cast<std::uint32_t>(context.device().sms);
  const Words out = run(context, kernel, {.grid = {blocks}, .cooperative = true}, std::size_t{2} * blocks);
  for (std::uint32_t i = 0; i < blocks; ++i) CHECK(out[blocks + i] == 100 + blocks - 1 - i);
  const Error error = error_of([&] {
    Buffer none = context.alloc(4);
    kernel.launch(nullptr, {.grid = {1'000'000}, .cooperative = true}, {none});
  });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.diagnostics()[0].code == "launch-cooperative");
}

TEST_CASE("a kernel that requires no cluster is launched in clusters on the GPU", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  if (context.device().major < 9) SKIP("clusters need sm_90");
  const std::string who =
      "mov.u32 %r0, %ctaid.x; mad.wide.u32 %rd1, %r0, 8, %rd0; mov.u32 %r1, %cluster_nctarank; st.global.u32 "
      "[%rd1], %r1; mov.u32 %r1, %cluster_ctarank; st.global.u32 [%rd1+4], %r1;";
  const Kernel kernel = context.load(ptx(who, {}, {}, "sm_90"));
  CHECK(run(context, kernel, {.grid = {4}, .cluster = {2}}, 8) == Words{2, 0, 2, 1, 2, 0, 2, 1});
  CHECK(run(context, kernel, {.grid = {4}}, 8) == Words{1, 0, 1, 0, 1, 0, 1, 0});
  const Kernel bound = context.load(ptx(who, {}, ".reqnctapercluster 2, 1, 1", "sm_90"));
  CHECK(run(context, bound, {.grid = {4}}, 8) == Words{2, 0, 2, 1, 2, 0, 2, 1});
  CHECK(error_of([&] { run(context, bound, {.grid = {4}, .cluster = {4}}, 8); }).kind() == ErrorKind::usage);
}

}  // namespace ptxloom::test::gpu_launch_options_test
