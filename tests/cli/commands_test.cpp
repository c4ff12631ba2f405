// SPDX-License-Identifier: Apache-2.0
// What the subcommands do when used as documented.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "cli/tool.hpp"
#include "ptxloom/npy.hpp"
#include "support/ptxas.hpp"

using namespace ptxloom::test;
using ptxloom::NpyArray;

namespace {

constexpr const char* kScalePtx = R"(.version 7.0
.target sm_75
.address_size 64

.visible .entry scale(
    .param .u32 n,
    .param .f32 a,
    .param .u64 .ptr .global x,
    .param .u64 .ptr .global y
)
{
    .reg .pred %p<1>;
    .reg .b32 %r<3>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u32 %r0, [n];
    ld.param.f32 %f0, [a];
    ld.param.u64 %rd0, [x];
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p0, %r1, %r0;
    @%p0 bra done;
    mad.wide.u32 %rd2, %r1, 4, %rd0;
    mad.wide.u32 %rd3, %r1, 4, %rd1;
    ld.global.f32 %f1, [%rd2];
    mul.f32 %f2, %f0, %f1;
    st.global.f32 [%rd3], %f2;
done:
    ret;
}
)";

NpyArray floats(const std::vector<float>& values) {
  NpyArray array{
      .dtype = "<f4", .shape = {values.size()}, .bytes = std::vector<std::byte>(4 * values.size())};
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

std::vector<float> floats(const NpyArray& array) {
  std::vector<float> values(array.bytes.size() / 4);
  std::memcpy(values.data(), array.bytes.data(), 4 * values.size());
  return values;
}

std::vector<float> random_floats(std::size_t count) {
  std::mt19937 random(Catch::getSeed());
  std::uniform_real_distribution<float> uniform(-8, 8);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

}  // namespace

TEST_CASE("emit writes a launch line, the problem, the configuration, the target and the versions") {
  const ToolResult result = run_tool({"emit", "gemm", "--set", "m=65", "--set", "n=33", "--set", "k=20",
                                      "--set", "stages=3", "--target", "sm_86"});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const std::string& ptx = result.out;
  const std::string first = ptx.substr(0, ptx.find('\n'));
  REQUIRE(first.starts_with("// ptxloom.launch {"));
  const auto launch = nlohmann::json::parse(first.substr(first.find('{')));
  for (const char* key : {"entry", "grid", "block", "smem", "cluster", "params"}) CHECK(launch.contains(key));
  const std::string head = ptx.substr(0, ptx.find(".version"));
  for (const char* word : {"m=65", "k=20", "stages=3", "target sm_86", "ptxloom 0."})
    CHECK(head.find(word) != std::string::npos);
  CHECK(ptx.find("// ---- ") != std::string::npos);
}

TEST_CASE("one --set takes several words, and leaves the template alone") {
  const ToolResult apart = run_tool({"emit", "gemm", "--set", "m=65", "--set", "n=33", "--set", "k=20"});
  const ToolResult together = run_tool({"emit", "--set", "m=65", "n=33", "k=20", "gemm"});
  CAPTURE(together.err);
  CHECK(together.code == 0);
  CHECK(together.out == apart.out);
}

TEST_CASE("what emit writes assembles as it stands") {
  const auto ptxas = find_cuda_tool("ptxas");
  if (!ptxas) SKIP("there is no ptxas");
  for (const std::string target : {"sm_80", "sm_90a", "sm_120a"}) {
    const ToolResult result = run_tool({"emit", "gemm", "--set", "m=65", "--set", "n=33", "--set", "k=20",
                                        "--set", "a=s8", "--target", target});
    REQUIRE(result.code == 0);
    const CommandResult assembled = Ptxas(*ptxas).assemble(result.out, target);
    CAPTURE(target, assembled.output);
    CHECK(assembled.status == 0);
  }
}

TEST_CASE("run TEMPLATE multiplies given matrices") {
  const TemporaryFolder folder;
  const std::size_t m = 5, n = 7, k = 3;
  std::mt19937 random(Catch::getSeed());
  std::uniform_int_distribution<int> any(-128, 127);
  const auto integers = [&](std::size_t rows, std::size_t columns) {
    NpyArray array{.dtype = "|i1", .shape = {rows, columns}, .bytes = std::vector<std::byte>(rows * columns)};
    for (std::byte& value : array.bytes) value = static_cast<std::byte>(any(random));
    return array;
  };
  const NpyArray a = integers(m, k), b = integers(n, k);  // B is stored as n rows of k
  ptxloom::write_npy(folder / "a.npy", a);
  ptxloom::write_npy(folder / "b.npy", b);
  const ToolResult result =
      run_tool({"run", "gemm", "--device", "cpu", "--set", "m=5", "--set", "n=7", "--set", "k=3", "--set",
                "a=s8", "--arg", "a=in=" + (folder / "a.npy").string(), "--arg",
                "b=in=" + (folder / "b.npy").string(), "--arg", "d=out=" + (folder / "d.npy").string()});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.find("correct: 35 elements") != std::string::npos);
  const NpyArray d = ptxloom::read_npy(folder / "d.npy");
  REQUIRE(d.dtype == "<i4");
  REQUIRE(d.shape == std::vector<std::size_t>{m, n});
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      int sum = 0;
      for (std::size_t l = 0; l < k; ++l)
        sum += static_cast<signed char>(a.bytes[i * k + l]) * static_cast<signed char>(b.bytes[j * k + l]);
      int got = 0;
      std::memcpy(&got, &d.bytes[4 * (i * n + j)], 4);
      CHECK(got == sum);
    }
  }
}

