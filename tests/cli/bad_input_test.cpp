// SPDX-License-Identifier: Apache-2.0
// Arguments, values and environments that make no sense, and PTX that is none.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/bad_input.hpp"
#include "cli/scale_ptx.hpp"

using namespace ptxloom::test;

namespace {

/// A build without CUDA has no driver to complain about.
void require_cuda_build() {
  if (run_tool(on_gemm("tune")).err.find("no-cuda-support") != std::string::npos)
    SKIP("this build is without CUDA");
}

}  // namespace

TEST_CASE("a wrong subcommand, option or number of arguments is bad usage") {
  check_refused({"lst"}, 2, "unknown-subcommand", {"lst", "list"});
  CHECK(run_tool({}).code == 2);
  CHECK(run_tool({"list", "--no-such-option"}).code == 2);
  CHECK(run_tool({"show"}).code == 2);
  CHECK(run_tool({"cache"}).code == 2);
  CHECK(run_tool({"layout", "mma.sync", "--operand", "A", "--format", "png"}).code == 2);
  CHECK(run_tool({"--help"}).code == 0);
  CHECK(run_tool({"emit", "--help"}).code == 0);
}

TEST_CASE("an unknown template is reported with the known ones") {
  for (const std::string command : {"emit", "run", "tune"})
    check_refused({command, "gem"}, 2, "unknown-template", {"'gem'", "gemm"});
  check_refused({"run", "no_such_file", "--grid", "1", "--block", "1"}, 2, "unknown-template",
                {"'no_such_file'", "file of PTX"});
}

TEST_CASE("an unknown parameter is named with the nearest") {
  check_refused({"emit", "gemm", "--set", "m=8", "--set", "n=8", "--set", "k=8", "--set", "tilem=64"}, 2,
                "unknown-parameter", {"tilem", "tile_m"});
  check_refused({"emit", "gemm", "--set", "m"}, 2, "bad-set", {"NAME=VALUE"});
  check_refused({"emit", "gemm", "--set", "m=8", "--set", "m=9"}, 2, "bad-set", {"twice"});
}

TEST_CASE("an unknown type is named with the legal ones") {
  check_refused(on_gemm("emit", {"--set", "a=f17"}), 2, "bad-value", {"f17", "bf16"});
}

TEST_CASE("an unknown target is named with the known ones") {
  check_refused(on_gemm("emit", {"--target", "sm_91"}), 2, "unknown-target", {"sm_91", "sm_90"});
  check_refused({"list", "--target", "sm90"}, 2, "unknown-target", {"sm90", "sm_90"});
  check_refused({"show", "add.s32", "--target", "x"}, 2, "unknown-target", {"sm_90"});
}

TEST_CASE("a type that the target lacks is refused, and not by a crash") {
  const ToolResult result = run_tool(on_gemm("emit", {"--target", "sm_75", "--set", "a=bf16"}));
  CAPTURE(result.err);
  CHECK(result.code == 1);
  CHECK(result.err.find("sm_75") != std::string::npos);
  CHECK(result.err.find("bf16") != std::string::npos);
}

TEST_CASE("sizes of zero, negative, fractional and overflowing are refused") {
  for (const std::string m : {"0", "-1", "1.5", "", "x", "99999999999999999999", "2147483648"}) {
    check_refused({"emit", "gemm", "--set", "m=" + m, "--set", "n=8", "--set", "k=8"}, 2, "bad-value", {"m"});
  }
  const ToolResult huge = run_tool({"run", "gemm", "--device", "cpu", "--set", "m=2147483647", "--set",
                                    "n=2147483647", "--set", "k=2147483647"});
  CAPTURE(huge.err);
  CHECK(huge.code == 2);
  CHECK(huge.err.find("shape-too-large") != std::string::npos);
  check_refused(
      {"run", "gemm", "--device", "cpu", "--set", "m=900000", "--set", "n=900000", "--set", "k=900000"}, 2,
      "too-large", {"MiB"});
  check_refused({"emit", "gemm", "--set", "m=8", "--set", "n=8"}, 2, "missing-parameter", {"k"});
}

