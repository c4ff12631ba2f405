// SPDX-License-Identifier: Apache-2.0
// What `run --arg` gives a kernel's parameters: integers of either sign, null, structs by value, and what is
// refused.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "cli/tool.hpp"
#include "ptxloom/npy.hpp"

namespace ptxloom::test::arguments_test {
namespace {

using Catch::Matchers::ContainsSubstring;

// As nvcc writes it: pointers are .u64, structs are arrays of bytes. Each parameter's bytes go to the output.
constexpr const char* kEcho = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry echo(
    .param .u64 echo_param_0,
    .param .u32 echo_param_1,
    .param .u8 echo_param_2,
    .param .s16 echo_param_3,
    .param .b32 echo_param_4,
    .param .f32 echo_param_5,
    .param .align 8 .b8 echo_param_6[16],
    .param .u64 .ptr .global .align 4 echo_param_7
)
{
    .reg .b16 %h<2>; .reg .b32 %r<3>; .reg .b64 %rd<5>; .reg .pred %p;
    ld.param.u64 %rd0, [echo_param_0];
    ld.param.u32 %r0, [echo_param_1]; st.global.u32 [%rd0], %r0;
    ld.param.u8 %h0, [echo_param_2]; st.global.u8 [%rd0+4], %h0;
    ld.param.u16 %h1, [echo_param_3]; st.global.u16 [%rd0+6], %h1;
    ld.param.u32 %r1, [echo_param_4]; st.global.u32 [%rd0+8], %r1;
    ld.param.u32 %r2, [echo_param_5]; st.global.u32 [%rd0+12], %r2;
    ld.param.u64 %rd1, [echo_param_6]; st.global.u64 [%rd0+16], %rd1;
    ld.param.u64 %rd2, [echo_param_6+8]; st.global.u64 [%rd0+24], %rd2;
    ld.param.u64 %rd3, [echo_param_7]; st.global.u64 [%rd0+32], %rd3;
    setp.eq.u64 %p, %rd3, 0;
    @%p bra done;
    ld.global.u32 %r0, [%rd3]; st.global.u32 [%rd0+40], %r0;
done:
    ret;
}
)";

// An optional bias that is read whether it is there or not.
constexpr const char* kTrusting = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry trusting(.param .u64 bias, .param .u64 out)
{
    .reg .b32 %r; .reg .b64 %rd<2>;
    ld.param.u64 %rd0, [bias]; ld.param.u64 %rd1, [out];
    ld.global.u32 %r, [%rd0]; st.global.u32 [%rd1], %r;
    ret;
}
)";

struct Echo {
  std::uint32_t word = 0;
  std::uint8_t byte = 0, gap = 0;
  std::uint16_t half = 0;
  std::uint32_t bits = 0;
  float number = 0;
  std::uint64_t first = 0, second = 0, pointer = 0;
};

class Files {
 public:
  Files() {
    write_text(folder_ / "echo.ptx", kEcho);
    write_text(folder_ / "trusting.ptx", kTrusting);
    write_npy(folder_ / "x.npy", {.dtype = "<i4", .shape = {1}, .bytes = std::vector<std::byte>(4)});
  }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  /// The arguments behind the output.
  ToolResult run(const std::vector<std::string>& rest) const {
    std::vector<std::string> words = {"run", path("echo.ptx"), "--device", "cpu",   "--grid",
                                      "1",   "--block",        "1",        "--arg", out()};
    for (const std::string& argument : rest) words.insert(words.end(), {"--arg", argument});
    return run_tool(words);
  }

  Echo echo(const std::vector<std::string>& rest) const {
    const ToolResult result = run(rest);
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    Echo echo;
    std::memcpy(&echo, read_npy(folder_ / "y.npy").bytes.data(), sizeof echo);
    return echo;
  }

 private:
  std::string out() const { return "out=b8[44]:" + path("y.npy"); }

  TemporaryFolder folder_;
};

const std::vector<std::string> kGood = {
    "u32=7", "u8=200", "s16=-2", "b32=0x80000001", "f32=-2.5", "bytes=000102030405060708090a0b0c0d0eff",
    "null"};

}  // namespace

