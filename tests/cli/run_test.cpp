// SPDX-License-Identifier: Apache-2.0
// `ptxloom run`, of templates and of files.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "cli/scale_ptx.hpp"
#include "cli/tool.hpp"
#include "ptxloom/npy.hpp"
#include "support/folders.hpp"
#include "support/require.hpp"

using namespace ptxloom::test;
using ptxloom::NpyArray;

namespace {

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
    const ToolResult grid = run({"--grid", "1,65536,1", "--block", "32", "--arg", "u32=19", "--arg", "f32=3",
                                 "--arg", in, "--arg", "out=f32[20]:" + y});
    CHECK(grid.code == 2);
    CHECK(grid.err.find("grid.y is 65536, but the most is 65535") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(y));
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
  // By pointers, by tensor maps in a persistent grid, and by maps of a workspace.
  const std::vector<std::string> problem =
      GENERATE(std::vector<std::string>{"--set", "m=19", "--set", "n=21", "--set", "k=23", "--set", "a=tf32"},
               std::vector<std::string>{"--set", "m=190", "--set", "n=168", "--set", "k=24", "--set",
                                        "a=bf16", "--set", "strategy=wgmma", "--set", "tile_n=32"},
               std::vector<std::string>{"--set", "m=65", "--set", "n=35", "--set", "k=51", "--set", "a=bf16",
                                        "--set", "strategy=wgmma"});
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
                                      "--set", "k=16", "--set", "a=f16", "--set", "strategy=mma", "--stats"});
  REQUIRE(result.code == 0);
  CHECK(result.out.find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") != std::string::npos);
}

TEST_CASE("run --stats --json counts passes over banks and sectors by instruction") {
  const TemporaryFolder folder;
  // Each thread reads its word of a row, then of a column of 32; and every other word of global memory.
  write_text(folder / "banks.ptx",
             ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry banks(.param .u64 in)\n{\n"
             ".shared .align 4 .b8 s[4096]; .reg .u32 %t, %a, %x; .reg .u64 %in;\n"
             "mov.u32 %t, %tid.x; mov.u32 %a, s; mad.lo.u32 %a, %t, 4, %a; st.shared.u32 [%a], %t;\n"
             "mov.u32 %a, s; mad.lo.u32 %a, %t, 128, %a; st.shared.u32 [%a], %t;\n"
             "ld.param.u64 %in, [in]; mad.wide.u32 %in, %t, 8, %in; ld.global.u32 %x, [%in]; ret;\n}\n");
  ptxloom::write_npy(folder / "x.npy", floats(random_floats(64)));
  const ToolResult result =
      run_tool({"run", (folder / "banks.ptx").string(), "--device", "cpu", "--grid", "3", "--block", "32",
                "--arg", "in=" + (folder / "x.npy").string(), "--stats", "--json"});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(check_schema(json, read_schema("run"), "run") == "");
  CHECK(json["stats"]["executed"]["st.shared.u32"] == 6);
  std::vector<nlohmann::json> traffic;
  for (const auto& each : json["stats"]["instructions"]) {
    if (each.contains("shared")) traffic.push_back(each["shared"]);
    if (each.contains("global")) traffic.push_back(each["global"]);
  }
  const auto shared = [](int passes) {
    return nlohmann::json{{"requests", 3}, {"passes", passes}, {"needed", 3}};
  };
  CHECK(traffic == std::vector<nlohmann::json>{
                       shared(3), shared(96), {{"requests", 3}, {"sectors", 24}, {"needed", 12}}});
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
  const std::string product = "block 0,0,0 warp 0 lanes 0007ffff  mul.f32 %f2, %f0, %f1;  // %f2={0:0x";
  CHECK(lines(result.err, "mul.f32").front().starts_with(product));
  CHECK(trace("19").err == result.err);

  // A fault ends it right after the instruction that is at fault.
  const std::string fault = trace("21").err;
  CAPTURE(fault);
  const std::string culprit = "lanes 001fffff  ld.global.f32 %f1, [%rd2];\n";
  CHECK(fault.find(culprit) == fault.rfind("lanes"));
  CHECK(fault.find("out-of-bounds") > fault.find(culprit));
}

TEST_CASE("run --trace=WARPS traces some warps, as JSON with --json") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  ptxloom::write_npy(folder / "x.npy", floats(random_floats(20)));
  const auto trace = [&](const std::string& warps) {
    return run_tool({"run", (folder / "scale.ptx").string(), "--device", "cpu", "--trace=" + warps, "--json",
                     "--grid", "2,1,2", "--block", "40", "--arg", "u32=19", "--arg", "f32=2", "--arg",
                     "in=" + (folder / "x.npy").string(), "--arg",
                     "out=f32[20]:" + (folder / "y.npy").string()});
  };
  const auto steps = [&](const std::string& warps) {
    std::vector<nlohmann::json> found;
    const ToolResult result = trace(warps);
    REQUIRE(result.code == 0);
    std::istringstream in(result.err);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("{")) found.push_back(nlohmann::json::parse(line));
    }
    return found;
  };
  const auto all = steps("1@1,0,1");
  REQUIRE(all.size() == 8);
  for (const auto& step : all) {
    CHECK(check_schema(step, read_schema("trace"), "trace") == "");
    CHECK((step["block"] == std::vector{1, 0, 1} && step["warp"] == 1));
  }
  // Four blocks of two warps, the first with 13 steps and the second with 8.
  CHECK(steps("1").size() == 4 * 8);
  CHECK(steps("0@1,0,1,1").size() == 13 + 4 * 8);
  CHECK(steps("0-1").size() == 4 * (13 + 8));
  CHECK(trace("1@").code == 2);
}

