// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

// wgmma as it must not be used.
namespace ptxloom::exec::test::wgmma_misuse_test {
namespace {

using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("wgmma needs four warps that agree, and descriptors within shared memory") {
  const std::string fence = "wgmma.fence.sync.aligned;";
  const auto fault = [&](std::uint32_t threads, const std::string& before, const std::string& guard = {}) {
    const Program program =
        program_of(kOutIn,
                   ".shared .align 128 .b8 s[8192]; .reg .f32 %d<4>; .reg .u64 %x, %y; .reg .u32 %t, %w; "
                   ".reg .pred %p;\n"
                   "mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mov.u64 %x, 0x800000008; mov.u64 %y, %x;\n" +
                       before + fence + guard +
                       " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %x, %y, 0, "
                       "1, 1, 0, 0;");
    return fault_of([&] {
      static_cast<void>(run<std::uint32_t>(program, threads, 1));
      throw Error(ErrorKind::usage, "none", "no fault", "");
    });
  };
  const auto code = [&](auto... arguments) { return fault(arguments...).code; };
  CHECK(code(128, "") == "none");
  CHECK(code(256, "") == "none");
  CHECK(code(64, "") == "warpgroup-incomplete");
  CHECK(code(160, "") == "warpgroup-incomplete");
  CHECK(code(128, "setp.ne.u32 %p, %w, 2;", "@%p") == "barrier-deadlock");
  CHECK(code(128, "setp.ne.u32 %p, %t, 77;", "@%p") == "warp-divergence");
  CHECK(code(128, "setp.eq.u32 %p, %w, 2; @%p mov.u64 %y, 0x900000008;") == "warpgroup-operands");
  const Diagnostic outside = fault(128, "mov.u64 %y, 0x8000003ff;");
  CHECK(outside.code == "out-of-bounds");
  CHECK_THAT(
      outside.message,
      ContainsSubstring("its matrix descriptor of B, %y (start 0x3ff0, leading offset 0, stride offset 128, "
                        "no swizzling), reaches the bytes 0x3ff0 to 0x3fff of shared memory; the thread "
                        "block has 8192 bytes of shared memory, 8192 static and 0 dynamic"));
  CHECK(code(128,
             "wgmma.fence.sync.aligned; setp.eq.u32 %p, %w, 1; @%p "
             "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, "
             "%d3}, %x, %y, 0, 1, 1, 0, 0;") == "warpgroup-divergence");
}

TEST_CASE("registers of a wgmma are fenced before it and left alone until it is waited for") {
  const auto fault = [](const std::string& body) {
    const Program program = program_of(
        kOutIn,
        ".shared .align 128 .b8 s[8192]; .reg .f32 %d<4>, %r; .reg .b32 %a<4>; .reg .u64 %y; mov.u64 "
        "%y, 0x800000008;\n" +
            body);
    return fault_of([&] {
      static_cast<void>(run<std::uint32_t>(program, 128, 1));
      throw Error(ErrorKind::usage, "none", "no fault", "");
    });
  };
  const auto code = [&](const std::string& body) { return fault(body).code; };
  const std::string fence = "wgmma.fence.sync.aligned;", commit = "wgmma.commit_group.sync.aligned;",
                    wait = "wgmma.wait_group.sync.aligned 0;", touch = "neg.f32 %d2, 0f00000000;",
                    moved = "mov.f32 %d2, 0f00000000;", look = "mov.f32 %r, %d1;", set = "mov.b32 %a3, 0;";
  const std::string shared =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %y, %y, 1, 1, 1, 0, 0;\n";
  const std::string registers =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, %y, 1, "
      "1, "
      "1, 0;\n";
  CHECK(code(fence + shared + shared + commit + wait + look) == "none");
  CHECK(code(shared) == "wgmma-fence");
  CHECK(code(fence + touch + shared) == "wgmma-fence");
  CHECK(code(touch + fence + shared) == "none");
  CHECK(code(fence + set + registers) == "wgmma-fence");
  CHECK(code(fence + set + shared) == "none");
  CHECK(code(fence + moved + shared) == "none");  // nvcc places it there
  const std::string first = fence + shared + commit + wait;
  CHECK(code(first + look + shared) == "wgmma-fence");
  CHECK(code(first + look + fence + shared) == "none");
  CHECK(code(first + moved + shared) == "wgmma-fence");
  CHECK(code(first + touch + moved + shared) == "wgmma-fence");
  CHECK(code(first + fence + touch + moved + shared) == "wgmma-fence");
  CHECK(code(first + fence + moved + shared) == "none");
  CHECK(code(first + shared) == "none");
  CHECK(code(fence + shared + look) == "wgmma-not-awaited");
  CHECK(code(fence + shared + commit + look) == "wgmma-not-awaited");
  CHECK(code(fence + shared + commit + touch) == "wgmma-not-awaited");
  CHECK(code(fence + shared + wait + look) == "wgmma-not-awaited");
  CHECK(code(fence + registers + commit + set) == "wgmma-not-awaited");
  CHECK(code(fence + registers + commit + wait + set) == "none");
  const Diagnostic d = fault(fence + touch + shared);
  CHECK_THAT(
      d.message,
      ContainsSubstring("%d2 was accessed by `neg.f32 %d2, 0f00000000;` (line 8), without a wgmma.fence"));
}

}  // namespace ptxloom::exec::test::wgmma_misuse_test
