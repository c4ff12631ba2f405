// SPDX-License-Identifier: Apache-2.0
// Memory that nobody has written: local arrays, what calls pass, allocations, and where reports say that it
// comes from.
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::unwritten_test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kHead =
    ".reg .u64 %o, %in, %a, %b, %f; .reg .u32 %t, %x, %y, %s; .reg .b16 %h; .reg .pred %p; .reg .f32 %d; "
    ".local .align 16 .b8 mine[32]; .shared .align 128 .b8 tile[256]; .shared .align 8 .b64 bar;\n"
    "ld.param.u64 %o, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o; "
    "mad.wide.u32 %in, "
    "%t, 4, %in; mov.u32 %x, 5;\n";
const std::string kStore = "st.global.u32 [%o], %x;\n";

/// Two buffers of 64 words, which nobody has written.
struct Buffers {
  Memory memory;
  std::uint64_t out = memory.allocate(256, "results"), in = memory.allocate(256);

  std::vector<Finding> findings_of(const std::string& body, const std::string& outside = {},
                                   std::uint32_t threads = 32, const Print& print = {}) {
    INFO(body);
    Findings findings;
    launch(body, outside, {.block = {threads, 1, 1}, .findings = &findings, .print = print});
    return findings.all();
  }
  void launch(const std::string& body, const std::string& outside, Launch launch) {
    const auto parameters = pack({out, in});
    launch.parameters = parameters;
    program_of(kOutIn, kHead + body, outside).run(memory, launch);
  }
  void write_in() { std::memset(memory.at(in, 256), 1, 256); }
};

std::vector<Finding> findings_of(const std::string& body, const std::string& outside = {}) {
  return Buffers().findings_of(body, outside);
}

/// The one finding of the code "undefined-value"; its text.
std::string only(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) UNSCOPED_INFO(finding.code << ": " << finding.what);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "undefined-value");
  return findings[0].what;
}

}  // namespace

TEST_CASE("what a copy brings is no padding, even where padding was") {
  const std::string padding =
      "st.shared.u64 [tile], %o; st.shared.u32 [tile+8], %t; ld.shared.v2.u64 {%a, %b}, [tile]; "
      "st.shared.v2.u64 [tile+16], {%a, %b};";
  const std::string out = "ld.shared.v2.u64 {%a, %b}, [tile+16]; st.global.v2.u64 [%o], {%a, %b};";
  const std::string copy = "cp.async.ca.shared.global [tile+28], [%in], 4; cp.async.wait_all;\n";
  CHECK(Buffers().findings_of(padding + out, {}, 1).empty());
  only(Buffers().findings_of(padding + copy + out, {}, 1));
  Buffers written;
  written.write_in();
  CHECK(written.findings_of(padding + copy + out, {}, 1).empty());
}

TEST_CASE("bytes of a local array that nobody has written are undefined, and no others") {
  for (const char* load :
       {"ld.local.u32 %x, [mine+8];", "mov.u64 %a, mine; cvta.local.u64 %a, %a; ld.u32 %x, [%a+8];",
        "ld.local.v2.u32 {%y, %x}, [mine+8]; mov.u32 %x, %y;"}) {
    CAPTURE(load);
    const auto findings = findings_of(load + kStore);
    CHECK_THAT(only(findings),
               ContainsSubstring("loads them from local memory `mine` + 0x8 of kernel k, which nobody "
                                 "has written"));
    REQUIRE(findings[0].other);
    CHECK_THAT(findings[0].other->text, ContainsSubstring("ld."));
    CHECK(findings[0].count == 32);
    CHECK(findings_of("st.local.u64 [mine+8], %o; " + std::string(load) + kStore).empty());
    CHECK(findings_of(std::string(load) + "mov.u32 %x, 1;" + kStore).empty());  // loaded, but not used
  }
  CHECK(
      findings_of("st.local.u8 [mine], %t; ld.local.u32 %x, [mine]; and.b32 %x, %x, 255;" + kStore).empty());
  CHECK(
      findings_of("st.local.u8 [mine], %t; ld.local.u32 %x, [mine]; and.b32 %x, %x, 256;" + kStore).size() ==
      1);
  // Only some lanes write.
  const auto some = findings_of(
      "setp.lt.u32 %p, %t, 20; @%p st.local.u32 [mine+4], %t; ld.local.u32 %x, [mine+4];" + kStore);
  CHECK_THAT(only(some), ContainsSubstring("`mine` + 0x4"));
  CHECK(some[0].count == 12);
  // An undefined value that is stored keeps its origin.
  CHECK_THAT(
      only(findings_of("ld.local.u32 %y, [mine]; st.local.u32 [mine+16], %y; ld.local.u32 %x, [mine+16];" +
                       kStore)),
      ContainsSubstring("`ld.local.u32 %y, [mine];`") && ContainsSubstring("`mine` + 0x0"));
  CHECK_THAT(only(findings_of(
                 "ld.local.u32 %y, [mine+4]; st.shared.u32 [tile], 0; bar.warp.sync -1; mad.lo.u32 %s, %t, "
                 "4, 128; .reg .u32 %base; mov.u32 %base, tile; add.u32 %s, %s, %base; st.shared.u32 [%s], "
                 "%y; ld.shared.u32 %x, [%s];" +
                 kStore)),
             ContainsSubstring("`ld.local.u32 %y, [mine+4];`"));
}