TEST_CASE("run FILE.ptx takes its arguments in order") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const std::vector<float> x = random_floats(20);
  ptxloom::write_npy(folder / "x.npy", floats(x));
  const std::string file = (folder / "scale.ptx").string(), in = "in=" + (folder / "x.npy").string();
  const std::string y = (folder / "y.npy").string();
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", file, "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };

  SECTION("a good launch") {
    const ToolResult result = run({"--grid", "1", "--block", "32", "--arg", "u32=19", "--arg", "f32=-2.5",
                                   "--arg", in, "--arg", "out=f32[20]:" + y});
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    const std::vector<float> got = floats(ptxloom::read_npy(y));
    REQUIRE(got.size() == 20);
    for (std::size_t i = 0; i < 19; ++i) CHECK(got[i] == -2.5F * x[i]);
    CHECK(std::memcmp(&got[19], "\xa5\xa5\xa5\xa5", 4) == 0);
  }
  SECTION("the same file in and out") {
    const ToolResult result =
        run({"--grid", "1", "--block", "32", "--arg", "y=inout=" + (folder / "x.npy").string() + ":" + y,
             "--arg", "u32=19", "--arg", "f32=3", "--arg", in});
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    const std::vector<float> got = floats(ptxloom::read_npy(y));
    CHECK(got[0] == 3 * x[0]);
    CHECK(got[19] == x[19]);
  }
  SECTION("a missing argument, a missing launch shape, a wrong type") {
    const ToolResult few = run({"--grid", "1", "--block", "32", "--arg", "u32=19"});
    CHECK(few.code == 2);
    CHECK(few.err.find("argument-count") != std::string::npos);
    CHECK(few.err.find("x (in=") != std::string::npos);
    const ToolResult shape =
        run({"--arg", "u32=19", "--arg", "f32=3", "--arg", in, "--arg", "out=f32[20]:" + y});
    CHECK(shape.code == 2);
    CHECK(shape.err.find("--grid") != std::string::npos);
    const ToolResult type = run({"--grid", "1", "--block", "32", "--arg", "u32=19", "--arg", "u32=3", "--arg",
                                 in, "--arg", "out=f32[20]:" + y});
    CHECK(type.code == 2);
    CHECK(type.err.find("argument-type") != std::string::npos);
    CHECK(run({"--grid", "0", "--block", "32"}).code == 2);
    CHECK(run({"--entry", "no_such_kernel"}).err.find("scale") != std::string::npos);
  }
  SECTION("an access out of bounds is found") {
    const ToolResult result = run({"--grid", "1", "--block", "32", "--arg", "u32=21", "--arg", "f32=3",
                                   "--arg", in, "--arg", "out=f32[20]:" + y});
    CAPTURE(result.err);
    CHECK(result.code == 1);
    CHECK(result.err.find("out-of-bounds") != std::string::npos);
    CHECK(!std::filesystem::exists(y));
  }
}

TEST_CASE("run FILE.ptx takes from the launch line what the command line leaves open") {
  const TemporaryFolder folder;
  const std::string file = (folder / "g.ptx").string();
  const std::string d = (folder / "d.npy").string(), e = (folder / "e.npy").string();
  const std::vector<std::string> problem = {"--set", "m=19", "--set", "n=21",
                                            "--set", "k=23", "--set", "a=tf32"};
  const auto tool = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  REQUIRE(tool({"emit", "gemm", "-o", file}, problem).code == 0);
  REQUIRE(tool({"run", "gemm", "--device", "cpu", "--seed", "5", "--arg", "d=out=" + d}, problem).code == 0);
  const ToolResult again = run_tool({"run", file, "--device", "cpu", "--seed", "5", "--arg", "d=out=" + e});
  CAPTURE(again.err);
  REQUIRE(again.code == 0);
  CHECK(read_text(d) == read_text(e));
}