TEST_CASE("every template refuses sizes of zero and pitches below a row, with what to give") {
  struct Problem {
    std::string name, settings;
    std::vector<std::string> sizes, pitches;  // one below the shortest row
    std::vector<std::string> least;
  };
  const std::vector<Problem> problems = {
      {"gemm",
       "m=8 n=10 k=16",
       {"m", "n", "k", "batch"},
       {"lda=15", "ldb=15", "ldc=9", "ldd=9"},
       {"16", "16", "10", "10"}},
      {"rowwise", "op=softmax rows=3 n=10", {"rows", "n"}, {"pitch_x=9", "pitch_y=9"}, {"10", "10"}},
      {"quantize", "format=mxfp4 rows=3 n=11", {"rows", "n"}, {"pitch_x=10", "pitch_y=10"}, {"11", "12"}},
      {"dequantize", "format=mxfp4 rows=3 n=11", {"rows", "n"}, {"pitch_x=10", "pitch_y=10"}, {"12", "11"}},
      {"scaled_gemm", "m=3 n=10 k=16", {"m", "n", "k"}, {"lda=15", "ldb=15", "ldd=9"}, {"16", "16", "10"}},
      {"sparse_gemm", "m=3 n=10 k=16", {"m", "n", "k"}, {"lda=15", "ldd=9"}, {"16", "10"}},
      {"shuffle_weights", "n=3 k=11 format=s4", {"n", "k", "batch"}, {"pitch=10"}, {"12"}},
  };
  for (const auto& [name, settings, sizes, pitches, least] : problems) {
    const auto with = [&](const std::string& setting) {
      std::vector<std::string> arguments{"emit", name, "--set"};
      std::istringstream words(settings);
      for (std::string word; words >> word;)
        if (word.substr(0, word.find('=')) != setting.substr(0, setting.find('='))) arguments.push_back(word);
      arguments.push_back(setting);
      return arguments;
    };
    for (const std::string& size : sizes)
      check_refused(with(size + "=0"), 2, "bad-value", {size + "=0 is not an integer from 1 to 2147483647"});
    for (std::size_t i = 0; i < pitches.size(); ++i)
      check_refused(with(pitches[i]), 2, "bad-stride",
                    {pitches[i] + " is shorter than a row of ", "give at least " + least[i] + ", or 0 for "});
  }
}

TEST_CASE("an --arg that cannot be understood is refused with how to write it") {
  const auto refused = [](const std::string& arg, const std::string& word) {
    check_refused(on_gemm("run", {"--device", "cpu", "--arg", arg}), 2, "bad-arg", {word});
  };
  refused("a", "'a' is not in, out");
  refused("x=in=A.npy", "a=in=");
  refused("a=in=", "nothing follows");
  refused("a=out=A.npy", "a=in=");
  refused("d=out=f99[2]:D.npy", "f99");
  refused("d=out=f32[0]:D.npy", "shape");
  refused("u32=1", "no such tensor");
}

TEST_CASE("an invalid or out-of-range number is refused with the range") {
  struct Number {
    std::vector<std::string> use;
    std::string option, range;
    std::vector<std::string> more;  // wrong here, right elsewhere
  };
  const std::string most = "from 0 to 18446744073709551615";
  const std::string opcode = "mma.sync.aligned.m16n8k16...bf16.bf16.f32";
  const std::vector<Number> numbers = {
      {on_gemm("run", {"--device", "cpu"}), "--seed", most, {"1.5", "18446744073709551616"}},
      {on_gemm("run", {"--device", "cpu"}), "--smem", "from 0 to 4294967295", {"4294967296"}},
      {on_gemm("tune", {"--device", "cpu"}), "--seed", most, {"1.5"}},
      {on_gemm("tune", {"--device", "cpu"}), "--jobs", "from 1 to 256", {"0", "257", "99999999"}},
      {on_gemm("tune", {"--device", "cpu"}), "--sample", "from 1 to ", {"0"}},
      {on_gemm("tune", {"--device", "cpu"}), "--limit", "from 0.001 to 86400", {"0", "1e9"}},
      {on_gemm("tune", {"--device", "cpu"}), "--budget", "more than 0", {"0", "0evals", "1.5evals", "1e10"}},
      {{"conform", "prmt", "--device", "cpu"}, "--seed", most, {"1.5"}},
      {{"conform", "prmt", "--device", "cpu"}, "--count", "from 1 to 4294967296", {"0"}},
      {{"bench", "spec_to_ptx"}, "--count", "from 1 to 1000000", {"0", "99999999"}},
      {{"layout", opcode, "--operand", "A"}, "--lane", "from 0 to 127", {"128"}},
  };
  for (const Number& number : numbers) {
    std::vector<std::string> wrong = {"-1", "nan", "inf", "-inf", "1e999", "99999999999999999999",
                                      "x",  "1x",  " 1",  "0x10", "+1"};
    wrong.insert(wrong.end(), number.more.begin(), number.more.end());
    for (const std::string& value : wrong) {
      for (const bool joined : {false, true}) {
        std::vector<std::string> arguments = number.use;
        if (joined)
          arguments.push_back(number.option + "=" + value);
        else
          arguments.insert(arguments.end(), {number.option, value});
        const ToolResult result = run_tool(arguments);
        CAPTURE(arguments, result.err);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(result.err.find(number.range) != std::string::npos);
        CHECK(result.err.find("'" + value + "'") != std::string::npos);
      }
    }
    std::vector<std::string> empty = number.use;
    empty.insert(empty.end(), {number.option, ""});
    CHECK(run_tool(empty).code == 2);
  }
}