TEST_CASE("calls pass undefined bits, and results that nobody sets are undefined") {
  const std::string functions =
      ".func (.param .b32 r) first(.param .align 4 .b8 p[8]) { .reg .u32 %v; ld.param.u32 %v, [p]; "
      "st.param.b32 [r], "
      "%v; ret; }\n"
      ".func (.param .b32 r) nothing(.param .b32 p) { ret; }\n"
      ".func (.reg .u32 %r) same(.reg .u32 %a) { mov.u32 %r, %a; ret; }\n"
      ".func (.reg .u32 %r) none(.reg .u32 %a) { ret; }\n";
  const auto call_first = [](const std::string& stores) {
    return "{ .param .align 4 .b8 p[8]; .param .b32 r; " + stores +
           "call (r), first, (p); ld.param.b32 %x, [r]; }\n" + kStore;
  };
  CHECK(findings_of(call_first("st.param.b32 [p], %t; st.param.b32 [p+4], %t;"), functions).empty());
  CHECK(findings_of(call_first("st.param.b32 [p], %t;"), functions).empty());  // the other half is not used
  CHECK_THAT(only(findings_of(call_first("st.param.b32 [p+4], %t;"), functions)),
             ContainsSubstring("local memory `p` + 0x0 of function first"));
  CHECK_THAT(only(findings_of("ld.local.u32 %y, [mine];" + call_first("st.param.b32 [p], %y;"), functions)),
             ContainsSubstring("`ld.local.u32 %y, [mine];`"));
  CHECK_THAT(only(findings_of(
                 "{ .param .b32 p; .param .b32 r; st.param.b32 [p], 1; call (r), nothing, (p); ld.param.b32 "
                 "%x, [r]; }\n" +
                     kStore,
                 functions)),
             ContainsSubstring("local memory `r` + 0x0 of kernel k"));
  CHECK(findings_of("call (%x), same, (%t);" + kStore, functions).empty());
  CHECK(findings_of("call (%x), same, (%y);" + kStore, functions).size() == 1);
  CHECK(findings_of("call (%x), none, (%t);" + kStore, functions).size() == 1);
  CHECK(findings_of("@%p call (%x), same, (%t);" + kStore, functions).size() == 1);  // the guard
}

