// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::memory_test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kPointers =
    ".reg .u64 %out, %in, %at; .reg .u32 %t, %x; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 "
    "%t, %tid.x;\n";

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 100u);
  return values;
}

/// The fault of one thread that executes these statements, with buffers of 64 bytes.
Diagnostic fault_in(const std::string& statements, const std::string& outside = {}, Launch launch = {}) {
  const Program program = program_of(kOutIn, kPointers + statements, outside);
  return fault_of([&] { run<std::uint32_t>(program, 1, 16, counting(16), launch); });
}

}  // namespace

TEST_CASE("loads extend by the sign of their type, stores cut") {
  const Program program = program_of(kOutIn, kPointers +
                                                 ".reg .s32 %a; .reg .u32 %b; .reg .s64 %c; .reg .b16 %h;\n"
                                                 "ld.global.s8 %a, [%in+3]; st.global.u32 [%out], %a;\n"
                                                 "ld.global.u8 %b, [%in+3]; st.global.u32 [%out+4], %b;\n"
                                                 "ld.global.s16 %c, [%in+2]; st.global.u64 [%out+8], %c;\n"
                                                 "ld.global.s8 %h, [%in+3]; st.global.b16 [%out+16], %h;\n"
                                                 "st.global.u8 [%out+18], %b; st.global.u8 [%out+19], %c;\n");
  const auto out = run<std::uint32_t>(program, 1, 6, std::vector<std::uint32_t>{0x8765'4321});
  CHECK(out[0] == 0xffff'ff87);
  CHECK(out[1] == 0x87);
  CHECK(out[2] == 0xffff'8765);
  CHECK(out[3] == 0xffff'ffff);
  CHECK(out[4] == 0x6587'ff87);
  CHECK(out[5] == 0xa5a5'a5a5);  // nobody wrote it
}

TEST_CASE("vectors of all widths keep their order") {
  const auto in = counting(16);
  const auto copy = [&](const std::string& declare, const std::string& load, const std::string& store) {
    return run<std::uint32_t>(program_of(kOutIn, kPointers + declare + load + store, {}, "sm_100a"), 1, 16,
                              in);
  };
  CHECK(copy(".reg .b32 %v<4>;", "ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%in+16];",
             "st.global.v4.b32 [%out], {%v3, %v2, %v1, %v0};")[0] == 107);
  CHECK(copy(".reg .b64 %v<2>;", "ld.global.v2.b64 {%v0, %v1}, [%in];",
             "st.global.v2.b64 [%out], {%v1, %v0};")[3] == 101);
  CHECK(copy(".reg .b128 %v;", "ld.global.b128 %v, [%in+32];", "st.global.b128 [%out], %v;")[3] == 111);
  CHECK(copy(".reg .b32 %v<8>;", "ld.global.v8.b32 {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}, [%in+32];",
             "st.global.v8.b32 [%out], {%v7, %v6, %v5, %v4, %v3, %v2, %v1, %v0};")[0] == 115);
  CHECK(copy(".reg .b32 %v<2>;", "ld.global.v4.b32 {%v0, _, _, %v1}, [%in];",
             "st.global.v2.b32 [%out], {%v0, %v1};")[1] == 103);
}

TEST_CASE("a store of 256 bits leaves out the elements that are _") {
  const auto out = run<std::uint32_t>(
      program_of(kOutIn,
                 kPointers +
                     ".reg .b32 %v<8>; ld.global.v8.b32 {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}, [%in]; "
                     "st.global.v4.u32 [%out], {1, 2, 3, 4}; st.global.v4.u32 [%out+16], {5, 6, 7, 8}; "
                     "st.global.v8.b32 [%out], {%v0, _, %v2, _, _, %v5, %v6, _};",
                 {}, "sm_100a"),
      1, 8, counting(8));
  CHECK(out == std::vector<std::uint32_t>{100, 2, 102, 4, 5, 105, 106, 8});
}

TEST_CASE("registers are packed and unpacked from the lowest bits up") {
  const Program program = program_of(
      kOutIn,
      kPointers +
          ".reg .b16 %h<4>; .reg .b64 %q; .reg .b128 %w; .reg .b32 %r<4>; .reg .b64 %p<2>;\n"
          "ld.global.b64 %q, [%in]; mov.b64 {%h0, %h1, %h2, %h3}, %q;\n"
          "mov.b64 %q, {%h3, %h2, %h1, %h0}; st.global.b64 [%out], %q;\n"
          "mov.b64 {_, %r0}, %q; st.global.b32 [%out+8], %r0;\n"
          "mov.b128 %w, {%q, %q}; mov.b128 {%r0, %r1, %r2, %r3}, %w; st.global.b32 [%out+12], %r2;\n");
  const auto out = run<std::uint32_t>(program, 1, 4, std::vector<std::uint32_t>{0x2222'1111, 0x4444'3333});
  CHECK(out == std::vector<std::uint32_t>{0x3333'4444, 0x1111'2222, 0x1111'2222, 0x3333'4444});
}

TEST_CASE("every thread sees its own special registers") {
  const Program program = program_of(
      ".param .u64 out",
      ".reg .u64 %out; .reg .u32 %t, %x, %y, %z, %nx, %ny, %c, %nc, %lane, %warp, %i; ld.param.u64 %out, "
      "[out];\n"
      "mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %z, %tid.z; mov.u32 %nx, %ntid.x; mov.u32 %ny, "
      "%ntid.y;\n"
      "mov.u32 %c, %ctaid.y; mov.u32 %nc, %nctaid.y; mov.u32 %lane, %laneid; mov.u32 %warp, %warpid;\n"
      "mad.lo.u32 %i, %z, %ny, %y; mad.lo.u32 %i, %i, %nx, %x; mad.lo.u32 %i, %c, 60, %i;\n"
      "mad.wide.u32 %out, %i, 8, %out; mad.lo.u32 %nc, %nc, 1000, %warp; st.global.v2.u32 [%out], {%lane, "
      "%nc};\n");
  Memory memory;
  std::vector<std::uint32_t> out(2 * 60 * 3);
  const auto parameters = pack({memory.map(out.data(), out.size() * 4)});
  program.run(memory, {.grid = {1, 3, 1}, .block = {5, 4, 3}, .parameters = parameters});
  for (std::uint32_t i = 0; i < 180; ++i) {
    CAPTURE(i);
    REQUIRE(out[2 * i] == i % 60 % 32);
    REQUIRE(out[2 * i + 1] == 3000 + i % 60 / 32);
  }
}

TEST_CASE("special registers come as vectors too") {
  const Program program = program_of(
      kOutIn,
      kPointers +
          ".reg .u32 %v<4>; mov.v4.u32 {%v0, %v1, %v2, %v3}, %ntid; mad.wide.u32 %out, %t, 16, %out;\n"
          "mov.u32 %v1, %lanemask_ge; mov.u32 %v2, %nclusterid.x; st.global.v4.u32 [%out], {%v0, %v1, %v2, "
          "%v3};\n");
  const auto out = run<std::uint32_t>(program, 33, 33 * 4);
  CHECK(std::vector(out.begin(), out.begin() + 4) == std::vector<std::uint32_t>{33, 0xffff'ffff, 1, 0});
  CHECK(out[5 * 4 + 1] == 0xffff'ffe0);
  CHECK(out[32 * 4 + 1] == 0xffff'ffff);
}

TEST_CASE("shared memory transposes a tile between warps") {
  const Program program = program_of(
      kOutIn, kPointers +
                  ".shared .align 4 .b32 tile[1056]; .reg .u32 %y, %s, %i; .reg .u64 %a;\n"
                  "mov.u32 %y, %tid.y; mad.lo.u32 %i, %y, 32, %t; mad.wide.u32 %a, %i, 4, %in; ld.global.u32 "
                  "%x, [%a];\n"
                  "mov.u32 %s, tile; mad.lo.u32 %i, %y, 33, %t; mad.lo.u32 %i, %i, 4, %s; st.shared.u32 "
                  "[%i], %x; bar.sync 0;\n"
                  "mad.lo.u32 %i, %t, 33, %y; mad.lo.u32 %i, %i, 4, %s; ld.shared.u32 %x, [%i];\n"
                  "mad.lo.u32 %i, %y, 32, %t; mad.wide.u32 %a, %i, 4, %out; st.global.u32 [%a], %x;\n");
  Memory memory;
  const auto in = counting(1024);
  std::vector<std::uint32_t> out(1024), source = in;
  const auto parameters = pack({memory.map(out.data(), 4096), memory.map(source.data(), 4096)});
  program.run(memory, {.block = {32, 32, 1}, .parameters = parameters});
  for (std::size_t i = 0; i < 1024; ++i) REQUIRE(out[i] == in[i % 32 * 32 + i / 32]);
}

TEST_CASE("generic addresses reach every space") {
  const Program program =
      program_of(kOutIn,
                 kPointers +
                     ".shared .align 8 .b32 s[4]; .local .align 8 .b32 l[4]; .reg .u64 %g;\n"
                     "mov.u64 %at, s; cvta.shared.u64 %g, %at; add.u32 %x, %t, 7; st.u32 [%g+4], %x; "
                     "ld.shared.u32 %x, [s+4]; st.u32 [%out], %x;\n"
                     "mov.u64 %at, l; cvta.local.u64 %g, %at; st.u32 [%g+8], 9; ld.local.u32 %x, [l+8]; "
                     "st.u32 [%out+4], %x;\n"
                     "mov.u64 %at, c; cvta.const.u64 %g, %at; ld.u32 %x, [%g+4]; st.u32 [%out+8], %x;\n"
                     "cvta.to.global.u64 %g, %out; mov.u64 %at, v; ld.global.u32 %x, [%at+4]; st.global.u32 "
                     "[%g+12], %x;\n",
                 ".const .align 4 .b32 c[2] = {1, 77}; .global .align 4 .b32 v[2] = {1, 78};");
  CHECK(run<std::uint32_t>(program, 1, 4) == std::vector<std::uint32_t>{7, 9, 77, 78});
}

TEST_CASE("a global variable of the module keeps what a run left in it") {
  const Program program = program_of(
      kOutIn,
      kPointers +
          "ld.global.u32 %x, [v]; add.u32 %x, %x, 1; st.global.u32 [v], %x; st.global.u32 [%out], %x;\n",
      ".global .align 4 .u32 v = 5;");
  CHECK(run<std::uint32_t>(program, 1, 1)[0] == 6);
  CHECK(run<std::uint32_t>(program, 1, 1)[0] == 7);
}

TEST_CASE("dynamic shared memory lies behind the static") {
  const Program program =
      program_of(kOutIn,
                 kPointers +
                     ".shared .align 4 .b32 s[3]; mov.u32 %x, d; st.global.u32 [%out], %x; st.shared.u32 "
                     "[d+60], 3; ld.shared.u32 %x, [d+60]; st.global.u32 [%out+4], %x;\n",
                 ".extern .shared .align 128 .b8 d[];");
  const auto out =
      run<std::uint32_t>(program, 1, 2, std::vector<std::uint32_t>{}, Launch{.shared_bytes = 64});
  CHECK(out == std::vector<std::uint32_t>{128, 3});
  const Program plain =
      program_of(kOutIn, kPointers + ".shared .align 4 .b32 s[5]; mov.u32 %x, d; st.global.u32 [%out], %x;\n",
                 ".extern .shared .b8 d[];");
  CHECK(run<std::uint32_t>(plain, 1, 1)[0] == 32);
}

TEST_CASE("parameters of all sizes lie at their alignment") {
  const Program program = program_of(
      ".param .u8 a, .param .u16 b, .param .f64 c, .param .u32 d, .param .align 16 .b8 e[20], .param .u64 "
      "out",
      ".reg .u64 %out, %c; .reg .u32 %x, %y; ld.param.u64 %out, [out]; ld.param.u16 %x, [b]; ld.param.b64 "
      "%c, [c];\n"
      "st.global.u32 [%out], %x; st.global.b64 [%out+8], %c; ld.param.u32 %x, [d]; ld.param.u32 %y, [e+16]; "
      "st.global.v2.u32 [%out+16], {%x, %y};\n");
  Memory memory;
  std::vector<std::uint32_t> out(6);
  struct alignas(16) Aggregate {
    std::uint32_t words[5];
  };
  std::vector<std::byte> parameters(64);
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(parameters.data() + at, &value, sizeof value);
  };
  put(0, std::uint8_t{1});
  put(2, std::uint16_t{2});
  put(8, 3.0);
  put(16, std::uint32_t{4});
  put(48, std::uint32_t{5});
  put(56, memory.map(out.data(), 24));
  program.run(memory, {.parameters = parameters});
  CHECK(out[0] == 2);
  CHECK(out[3] == 0x4008'0000);
  CHECK(out[4] == 4);
  CHECK(out[5] == 5);
}

TEST_CASE("a global access out of bounds names instruction, thread and allocation") {
  const Program program =
      program_of(kOutIn, kPointers + "mad.wide.u32 %at, %t, 4, %in; ld.global.u32 %x, [%at+8];\n");
  const Diagnostic d = fault_of([&] { run<std::uint32_t>(program, 48, 16, counting(40)); });
  CHECK(d.code == "out-of-bounds");
  CHECK_THAT(d.message, ContainsSubstring("ld.global.u32") &&
                            ContainsSubstring("block (0,0,0), thread (38,0,0) (warp 1, lane 6)"));
  CHECK_THAT(d.message, ContainsSubstring("reads 4 bytes") &&
                            ContainsSubstring("in + 0xa0, 0 bytes past the end of in (160 bytes)"));
  CHECK(d.line == 8);
  CHECK_FALSE(d.hint.empty());
}

TEST_CASE("each misuse of memory has its own code") {
  CHECK(fault_in("st.global.u32 [%out+64], 1;").code == "out-of-bounds");
  CHECK(fault_in("st.global.u32 [%out+-4], 1;").code == "out-of-bounds");
  CHECK_THAT(fault_in("st.global.u32 [%out+-4], 1;").message,
             ContainsSubstring("out - 0x4, 4 bytes before out (64 bytes), allocated as argument 1 (out)"));
  CHECK_THAT(fault_in("st.global.v2.u32 [%out+64], {1, 2};").message, ContainsSubstring("writes 8 bytes"));
  CHECK(fault_in("ld.global.u8 %x, [%in+64];").code == "out-of-bounds");
  CHECK(fault_in("ld.u8 %x, [%in+64];").code == "out-of-bounds");
  CHECK(fault_in("ld.global.u32 %x, [%in+2];").code == "misaligned");
  CHECK(fault_in(".reg .u32 %v<4>; ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%in+8];").code == "misaligned");
  CHECK(fault_in("mov.u64 %at, 0; ld.global.u32 %x, [%at+16];").code == "null-address");
  CHECK(fault_in("mov.u64 %at, 0; ld.u32 %x, [%at];").code == "null-address");
  CHECK(fault_in(".shared .align 4 .b32 s[4]; ld.shared.u32 %x, [s+16];").code == "out-of-bounds");
  CHECK_THAT(fault_in(".shared .align 4 .b32 s[4]; ld.shared.u32 %x, [s+16];").message,
             ContainsSubstring("16 static and 0 dynamic"));
  CHECK(fault_in("mov.u64 %at, c; cvta.const.u64 %at, %at; st.u32 [%at], 1;",
                 ".const .align 4 .b32 c[2] = {1, 2};")
            .code == "read-only");
  CHECK(fault_in(".local .align 4 .b32 l[4]; st.local.u32 [l+16], 1;").code == "out-of-bounds");
}

TEST_CASE("a released allocation is not reached again") {
  const Program program = program_of(
      ".param .u64 p", ".reg .u64 %p; .reg .u32 %x; ld.param.u64 %p, [p]; ld.global.u32 %x, [%p+4];\n");
  Memory memory;
  const auto parameters = pack({memory.allocate(64, "old")});
  CHECK_NOTHROW(program.run(memory, {.parameters = parameters}));
  std::uint64_t address;
  std::memcpy(&address, parameters.data(), 8);
  memory.release(address);
  const Diagnostic d = fault_of([&] { program.run(memory, {.parameters = parameters}); });
  CHECK(d.code == "out-of-bounds");
  CHECK_THAT(d.message, ContainsSubstring("within a released allocation old"));
  CHECK(fault_of([&] { memory.release(address); }).code == "unknown-allocation");
  CHECK(fault_of([&] { static_cast<void>(memory.at(address, 4)); }).code == "out-of-bounds");
}

TEST_CASE("an address of another memory is out of bounds, however many there are") {
  const Program program = program_of(
      ".param .u64 p", ".reg .u64 %p; .reg .u32 %x; ld.param.u64 %p, [p]; ld.global.u32 %x, [%p+4];\n");
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<std::uint64_t> addresses;
  for (int i = 0; i < 5; ++i) {
    Memory& memory = *memories.emplace_back(std::make_unique<Memory>());
    for (int n = 0; n < 200; ++n) addresses.push_back(memory.allocate(64));  // more than fit into one range
  }
  const std::size_t of_each = addresses.size() / memories.size();
  for (std::size_t i = 0; i < addresses.size(); i += 37) {
    const auto parameters = pack({addresses[i]});
    for (std::size_t m = 0; m < memories.size(); ++m) {
      CAPTURE(i, m);
      const auto work = [&] { program.run(*memories[m], {.parameters = parameters}); };
      if (m == i / of_each) {
        CHECK_NOTHROW(work());
      } else {
        CHECK(fault_of(work).code == "out-of-bounds");
      }
    }
  }
  std::byte byte{};
  CHECK(fault_of([&] { memories[0]->map(&byte, SIZE_MAX); }).code == "out-of-device-memory");
}

// Sizes that 32 bits cannot hold, which would leave little or nothing of the array.
TEST_CASE("an array that the executor has no room for is refused") {
  for (const char* declaration :
       {".global .align 4 .b32 x[0x8000000001];", ".const .align 4 .b32 x[0x40000001];"}) {
    CAPTURE(declaration);
    CHECK(fault_of([&] { program_of("", "", declaration); }).code == "out-of-device-memory");
  }
  for (const char* declaration :
       {".local .align 4 .b32 x[0x40000001];", ".shared .align 4 .b32 x[0x40000001];",
        ".local .align 4 .b32 x[0x20000001];", ".shared .b8 y[16]; .shared .align 4 .b32 x[0x3ffffffd];"}) {
    CAPTURE(declaration);
    const Diagnostic fault = fault_of([&] { program_of("", declaration); });
    CHECK(fault.code == "out-of-device-memory");
    CHECK_THAT(fault.message, ContainsSubstring("variable x"));
  }
}

TEST_CASE("a launch that does not fit the kernel is refused") {
  const Program program = program_of(".param .u64 p", "");
  Memory memory;
  const auto parameters = pack({1});
  CHECK(fault_of([&] { program.run(memory, {}); }).code == "launch-parameters");
  CHECK(fault_of([&] { program.run(memory, {.block = {1025, 1, 1}, .parameters = parameters}); }).code ==
        "launch-size");
  CHECK(fault_of([&] { program.run(memory, {.grid = {1, 0, 1}, .parameters = parameters}); }).code ==
        "launch-size");
  CHECK(fault_of([&] { program.run(memory, {.shared_bytes = 1 << 20, .parameters = parameters}); }).code ==
        "launch-shared");
  const auto directive = [&](const std::string& text) {
    std::string ptx = kernel_text("", "");
    ptx.insert(ptx.find("{"), text);
    return Program(module_of(ptx), "k");
  };
  CHECK(fault_of([&] { directive(".reqntid 64, 2, 1").run(memory, {.block = {128, 1, 1}}); }).code ==
        "launch-size");
  CHECK(fault_of([&] { directive(".maxntid 64, 1, 1").run(memory, {.block = {65, 1, 1}}); }).code ==
        "launch-size");
  CHECK_NOTHROW(directive(".maxntid 64, 1, 1").run(memory, {.block = {8, 8, 1}}));
  CHECK(fault_of([&] { Program(module_of(kernel_text("", "")), "nothing"); }).code == "unknown-kernel");
}

TEST_CASE("the alignment that a pointer's target has is not that of the parameter") {
  const Program program =
      program_of(".param .u32 n, .param .u64 .ptr .global .align 1 out",
                 ".reg .u64 %o; .reg .u32 %n; ld.param.u64 %o, [out]; ld.param.u32 %n, [n];\n"
                 "st.global.u32 [%o], %n;");
  Memory memory;
  std::uint32_t out = 0;
  const auto parameters = pack({7, memory.map(&out, sizeof out)});
  program.run(memory, {.parameters = parameters});
  CHECK(out == 7);
}

}  // namespace ptxloom::exec::test::memory_test