TEST_CASE("a grid, a place in a matrix and warps have their ranges too") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  for (const std::string extent : {"0", "-1", "4294967296", "1,2,3,4", "1,", "nan", "1.5"})
    check_refused({"run", folder / "scale.ptx", "--device", "cpu", "--block", "32", "--grid", extent, "--arg",
                   "u32=1", "f32=1", "null", "null"},
                  2, "bad-extent", {"from 1 to 4294967295"});
  for (const std::string at : {"-1,0", "16,0", "0", "0,0,0", "nan,0", ",", "99999999999999999999,0"}) {
    const ToolResult result =
        run_tool({"layout", "mma.sync.aligned.m16n8k16...bf16.bf16.f32", "--operand", "A", "--at", at});
    CAPTURE(at, result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
  }
  for (const std::string warps : {"3-2", "-1", "0@", "99999999999"})
    check_refused(on_gemm("run", {"--device", "cpu", "--trace=" + warps}), 2, "bad-warps", {"0,2-3"});
}

TEST_CASE("errors in options are phrased for the command line") {
  check_refused({"list", "--targt", "sm_80"}, 2, "bad-usage",
                {"'--targt'", "--target", "ptxloom list --help"});
  check_refused({"list", "mma", "extra"}, 2, "bad-usage", {"'extra'", "unexpected argument"});
  check_refused({"show"}, 2, "bad-usage", {"name is needed"});
  check_refused({"cache"}, 2, "bad-usage", {"stat, verify, clear"});
  check_refused({"list", "--target"}, 2, "bad-usage", {"--target needs a value"});
  check_refused({"list", "--target", "sm_80", "--target", "sm_90"}, 2, "bad-usage", {"more than once"});
  check_refused({"list", "--json=maybe"}, 2, "bad-usage", {"--json"});
  check_refused({"layout", "mma.sync", "--operand", "A", "--format", "png"}, 2, "bad-usage", {"png", "svg"});
  check_refused({"sass", "k.cubin", "--format", "png"}, 2, "bad-usage", {"does not accept 'png'", "text"});
  check_refused({"sanitize", "k.ptx", "--format", "pdf"}, 2, "bad-usage", {"does not accept 'pdf'", "sarif"});
  check_refused({"list", "--target", ""}, 2, "bad-usage", {"--target is given without a value"});
  check_refused(on_gemm("emit", {"-o", ""}), 2, "bad-usage", {"--output is given without a value"});
  check_refused({"show", ""}, 2, "bad-usage", {"name is empty", "it must be given"});
  check_refused({"cache", "foo"}, 2, "bad-usage",
                {"ptxloom cache has no subcommand 'foo'", "stat, verify, clear"});
  const ToolResult both = run_tool({"check", "-", "--jsonl", "--json"});
  CHECK(both.code == 2);
  CHECK(both.err.find("excludes --json") != std::string::npos);
  CHECK(both.err.find("leave one of them out") != std::string::npos);
  check_refused({"layout", "mma.sync.aligned.m16n8k16...bf16.bf16.f32", "--operand", "A", "--at", "9"}, 2,
                "bad-option", {"--at '9'", "row,col", "--at 3,5"});
  const ToolResult must_hit = run_tool(on_gemm("run", {"--device", "cpu", "--must-hit"}));
  CHECK(must_hit.code == 3);
  CHECK(must_hit.err.find("--must-hit needs a GPU") != std::string::npos);
}