TEST_CASE("the variables of each call of a function that calls itself begin undefined") {
  // The first call sets its array, the second one does not.
  const std::string f =
      ".func (.param .b32 r) f(.param .b32 n) { .local .align 4 .b8 own[16]; .reg .u32 %n, %v, %w; .reg "
      ".pred %p; "
      "ld.param.u32 %n, [n]; setp.eq.u32 %p, %n, 0; @!%p st.local.u32 [own+4], %n; ld.local.u32 %v, [own+4]; "
      "@%p bra END;\n"
      "{ .param .b32 p; .param .b32 q; sub.u32 %w, %n, 1; st.param.b32 [p], %w; call (q), f, (p); "
      "ld.param.b32 %w, [q]; }\n"
      "LOOK\nEND: st.param.b32 [r], %v; ret; }\n";
  const auto with = [&](const std::string& look) {
    std::string text = f;
    text.replace(text.find("LOOK"), 4, look);
    return findings_of(
        "{ .param .b32 p; .param .b32 r; st.param.b32 [p], 1; call (r), f, (p); ld.param.b32 %x, [r]; }\n" +
            kStore,
        text);
  };
  CHECK(with("").empty());
  CHECK_THAT(only(with("add.u32 %v, %v, %w;")), ContainsSubstring("local memory `own` + 0x4 of function f"));
  CHECK_THAT(only(findings_of("alloca.u64 %a, 16; ld.local.u32 %x, [%a];" + kStore)),
             ContainsSubstring("local memory of alloca"));
}

TEST_CASE("an allocation is undefined until the host or a kernel writes it") {
  const std::string copy = "ld.global.u32 %x, [%in];" + kStore;
  Buffers buffers;
  const auto findings = buffers.findings_of(copy);
  CHECK_THAT(only(findings),
             ContainsSubstring("`ld.global.u32 %x, [%in];`") &&
                 ContainsSubstring("loads them from buffer 2 + 0x0, allocated as argument 2 (in), which "
                                   "nobody has written"));
  CHECK(findings[0].count == 32);
  // The store counts as one that writes.
  CHECK(buffers.findings_of("ld.global.u32 %x, [%o]; add.u32 %x, %x, 1;" + kStore).empty());
  CHECK_THAT(only(buffers.findings_of("ld.global.u32 %x, [%o+128];" + kStore)),
             ContainsSubstring("results + 0x80, allocated as argument 1 (out)"));
  buffers.write_in();
  CHECK(buffers.findings_of(copy).empty());

  Buffers half;
  std::memset(half.memory.at(half.in, 64), 1, 64);
  CHECK(half.findings_of(copy)[0].count == 16);
  Buffers by_launch;  // which the judge does not follow
  by_launch.launch("", "", {.block = {32, 1, 1}});
  CHECK(by_launch.findings_of(copy).empty());
  CHECK(Buffers().findings_of("ld.global.u32 %x, [%in]; mov.u32 %x, 3;" + kStore).empty());
}

TEST_CASE("wmma.load of global memory that nobody has written") {
  const std::string load =
      "ld.param.u64 %in, [in]; wmma.load.a.sync.aligned.row.m8n32k16.global.s8 {%x}, [%in];" + kStore;
  Buffers buffers;
  const auto findings = buffers.findings_of(load);
  CHECK_THAT(only(findings),
             ContainsSubstring("loads them from buffer 2 + 0x0, allocated as argument 2 (in)"));
  CHECK(findings[0].count == 32);
  std::memset(buffers.memory.at(buffers.in, 64), 1, 64);
  const auto half = buffers.findings_of(load);
  CHECK_THAT(only(half), ContainsSubstring("buffer 2 + 0x40"));
  CHECK(half[0].count == 16);
  buffers.write_in();
  CHECK(buffers.findings_of(load).empty());
}

TEST_CASE("atomic operations on memory that nobody has written") {
  CHECK_THAT(
      only(findings_of("red.global.add.u32 [%in], 1;")),
      ContainsSubstring("it updates buffer 2 + 0x0, allocated as argument 2 (in), which nobody has written"));
  CHECK(only(findings_of("atom.global.cas.b32 %x, [%in], 1, 2; mov.u32 %x, 2;" + kStore))
            .starts_with("it updates"));
  CHECK(findings_of("atom.global.exch.b32 %x, [%in], 1; mov.u32 %x, 2;" + kStore).empty());
  CHECK_THAT(only(findings_of("atom.global.exch.b32 %x, [%in], 1;" + kStore)),
             ContainsSubstring("atom.global.exch"));
  CHECK(findings_of("st.global.u32 [%in], 7; red.global.add.u32 [%in], 1; ld.global.u32 %x, [%in];" + kStore)
            .empty());
}