TEST_CASE("run --stats counts what ran") {
  const ToolResult result = run_tool({"run", "gemm", "--device", "cpu", "--set", "m=16", "--set", "n=8",
                                      "--set", "k=16", "--set", "a=f16", "--stats"});
  REQUIRE(result.code == 0);
  CHECK(result.out.find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") != std::string::npos);
}

TEST_CASE("run --trace writes a line for each instruction of a warp, in the order they run") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  ptxloom::write_npy(folder / "x.npy", floats(random_floats(20)));
  const auto trace = [&](const std::string& n) {
    return run_tool({"run", (folder / "scale.ptx").string(), "--device", "cpu", "--trace", "--grid", "2,1,2",
                     "--block", "40", "--arg", "u32=" + n, "--arg", "f32=2", "--arg",
                     "in=" + (folder / "x.npy").string(), "--arg",
                     "out=f32[20]:" + (folder / "y.npy").string()});
  };
  const auto lines = [](const std::string& text, const std::string& word) {
    std::vector<std::string> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.find(word) != std::string::npos) found.push_back(line);
    }
    return found;
  };

  const ToolResult result = trace("19");
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.find("lanes") == std::string::npos);
  // Of 13 instructions, warp 0 runs all, and warp 1 (threads 32 to 39) the 7 up to its jump, and ret.
  CHECK(lines(result.err, "block ").size() == 4 * (13 + 8));
  CHECK(lines(result.err, "block 1,0,1 warp 1 ").size() == 8);
  const auto branches = lines(result.err, "bra");
  REQUIRE(branches.size() == 8);
  CHECK(branches[0] == "block 0,0,0 warp 0 lanes fff80000  @%p0 bra done;");
  CHECK(branches[7] == "block 1,0,1 warp 1 lanes 000000ff  @%p0 bra done;");
  CHECK(lines(result.err, "mul.f32").front() == "block 0,0,0 warp 0 lanes 0007ffff  mul.f32 %f2, %f0, %f1;");
  CHECK(trace("19").err == result.err);

  // A fault ends it right after the instruction that is at fault.
  const std::string fault = trace("21").err;
  CAPTURE(fault);
  const std::string culprit = "lanes 001fffff  ld.global.f32 %f1, [%rd2];\n";
  CHECK(fault.find(culprit) == fault.rfind("lanes"));
  CHECK(fault.find("out-of-bounds") > fault.find(culprit));
}

TEST_CASE("run --trace refuses a GPU") {
  const ToolResult result =
      run_tool({"run", "gemm", "--set", "m=16", "n=8", "k=16", "--device", "gpu", "--trace"},
               {{"PTXLOOM_CUDA_PATH", PTXLOOM_BINARY_DIR "/fake_cuda"}});
  if (result.code == 3) SKIP("there is no stand-in driver: " << result.err);
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find("run with --device cpu") != std::string::npos);
}

TEST_CASE("compile makes a cubin without a GPU") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult result = run_tool({"compile", (folder / "scale.ptx").string(), "--target", "sm_90a"});
  if (result.code == 3) SKIP("there is no nvJitLink: " << result.err);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK(read_text(folder / "scale.cubin")
            .starts_with("\x7f"
                         "ELF"));
  write_text(folder / "bad.ptx", std::string(kScalePtx) + "nonsense");
  const ToolResult bad = run_tool({"compile", (folder / "bad.ptx").string()});
  CHECK(bad.code == 1);
  CHECK(bad.err.find("link-failed") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "bad.cubin"));
}

TEST_CASE("the cache can be looked at, verified and cleared") {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> here = {{"PTXLOOM_CACHE_DIR", (folder / "cache").string()}};
  write_text(folder / "scale.ptx", kScalePtx);
  if (run_tool({"compile", (folder / "scale.ptx").string()}, here).code == 3) SKIP("there is no nvJitLink");
  CHECK(run_tool({"cache", "stat"}, here).out.find("entries  1\n") != std::string::npos);
  CHECK(run_tool({"cache", "verify"}, here).code == 0);
  CHECK(run_tool({"cache", "clear"}, here).code == 0);
  CHECK(run_tool({"cache", "stat"}, here).out.find("entries  0\n") != std::string::npos);
  const ToolResult off = run_tool({"cache", "stat"}, {{"PTXLOOM_CACHE_DIR", "off"}});
  CHECK(off.code == 2);
}