TEST_CASE("an invalid environment is refused by every subcommand") {
  const TemporaryFolder folder;
  for (const Use& use : uses_of_all_subcommands(folder.path())) {
    for (const std::string level : {"bogus", "WARNING", "3", " info"}) {
      const ToolResult result = run_tool(use.arguments, {{"PTXLOOM_LOG", level}});
      CAPTURE(use.arguments, result.err);
      CHECK(result.code == 2);
      CHECK(result.err.find("'" + level + "' [bad-environment]") != std::string::npos);
      CHECK(result.err.find("error, warning, info or debug") != std::string::npos);
    }
  }
  CHECK(run_tool({"list", "prmt"}, {{"PTXLOOM_LOG", ""}}).code == 0);
  CHECK(run_tool({"list", "prmt"}, {{"PTXLOOM_CUDA_PATH", "/no/such"}}).err.find("PTXLOOM_CUDA_PATH") !=
        std::string::npos);
  CHECK(run_tool({"list"}, {{"PTXLOOM_SPECS", "/no/such"}}).code == 2);
}

TEST_CASE("an output larger than any memory is refused before it is made") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  for (const std::string shape : {"f32[100000000000000]", "f64[4611686018427387904]",
                                  "u8[18446744073709551615]", "f64[4294967296,4294967296]"}) {
    const std::string file = folder / "y.npy";
    check_refused({"run", folder / "scale.ptx", "--device", "cpu", "--grid", "1", "--block", "32", "--arg",
                   "u32=1", "f32=1", "null", "out=" + shape + ":" + file},
                  2, "too-large", {});
    CHECK(!std::filesystem::exists(file));
  }
}

TEST_CASE("a hint speaks of options where the library speaks of its interface") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const auto run = [&](const std::string& a, const std::string& x) {
    return run_tool({"run", folder / "scale.ptx", "--device", "cpu", "--grid", "1", "--block", "32", "--arg",
                     "u32=1", a, x, "out=f32[32]:" + (folder / "y.npy").string()});
  };
  const std::vector<ToolResult> results = {run("f32=1", "u32=0"),
                                           run("u32=1", "bytes=00"),
                                           run("bytes=0000", "bytes=00"),
                                           run("f64=1", "f32=1"),
                                           run_tool({"emit", "gemm", "--set", "m=8"}),
                                           run_tool(on_gemm("run", {"--device", "cpu", "--must-hit"})),
                                           run_tool(on_gemm("tune", {"--device", "cpu", "--must-hit"}))};
  for (const ToolResult& result : results) {
    CAPTURE(result.err);
    CHECK(result.code != 0);
    for (const char* word : {"::", "pass a value", "pass device", "Context", "must_hit"})
      CHECK(result.err.find(word) == std::string::npos);
  }
  CHECK(results[4].err.find("give with --set NAME=VALUE the parameters m, n and k") != std::string::npos);
  CHECK(results[6].err.find("--must-hit") != std::string::npos);
}

