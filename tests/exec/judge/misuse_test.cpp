// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/harness.hpp"

// Each misuse that the executor is there to find, planted once: what it says must name the instruction with
// its line, the thread, the place, and what to do.
namespace ptxloom::exec::test::misuse_test {
namespace {

struct Misuse {
  const char* code;
  const char* before;     ///< statements, in one line
  const char* statement;  ///< the one at fault
  const char* after;
  std::vector<const char*> says;  ///< what the message must have, beside the statement
  std::uint32_t threads = 32;
  std::uint64_t step_limit = 1'000'000;
};

const std::string kHead =
    ".shared .align 8 .b64 bar; .shared .align 128 .b8 s[1024]; .reg .u64 %out, %in, %g; .reg .u32 %t, %x, "
    "%y, "
    "%u, %a, %b, %z; .reg .pred %p, %q; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, "
    "%tid.x; "
    "mov.u32 %a, s; mad.lo.u32 %a, %t, 4, %a; xor.b32 %b, %t, 32; mov.u32 %z, s; mad.lo.u32 %b, %b, 4, %z; "
    "mov.u32 "
    "%z, 0;\n";
const char* const kInit = "setp.eq.u32 %q, %t, 0; @%q mbarrier.init.shared.b64 [bar], 1; bar.sync 0;";

const Misuse kMisuses[] = {
    {"out-of-bounds",
     "mad.wide.u32 %g, %t, 4, %in;",
     "ld.global.u32 %x, [%g+136];",
     "",
     {"thread (30,0,0)", "reads 4 bytes at 0x", "in + 0x100, 0 bytes past the end of in (256 bytes)"}},
    {"out-of-bounds",
     "",
     "st.shared.u32 [%a+960], %t;",
     "",
     {"thread (16,0,0)", "writes 4 bytes at 0x", "1152 bytes of shared memory"}},
    {"misaligned",
     "",
     "ld.shared.v2.u32 {%x, %y}, [%a];",
     "",
     {"thread (1,0,0)", "reads 8 bytes at 0x", "not a multiple of 8"}},
    {"undefined-value",
     "setp.gt.u32 %p, %t, 3; @%p mov.u32 %u, 0;",
     "ld.shared.u32 %x, [%u];",
     "",
     {"thread (0,0,0)", "its address depends on %u", "0xffffffff"}},
    {"undefined-value",
     "setp.gt.u32 %p, %t, 3; @%p mov.u32 %u, 0; setp.eq.u32 %q, %u, 1;",
     "@%q bra end;",
     "end:",
     {"thread (0,0,0)", "it is guarded by"}},
    {"undefined-value",
     "ld.shared.u32 %x, [%a]; and.b32 %x, %x, 255;",
     "st.global.u32 [%out], %x;",
     "",
     {"it stores %x", "bits 0xff "}},
    {"data-race",
     "",
     "st.shared.u32 [%a], %t;",
     "ld.shared.u32 %x, [%b];",
     {"thread (32,0,0)", "writes byte 0x", "of shared memory",
      "`ld.shared.u32 %x, [%b];` (line 10) of warp 0, lane 0"},
     64},
    {"proxy-fence",
     "st.shared.u32 [%a], %t; bar.warp.sync -1; mov.u32 %z, s; setp.ne.u32 %q, %t, 0; @%q bra end;",
     "cp.async.bulk.global.shared::cta.bulk_group [%out], [%z], 128;",
     "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; end:",
     {"`st.shared.u32 [%a], %t;", "(line 8)", "fence.proxy.async"}},
    {"barrier-deadlock",
     "setp.lt.u32 %p, %t, 32; @%p bra end;",
     "bar.sync 3, 64;",
     "end:",
     {"32 of 64 threads wait here", "32 threads of the thread block have exited"},
     64},
    {"barrier-count", "", "bar.sync 1, 40;", "", {"40 is not a multiple of the warp size"}},
    {"barrier-divergence", "setp.lt.u32 %p, %t, 5;", "@%p bar.sync 0;", "", {"lanes 5-31 do not"}},
    {"warp-divergence",
     "setp.lt.u32 %p, %t, 5; mov.u32 %z, s;",
     "@%p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x}, [%z];",
     "",
     {"lanes 5-31"}},
    {"mbarrier-uninitialised", "", "mbarrier.arrive.shared.b64 _, [bar];", "", {"at 0x0 of shared memory"}},
    {"mbarrier-count",
     kInit,
     "mbarrier.arrive.shared.b64 _, [bar], 2;",
     "",
     {"2 arrivals", "expects only 1 more of 1"},
     1},
    {"mbarrier-deadlock",
     kInit,
     "w: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;",
     "@!%p bra w;",
     {"phase 0 (parity 0)", "lacks 1 of 1 arrivals"}},
    {"barrier-deadlock",
     "setp.lt.u32 %p, %t, 9; @%p bra there; bar.warp.sync -1; bra end; there:",
     "shfl.sync.idx.b32 %x, %t, 0, 31, -1;",
     "end:",
     {"lanes 0-8", "lanes 9-31", "bar.warp.sync -1"}},
    {"division-by-zero",
     "setp.ne.u32 %p, %t, 17; selp.u32 %z, 3, 0, %p;",
     "div.u32 %x, %t, %z;",
     "",
     {"thread (17,0,0)", "the divisor is 0"}},
    {"step-limit", "l:", "add.u32 %z, %z, 1;", "bra l;", {"instructions and is still running"}, 32, 100'000},
};

}  // namespace

TEST_CASE("each misuse is named with its line, its thread, its place and what to do") {
  for (const Misuse& misuse : kMisuses) {
    const std::string body = kHead + misuse.before + "\n" + misuse.statement + "\n" + misuse.after;
    const std::string text = kernel_text(kOutIn, body);
    CAPTURE(body);
    const Program program = program_of(kOutIn, body);
    const Diagnostic d = fault_of([&] {
      run<std::uint32_t>(program, misuse.threads, 256, std::vector<std::uint32_t>(64),
                         Launch{.step_limit = misuse.step_limit});
    });
    CAPTURE(d.message, d.hint);
    CHECK(d.code == misuse.code);
    const auto has = [&](std::string_view words) { return d.message.find(words) != std::string::npos; };
    std::string statement = misuse.statement;
    if (statement.starts_with("w: ")) statement.erase(0, 3);
    const auto at = static_cast<std::ptrdiff_t>(text.find(statement));
    const auto line = 1 + std::count(text.begin(), text.begin() + at, '\n');
    if (misuse.step_limit == 1'000'000 && misuse.code != std::string("barrier-deadlock")) {
      CHECK(has("`" + statement));
      CHECK(d.line == line);
    }
    CHECK(has("in kernel k, block (0,0,0), thread ("));
    CHECK(!d.hint.empty());
    for (const char* words : misuse.says) {
      CAPTURE(words);
      CHECK(has(words));
    }
  }
}

}  // namespace ptxloom::exec::test::misuse_test