TEST_CASE("a spec overlay adds an instruction to the tool") {
  const TemporaryFolder folder;
  write_text(
      folder / "mine.json",
      R"({"need": "sm_80:7.0", "forms": [{"form": "mine", "family": "mine", "doc": "Of mine.", "text": "mine.<t> D, A;", "ops": {"D": "out <t>", "A": "in <t>"}, "tables": [["t", "s32", "f32"]]}]})");
  const ToolResult result = run_tool({"list", "mine", "--variants", "--specs", folder.path().string()});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "mine.s32\nmine.f32\n");
}

TEST_CASE("layout answers for one element and for one lane") {
  const std::vector<std::string> b = {"layout", "mma.sync.aligned.m16n8k16...bf16.bf16.f32", "--operand",
                                      "B"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = b;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  CHECK(with({"--at", "9,3"}).out ==
        "lane 12 register 1 bit 16\n");  // row k = 9: the second register, upper half
  CHECK(with({"--at", "16,0"}).code == 2);
  const ToolResult lane = with({"--lane", "5"});
  CHECK(lane.out.find("5     0    0    2    1") != std::string::npos);
  CHECK(with({"--lane", "32"}).code == 2);
  CHECK(with({"--format", "svg"}).out.starts_with("<svg"));
  CHECK(with({"--format", "html"}).code == 2);
}

TEST_CASE("layout draws the matrix: a cell for each register, and whose addresses are whose") {
  const ToolResult b = run_tool({"layout", "mma.sync.aligned.m16n8k16...bf16.bf16.f32", "--operand", "B"});
  CHECK(b.out.find("16 x 8 (k x n) of bf16, in 2 registers of 32 lanes\n") != std::string::npos);
  CHECK(b.out.find("\n8-9    T0.r1  T4.r1 ") != std::string::npos);
  const ToolResult r = run_tool({"layout", "ldmatrix...m8n8.x2.shared.b16", "--operand", "r"});
  CHECK(r.out.find("\nmatrix 1  0-1 ") != std::string::npos);
  CHECK(r.out.ends_with("lanes 8-15 give the addresses of rows 0-7 of matrix 1\n"));
}

TEST_CASE("layout takes selectors") {
  const auto scales = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "layout", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X...ue8m0",
        "--operand", "SA"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  CHECK(scales({"--at", "9,1"}).out == "lane 5 register 0 bit 8\n");
  CHECK(scales({"--at", "9,1", "--select", "TA=1", "--select", "BA=2"}).out == "lane 7 register 0 bit 24\n");
  CHECK(scales({}).out.find("\n8   T1.r0:0\n") != std::string::npos);
  for (const std::string wrong : {"TA=2", "BA=1", "TB=0", "XX=0", "TA", "TA=-1"}) {
    INFO(wrong);
    const ToolResult refused = scales({"--select", wrong});
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
  }
}

TEST_CASE("standard output that cannot be written is an error") {
  if (!std::filesystem::exists("/dev/full")) SKIP("there is no /dev/full");
  const CommandResult result = run_command(std::string(PTXLOOM_TOOL) + " list > /dev/full");
  CHECK(result.status == 2);
  CHECK(result.output.find("unwritable-file") != std::string::npos);
}

TEST_CASE("tune --must-hit only looks") {
  const ToolResult result =
      run_tool({"tune", "gemm", "--set", "m=8", "--set", "n=8", "--set", "k=8", "--must-hit"},
               {{"PTXLOOM_CUDA_PATH", PTXLOOM_BINARY_DIR "/fake_cuda"}});
  if (result.code == 3) SKIP("there is no stand-in driver: " << result.err);
  CHECK(result.code == 1);
  CHECK(result.err.find("no-record") != std::string::npos);
  CHECK(result.out.empty());
}

TEST_CASE("Ctrl-C ends tune with what it has, and with 130") {
  if (!find_cuda_tool("ptxas")) SKIP("there is no toolkit to link with");
  const CommandResult result = run_command(
      "PTXLOOM_CUDA_PATH=" PTXLOOM_BINARY_DIR
      "/fake_cuda PTXLOOM_CACHE_DIR=off timeout --foreground --preserve-status -s INT 2 " PTXLOOM_TOOL
      " tune gemm --set m=4096 --set n=4096 --set k=4096 --budget 600 --json");
  CAPTURE(result.output);
  if (result.status == 3) SKIP("there is no stand-in driver");
  CHECK(result.status == 130);
  CHECK(result.output.find("\"interrupted\": true") != std::string::npos);
}