TEST_CASE("a driver that is too old is named with both versions") {
  require_cuda_build();
  const std::map<std::string, std::string> old = {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_old_cuda"}};
  for (const std::string device : {"gpu", "gpu:0"}) {
    check_refused(on_gemm("run", {"--device", device}), 3, "driver-too-old", {"driver"}, old);
  }
  check_refused(on_gemm("tune"), 3, "driver-too-old", {"driver"}, old);
  const ToolResult doctor = run_tool({"doctor"}, old);
  CHECK(doctor.code == 0);
  CHECK(doctor.out.find("old") != std::string::npos);
}

TEST_CASE("without a driver, what needs a GPU says how to get one, and the rest runs on") {
  require_cuda_build();
  if (run_tool({"doctor"}).out.find("gpu:0") != std::string::npos) SKIP("this machine has a GPU");
  check_refused(on_gemm("run", {"--device", "gpu"}), 3, "no-driver", {"install the NVIDIA driver"});
  check_refused(on_gemm("tune"), 3, "no-driver", {"install the NVIDIA driver"});
  const ToolResult result = run_tool(on_gemm("run"));
  CHECK(result.code == 0);
  CHECK(result.err.find("CPU executor") != std::string::npos);
}

TEST_CASE("an unknown device is named with how to write one") {
  for (const std::string device : {"gpu:x", "gpu:-1", "tpu"}) {
    check_refused(on_gemm("run", {"--device", device}), 2, "unknown-device", {device, "cpu"});
  }
}

TEST_CASE("errors are JSON where --json is given") {
  const nlohmann::json schema = read_schema("error");
  const TemporaryFolder folder;
  const auto check_error = [&](const std::vector<std::string>& arguments, int code, const std::string& stable,
                               const std::map<std::string, std::string>& environment = {}) {
    const ToolResult result = run_tool(arguments, environment);
    CAPTURE(arguments, result.out, result.err);
    CHECK(result.code == code);
    const auto json = nlohmann::json::parse(result.out, nullptr, false);
    REQUIRE(!json.is_discarded());
    CHECK(check_schema(json, schema) == "");
    CHECK(json["error"]["code"] == stable);
    CHECK(result.err.find("[" + stable + "]") != std::string::npos);
    CHECK(result.err.find(json["error"]["message"].get<std::string>()) != std::string::npos);
  };
  int with_json = 0;
  for (const Use& use : uses_of_all_subcommands(folder.path())) {
    if (!use.json) continue;
    ++with_json;
    std::vector<std::string> arguments = use.arguments;
    if (arguments[0] != "layout") arguments.emplace_back("--json");
    check_error(arguments, 2, "bad-environment", {{"PTXLOOM_LOG", "bogus"}});
    arguments.emplace_back("--no-such-option");
    check_error(arguments, 2, "bad-usage");
  }
  CHECK(with_json >= 8);
  check_error({"list", "no.such", "--json"}, 2, "unknown-family");
  check_error({"show", "mma.sink", "--json"}, 2, "unknown-opcode");
  check_error({"layout", "add.s32", "--operand", "D", "--format", "json"}, 2, "no-layout");
  check_error({"layout", "add.s32", "--operand", "D", "--format=json", "--lane", "x"}, 2, "bad-option");
  check_error({"bench", "no_such", "--json"}, 2, "unknown-benchmark");
  check_error({"conform", "no.such", "--device", "cpu", "--json"}, 2, "unknown-family");
  check_error({"check", "--jsonl", folder / "absent"}, 2, "unreadable-file");
  check_error(on_gemm("run", {"--device", "cpu", "--json", "--arg", "x=in=y"}), 2, "bad-arg");
  check_error(on_gemm("run", {"--device", "tpu", "--json"}), 2, "unknown-device");
  check_error(on_gemm("run", {"--device", "cpu", "--must-hit", "--json"}), 3, "no-device");
  check_error(on_gemm("tune", {"--device", "cpu", "--must-hit", "--json"}), 1, "no-record");
  check_error({"doctor", "--json"}, 2, "spec-unreadable", {{"PTXLOOM_SPECS", "/no/such"}});
  check_error({"lst", "--json"}, 2, "unknown-subcommand");
}

TEST_CASE("PTX that is illegal, or no PTX at all, is judged and not crashed on") {
  const std::string noise(
      "\x7f"
      "ELF\0\1\2\xff{{{;;;",
      14);
  const ToolResult binary = run_tool({"check", "-"}, {}, noise);
  CHECK(binary.code == 1);
  CHECK(binary.out.find("error") != std::string::npos);
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n";
  const ToolResult illegal =
      run_tool({"check", "-"}, {}, head + "  .reg .b32 %r<3>;\n  add.s33 %r0, %r1, %r2;\n  ret;\n}\n");
  CAPTURE(illegal.out);
  CHECK(illegal.code == 1);
  CHECK(illegal.out.find("stdin:7:") == 0);
  const ToolResult legal =
      run_tool({"check", "-"}, {}, head + "  .reg .b32 %r<3>;\n  add.s32 %r0, %r1, %r2;\n  ret;\n}\n");
  CAPTURE(legal.out);
  CHECK(legal.code == 0);
  CHECK(legal.out.empty());
}

TEST_CASE("a byte order mark is the only error of a text that is legal without it") {
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n";
  CHECK(run_tool({"check", "-"}, {}, text).code == 0);
  const ToolResult marked = run_tool({"check", "-", "--json"}, {}, "\xEF\xBB\xBF" + text);
  CHECK(marked.code == 1);
  const auto errors = nlohmann::json::parse(marked.out)["errors"];
  REQUIRE(errors.size() == 1);
  CHECK(errors[0]["message"] == "the text begins with a byte order mark (BOM)");
  CHECK(errors[0]["line"] == 1);
}

TEST_CASE("an unknown opcode is named with the nearest, an ambiguous one with all") {
  check_refused({"show", "mma.sink"}, 2, "unknown-opcode", {".sink", "did you mean .sync"});
  check_refused({"show", "mma.sync"}, 2, "ambiguous-opcode",
                {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"});
  check_refused({"list", "mma.sink"}, 2, "unknown-family", {"mma.sync"});
  check_refused({"layout", "add.s32", "--operand", "D"}, 2, "no-layout", {"add.s32"});
}