TEST_CASE("run judges by default") {
  const TemporaryFolder folder;
  write_text(folder / "race.ptx",
             ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry race()\n{\n"
             ".shared .align 4 .b8 s[4]; .reg .u32 %t; mov.u32 %t, %tid.x; st.shared.u32 [s], %t; ret;\n}\n");
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> words{
        "run", (folder / "race.ptx").string(), "--device", "cpu", "--grid", "1", "--block", "32"};
    words.insert(words.end(), more.begin(), more.end());
    return run_tool(words);
  };
  CHECK(run({"--no-judge"}).code == 0);
  const ToolResult judged = run({});
  CHECK(judged.code == 1);
  CHECK(judged.err.find("data-race") != std::string::npos);
}

TEST_CASE("run --trace refuses a GPU") {
  const ToolResult result =
      run_tool({"run", "gemm", "--set", "m=16", "n=8", "k=16", "--device", "gpu", "--trace"},
               {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  if (result.code == 3)
    ptxloom::test::skip_without("nvjitlink", "nvJitLink or the stand-in driver is missing: " + result.err);
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find("use --device cpu") != std::string::npos);
}

TEST_CASE("run --must-hit runs what is recorded and cached, and nothing else") {
  const std::vector<std::string> words = {"run", "gemm", "--set", "m=8", "n=8", "k=8", "--must-hit"};
  const ToolResult none = run_tool(words, {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  if (none.err.find("no-record") == std::string::npos)
    ptxloom::test::skip_without("nvjitlink", "nvJitLink or the stand-in driver is missing: " + none.err);
  CHECK(none.code == 1);
  CHECK(none.out.empty());

  std::vector<std::string> on_cpu = words;
  on_cpu.insert(on_cpu.end(), {"--device", "cpu"});
  const ToolResult executor = run_tool(on_cpu);
  CHECK(executor.code == 3);
  CHECK(executor.err.find("no-device") != std::string::npos);

  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult file = run_tool({"run", folder / "scale.ptx", "--must-hit"});
  CHECK(file.code == 2);
  CHECK(file.err.find("--must-hit") != std::string::npos);
}

TEST_CASE("run --json reports the time before the first launch") {
  const ToolResult result =
      run_tool({"run", "gemm", "--device", "cpu", "--set", "m=16", "n=8", "k=32", "--json"});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(check_schema(json, read_schema("run")) == "");
  const auto& first = json["first_launch_ms"];
  CHECK(first["device"] == 0);
  CHECK(first["context"] > 0);
  CHECK(first["kernel"] > 0);
}

TEST_CASE("run --target makes a template's kernel for that target, in the executor") {
  const std::vector<std::string> words = {"run", "scaled_gemm", "--device", "cpu",           "--set",
                                          "m=9", "n=20",        "k=48",     "format_a=nvfp4"};
  const auto with_target = [&](const char* target) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--target", target});
    return run_tool(all);
  };
  const ToolResult result = with_target("sm_120a");
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.err.find("(sm_120a)") != std::string::npos);
  CHECK(with_target("sm_90a").code == 0);  // it has no instruction for these formats, and multiplies bf16
  CHECK(with_target("sm_75").err.find("sm_80") != std::string::npos);  // the hint
  CHECK(with_target("sm_12").code == 2);
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult file = run_tool({"run", folder / "scale.ptx", "--target", "sm_120a"});
  CHECK(file.code == 2);
  CHECK(file.err.find("names its target itself") != std::string::npos);
}
