// SPDX-License-Identifier: Apache-2.0
// multimem on one device: its address stands for one memory, so a reduction over devices is the value there.
#include "exec/harness.hpp"

namespace ptxloom::exec::test::multimem_test {
namespace {

using Words = std::vector<std::uint32_t>;

/// The words of `out` after one thread has run `body`, with the address of out in %out.
Words run_body(const std::string& body, std::size_t words) {
  const std::string registers =
      ".reg .u64 %out; .reg .b32 %a, %b, %c, %d; .reg .b64 %w; .reg .b16 %h;"
      ".shared .align 128 .b8 s[128]; ld.param.u64 %out, [out];\n";
  return run<std::uint32_t>(program_of(kOutIn, registers + body, {}, "sm_100a"), 1, words);
}

}  // namespace

TEST_CASE("multimem.st stores, and multimem.ld_reduce loads what is there") {
  CHECK(run_body("multimem.st.relaxed.sys.global.u32 [%out], 40;"
                 "multimem.ld_reduce.relaxed.sys.global.add.u32 %a, [%out]; st.global.u32 [%out+4], %a;"
                 "multimem.st.weak.global.b64 [%out+8], 0x1122334455667788;"
                 "multimem.ld_reduce.global.xor.b64 %w, [%out+8]; st.global.b64 [%out+16], %w;",
                 6) == Words{40, 40, 0x55667788, 0x11223344, 0x55667788, 0x11223344});
  // -0 and a NaN pass, in vectors and in accumulation of another type.
  CHECK(run_body("mov.b32 %a, 0xfe018000; mov.b32 %b, 0x3c007c00;"
                 "multimem.st.global.v2.f16x2 [%out], {%a, %b};"
                 "multimem.ld_reduce.global.add.acc::f32.v2.f16x2 {%c, %d}, [%out];"
                 "st.global.v2.b32 [%out+8], {%c, %d};"
                 "multimem.ld_reduce.global.min.v2.e4m3x4 {%c, %d}, [%out];"
                 "st.global.v2.b32 [%out+16], {%c, %d};",
                 6) == Words{0xfe018000, 0x3c007c00, 0xfe018000, 0x3c007c00, 0xfe018000, 0x3c007c00});
}

TEST_CASE("multimem.red reduces into what is there") {
  CHECK(run_body("st.global.v4.u32 [%out], {10, 20, 0x3c003c00, 7};"
                 "multimem.red.relaxed.gpu.global.add.u32 [%out], 5;"
                 "multimem.red.release.sys.global.min.s32 [%out+4], -3;"
                 "mov.b32 %a, 0x40003c00; mov.b32 %b, 0;"
                 "multimem.red.global.add.v2.f16x2 [%out+8], {%a, %b};",
                 4) == Words{15, 0xfffffffd, 0x42004000, 7});
}

TEST_CASE("multimem.st.async and multimem.red.async change memory") {
  CHECK(run_body("multimem.st.async.release.gpu.global.u32 [%out], 40;"
                 "multimem.red.async.release.sys.global.add.u32 [%out], 2;",
                 1) == Words{42});
}

TEST_CASE("multimem bulk copies and reductions are of the thread's bulk group") {
  const std::string fill = "st.shared.v4.b32 [s], {1, 2, 3, 4}; fence.proxy.async;";
  const std::string end = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
  CHECK(run_body(fill + "multimem.cp.async.bulk.global.shared::cta.bulk_group [%out], [s], 16;" + end, 4) ==
        Words{1, 2, 3, 4});
  CHECK(run_body(fill +
                     "mov.b16 %h, 0x8011;"
                     "multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out], [s], 16, %h;" +
                     end,
                 4) == Words{0xa5a5'a501, 0xa5a5'a502, 0xa5a5'a5a5, 0x00a5'a5a5});
  CHECK(run_body(fill + "st.global.v4.u32 [%out], {10, 20, 30, 40};" +
                     "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [s], 16;" +
                     end,
                 4) == Words{11, 22, 33, 44});
}

}  // namespace ptxloom::exec::test::multimem_test