TEST_CASE("copies take undefined bytes along") {
  const auto takes_along = [](const std::string& code, const char* copy) {
    Buffers buffers;
    CHECK_THAT(only(buffers.findings_of(code)),
               ContainsSubstring(copy) && ContainsSubstring("argument 2 (in)"));
    buffers.write_in();
    CHECK(buffers.findings_of(code).empty());
  };
  const std::string cp =
      "mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s; cp.async.ca.shared.global [%s], [%in], 4; "
      "cp.async.commit_group; "
      "cp.async.wait_group 0; ld.shared.u32 %x, [%s];" +
      kStore;
  takes_along(cp, "cp.async");

  const std::string bulk =
      "mov.u32 %s, tile; ld.param.u64 %in, [in]; setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [bar], "
      "1; @%p "
      "fence.proxy.async; bar.sync 0;\n.reg .b64 %state; @%p "
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx"
      "::bytes [tile], [%in], 128, [bar]; @%p mbarrier.arrive.expect_tx.shared.b64 %state, [bar], 128;\n"
      "WAIT: .reg .pred %q; mbarrier.try_wait.parity.shared.b64 %q, [bar], 0; @!%q bra WAIT; mad.lo.u32 %s, "
      "%t, 4, %s; "
      "ld.shared.u32 %x, [%s];" +
      kStore;
  takes_along(bulk, "cp.async.bulk");

  // What a bulk copy writes is written.
  const std::string out =
      "mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s; st.shared.u32 [%s], %t; fence.proxy.async; bar.sync 0; "
      "setp.eq.u32 %p, "
      "%t, 0; @%p cp.async.bulk.global.shared::cta.bulk_group [%in], [tile], 128; @%p "
      "cp.async.bulk.commit_group; @%p "
      "cp.async.bulk.wait_group 0;";
  Buffers written;
  CHECK(written.findings_of(out).empty());
  CHECK(written.findings_of("ld.global.u32 %x, [%in];" + kStore).empty());
}

TEST_CASE("a race is reported instead of the undefined value that it causes") {
  // Lane 0 of the other warp writes what this warp may have read before.
  const auto findings =
      Buffers().findings_of("setp.ge.u32 %p, %t, 32; @%p bra WRITE; ld.global.u32 %x, [%in+128];" + kStore +
                                "bra END; WRITE: st.global.u32 "
                                "[%in], 4; END:",
                            "", 64);
  for (const Finding& finding : findings) UNSCOPED_INFO(finding.code << ": " << finding.what);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "data-race");
}

TEST_CASE("a shuffle from a lane that does not take part says so") {
  CHECK_THAT(only(findings_of(
                 "setp.ge.u32 %p, %t, 20; @%p exit; shfl.sync.bfly.b32 %x, %t, 16, 31, 0xfffff;" + kStore)),
             ContainsSubstring("`shfl.sync.bfly.b32 %x, %t, 16, 31, 1048575;`") &&
                 ContainsSubstring("takes them from lane 20, which has exited"));
  CHECK_THAT(
      only(findings_of("setp.ge.u32 %p, %t, 16; @%p bra END; shfl.sync.idx.b32 %x, %t, 18, 31, 0xffff;" +
                       kStore + "END:")),
      ContainsSubstring("takes them from lane 18, which does not take part"));
}

TEST_CASE("printf of a value that nobody has written") {
  const std::string
      declared =
          ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
          ".global .align 1 .b8 text[6] = {37, 117, 37, 117, 32, 0};\n",
      call =
          "mov.u64 %a, mine; cvta.local.u64 %a, %a; mov.u64 %f, text; cvta.global.u64 %f, %f; { .param "
          ".b64 p; .param .b64 q; .param .b32 r; st.param.b64 [p], %f; st.param.b64 [q], %a; call (r), "
          "vprintf, (p, q); }\n";
  std::string printed;
  const auto print = [&](const Printed& text) { printed += text.text; };
  const std::string both = "st.local.u32 [mine], 1; st.local.u32 [mine+4], %t;";
  CHECK(Buffers().findings_of(both + call, declared, 1, print).empty());
  CHECK(printed == "10 ");
  CHECK_THAT(only(Buffers().findings_of("st.local.u32 [mine], 1;" + call, declared, 1, print)),
             ContainsSubstring("it uses local memory `mine` + 0x4 of kernel k, which nobody has written"));
  CHECK_THAT(only(Buffers().findings_of(
                 "ld.global.u32 %y, [%in]; st.local.u32 [mine], 1; st.local.u32 [mine+4], %y;" + call,
                 declared, 1, print)),
             ContainsSubstring("`ld.global.u32 %y, [%in];`") && ContainsSubstring("argument 2 (in)"));
}