TEST_CASE("run --arg: integers of either sign fit parameters of their size, as do bits, structs and null") {
  const Files files;
  const Echo good = files.echo(kGood);
  CHECK(good.word == 7);
  CHECK(good.byte == 200);
  CHECK(good.half == 0xfffe);
  CHECK(good.bits == 0x80000001);
  CHECK(good.number == -2.5F);
  CHECK(good.first == 0x0706050403020100);
  CHECK(good.second == 0xff0e0d0c0b0a0908);
  CHECK(good.pointer == 0);

  const Echo other = files.echo({"s32=-5", "s8=-1", "u16=65535", "s32=-2147483648", "b32=0x40490fdb",
                                 "bytes=000102030405060708090a0b0c0d0eff", "null"});
  CHECK(other.word == 0xffff'fffb);
  CHECK(other.byte == 0xff);
  CHECK(other.half == 0xffff);
  CHECK(other.bits == 0x8000'0000);
  CHECK(other.number == 3.14159274F);
  CHECK(files
            .echo({"b32=0xfffffffb", "b8=7", "b16=9", "f32=1.5", "f32=0x7fc00000",
                   "bytes=000102030405060708090a0b0c0d0eff", "null"})
            .bits == 0x3fc0'0000);
}

TEST_CASE("run --arg: one --arg takes several, null among them, by name too") {
  const Files files;
  const ToolResult result =
      run_tool({"run", "--arg", "echo_param_7=null", "out=b8[44]:" + files.path("y.npy"), "u32=1", "u8=2",
                "s16=3", "b32=4", "f32=5", "bytes=00000000000000000000000000000000", "--device", "cpu",
                "--grid", "1", "--block", "1", files.path("echo.ptx")});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  const ToolResult in_order =
      run_tool({"run", "--arg", "null", "out=u32[1]:" + files.path("z.npy"), "--device", "cpu", "--grid", "1",
                "--block", "1", files.path("trusting.ptx")});
  CAPTURE(in_order.err);
  CHECK(in_order.code == 1);
}

TEST_CASE("run --arg null: the instruction that reads it is found") {
  const Files files;
  const ToolResult result =
      run_tool({"run", files.path("trusting.ptx"), "--device", "cpu", "--grid", "1", "--block", "1", "--arg",
                "null", "--arg", "out=u32[1]:" + files.path("z.npy")});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, ContainsSubstring("[null-address]"));
  CHECK_THAT(result.err, ContainsSubstring("ld.global.u32"));
  CHECK(!std::filesystem::exists(files.path("z.npy")));
}

TEST_CASE("run --arg: what does not fit is refused in a line with the parameter's place, name and type") {
  const Files files;
  struct Case {
    std::size_t index;  // in kGood
    const char* argument;
    const char* said;
  };
  const std::vector<Case> cases = {
      {0, "u32=-5", "parameter 2 of kernel echo, echo_param_1 (u32): u32=-5 does not fit u32; s32=-5 has"},
      {0, "u32=4294967296", "does not fit u32; it holds 0 to 4294967295"},
      {0, "u32=99999999999999999999999", "does not fit u32"},
      {0, "s32=2147483648", "does not fit s32; it holds -2147483648 to 2147483647"},
      {0, "s32=-2147483649", "does not fit s32"},
      {1, "s8=200", "parameter 3 of kernel echo, echo_param_2 (u8): s8=200 does not fit s8"},
      {1, "u8=-1", "s8=-1 has the same bits"},
      {1, "u8=-129", "it holds 0 to 255"},
      {0, "u32=5.0", "has '5.0', which is not an integer"},
      {0, "u32=five", "has 'five', which is not an integer"},
      {0, "u64=5", "parameter 2 of kernel echo, echo_param_1 (u32): u64=5 does not fit; write u32=VALUE"},
      {0, "f32=1.5", "f32=1.5 does not fit; write u32=VALUE"},
      {0, "null", "parameter 2 of kernel echo, echo_param_1 (u32): null is for pointers; write u32=VALUE"},
      {0, "bytes=0102", "has 4 hexadecimal digits, but the parameter has 4 bytes, which are 8"},
      {4, "f32=abc",
       "parameter 6 of kernel echo, echo_param_5 (f32): f32=abc has 'abc', which is not a number"},
      {4, "f32=1.5x", "which is not a number"},
      {4, "f32=1e39", "does not fit f32"},
      {4, "f32=1e400", "does not fit f32"},
      {4, "u32=3", "does not fit; write f32=VALUE"},
      {4, "null", "null is for pointers"},
      {5, "bytes=00",
       "parameter 7 of kernel echo, echo_param_6 (b8[16]): bytes=00 has 2 hexadecimal digits, but the "
       "parameter has 16 bytes, which are 32"},
      {5, "bytes=0g0102030405060708090a0b0c0d0eff", "has '0g', which is not a hexadecimal byte"},
      {5, "bytes=000102030405060708090a0b0c0d0ef", "has 31 hexadecimal digits"},
      {5, "u64=1", "write bytes= and 32 hexadecimal digits"},
      {5, "null", "null is for pointers; write bytes= and 32 hexadecimal digits"},
      {6, "u64=5",
       "parameter 8 of kernel echo, echo_param_7 (pointer): u64=5 does not fit; write in=FILE.npy, "
       "out=TYPE[SHAPE]:FILE.npy, inout=IN.npy:OUT.npy or null"},
      {6, "f32=1", "(pointer)"},
      {6, "bytes=0000000000000000", "(pointer)"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.argument);
    std::vector<std::string> arguments = kGood;
    arguments[one.index] = one.argument;
    const ToolResult result = files.run(arguments);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, ContainsSubstring(one.said));
    // "running on ..." and the message.
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 2);
    CHECK(!std::filesystem::exists(files.path("y.npy")));
  }
  std::vector<std::string> memory = kGood;
  memory[0] = "in=" + files.path("x.npy");
  const ToolResult result = files.run(memory);
  CHECK(result.code == 2);
  CHECK_THAT(result.err, ContainsSubstring("echo_param_1 (u32): in="));
  CHECK_THAT(result.err, ContainsSubstring("is memory, but the parameter is not a pointer; write u32=VALUE"));
}