TEST_CASE("an atomic operation on shared memory that nobody has written is where the value comes from") {
  const std::string add = "atom.shared.add.u32 %x, [tile+4], 1;", later = "ld.shared.u32 %x, [tile+4];";
  for (const std::string& body : {add + kStore, add + later + kStore})
    CHECK_THAT(only(Buffers().findings_of(body, {}, 1)),
               ContainsSubstring("`atom.shared.add.u32 %x, [tile+4], 1;`") &&
                   ContainsSubstring("updates shared memory that nobody has written"));
  CHECK(Buffers().findings_of("st.shared.u32 [tile+4], 0;" + add + later + kStore, {}, 1).empty());
  const std::string given =
      "ld.local.u32 %y, [mine+8]; st.shared.u32 [tile+4], 0; red.shared.add.u32 [tile+4], %y;";
  CHECK_THAT(only(Buffers().findings_of(given + later + kStore, {}, 1)),
             ContainsSubstring("`ld.local.u32 %y, [mine+8];`"));
}

TEST_CASE("a race is reported instead of what an atomic operation or a matrix product make of it") {
  const std::string races =
      "mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s; .reg .u32 %peer; xor.b32 %peer, %s, 128; .reg .f32 %c<4>; "
      "mov.f32 %c0, 0f00000000; ";
  const std::string product =
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%c0, %c1, %c2, %c3}, {%x, %x}, {%x}, {%c0, %c0, "
      "%c0, "
      "%c0}; st.global.f32 [%o], %c0;";
  for (const std::string& reads :
       {"atom.shared.add.u32 %x, [%peer], 1;" + kStore, "ld.shared.u32 %x, [%peer];" + product}) {
    const auto findings = Buffers().findings_of(races + "st.shared.u32 [%s], %t;" + reads, {}, 64);
    for (const Finding& finding : findings) UNSCOPED_INFO(finding.code << ": " << finding.what);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].code == "data-race");
  }
}

TEST_CASE("a call of a function whose address is undefined is that, and no wrong address") {
  const std::string call =
      "proto: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%x), %f, (%t), proto;" + kStore;
  const std::string functions = ".func (.reg .u32 %r) same(.reg .u32 %v) { mov.u32 %r, %v; ret; }\n";
  const auto findings = findings_of("ld.shared.u64 %f, [tile];" + call, functions);
  CHECK_THAT(only(findings), ContainsSubstring("the address that it calls") &&
                                 ContainsSubstring("`ld.shared.u64 %f, [tile];`"));
  CHECK(findings[0].fatal);
  CHECK(findings_of("mov.u64 %f, same; " + call, functions).empty());
  // From a table at an undefined address: both come from the load of that.
  const auto table = findings_of("ld.shared.u64 %a, [tile]; ld.global.u64 %f, [%a];" + call, functions);
  REQUIRE(table.size() == 2);
  for (const Finding& finding : table) {
    CHECK(finding.code == "undefined-value");
    REQUIRE(finding.other);
    CHECK(finding.other->text == "ld.shared.u64 %a, [tile];");
  }
}

TEST_CASE("an access beside a buffer names it, as other findings do") {
  const auto findings = Buffers().findings_of("ld.global.u32 %x, [%in+308];" + kStore, {}, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "out-of-bounds");
  CHECK(findings[0].address == "buffer 2 + 0x134");
  CHECK_THAT(findings[0].what,
             ContainsSubstring("reads 4 bytes at 0x") &&
                 ContainsSubstring("of global memory: buffer 2 + 0x134, 52 bytes past the "
                                   "end of buffer 2 (256 bytes), allocated as argument 2 (in)"));
}

}  // namespace ptxloom::exec::test::unwritten_test