TEST_CASE("run --arg: text that is not an argument is reported") {
  const Files files;
  for (const auto& [argument, said] :
       std::vector<std::pair<std::string, std::string>>{{"u33=5", "'u33' is not in, out"},
                                                        {"echo_param_1=u33=5", "'u33' is not in, out"},
                                                        {"five", "'five' is not in, out"},
                                                        {"echo_param_1=5", "'echo_param_1' is not in, out"},
                                                        {"u32=", "nothing follows 'u32='"},
                                                        {"u32", "nothing follows 'u32='"},
                                                        {"null=0", "null takes no value"}}) {
    CAPTURE(argument);
    std::vector<std::string> arguments = kGood;
    arguments[0] = argument;
    const ToolResult result = files.run(arguments);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, ContainsSubstring(said));
    CHECK_THAT(result.err, ContainsSubstring("[bad-arg]"));
  }
}

TEST_CASE("run --arg: a parameter may be called as a keyword is") {
  const Files files;
  const ToolResult result =
      run_tool({"run", files.path("trusting.ptx"), "--device", "cpu", "--grid", "1", "--block", "1", "--arg",
                "out=out=b8[4]:" + files.path("z.npy"), "--arg", "bias=in=" + files.path("x.npy")});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(read_npy(files.path("z.npy")).bytes == std::vector<std::byte>(4));
}

TEST_CASE("run --arg: nothing is given twice") {
  const Files files;
  std::vector<std::string> arguments = kGood;
  arguments[0] = "echo_param_1=u32=7";
  arguments.emplace_back("echo_param_1=u32=8");
  const ToolResult of_file = files.run(arguments);
  CHECK(of_file.code == 2);
  CHECK_THAT(of_file.err, ContainsSubstring("parameter 'echo_param_1' is given twice"));
  const ToolResult of_template =
      run_tool({"run", "gemm", "--set", "m=1", "n=1", "k=1", "a=s8", "--device", "cpu", "--arg",
                "d=out=" + files.path("d.npy"), "--arg", "d=out=" + files.path("e.npy")});
  CHECK(of_template.code == 2);
  CHECK_THAT(of_template.err, ContainsSubstring("tensor d is given twice"));
}

}  // namespace ptxloom::test::arguments_test
