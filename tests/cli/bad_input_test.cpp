// SPDX-License-Identifier: Apache-2.0
// Whatever people get wrong: a message that says what is wrong and what to do, the documented exit code, no
// crash.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/scale_ptx.hpp"
#include "cli/tool.hpp"
#include "ptxloom/npy.hpp"
#include "ptxloom/record.hpp"
#include "support/folders.hpp"
#include "support/require.hpp"

using namespace ptxloom::test;
using ptxloom::NpyArray;

namespace {

/// The subcommand on a small gemm.
std::vector<std::string> on_gemm(const std::string& command, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {command, "gemm", "--set", "m=8", "--set", "n=8", "--set", "k=8"});
  return more;
}

/// A build without CUDA has no driver to complain about.
void require_cuda_build() {
  if (run_tool(on_gemm("tune")).err.find("no-cuda-support") != std::string::npos)
    SKIP("this build is without CUDA");
}

/// Exit code, stable code, and words that the message must have; and nothing on stdout.
void check_refused(const std::vector<std::string>& arguments, int code, const std::string& stable,
                   const std::vector<std::string>& words,
                   const std::map<std::string, std::string>& environment = {}) {
  const ToolResult result = run_tool(arguments, environment);
  CAPTURE(arguments, result.err);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(result.err.find("[" + stable + "]") != std::string::npos);
  for (const std::string& word : words) CHECK(result.err.find(word) != std::string::npos);
}

NpyArray matrix(const std::string& dtype, const std::vector<std::size_t>& shape, std::size_t bytes) {
  return {.dtype = dtype, .shape = shape, .bytes = std::vector<std::byte>(bytes, std::byte{1})};
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

TEST_CASE("an unknown template is named with those there are") {
  for (const std::string command : {"emit", "run", "tune"})
    check_refused({command, "gem"}, 2, "unknown-template", {"'gem'", "gemm"});
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

TEST_CASE(".npy files that are not what the problem needs are refused, each with its reason") {
  const TemporaryFolder folder;
  const auto run_with = [&](const std::string& file) {
    return on_gemm("run", {"--device", "cpu", "--set", "a=f16", "--arg", "a=in=" + file});
  };
  const auto file_of = [&](const std::string& name, const NpyArray& array) {
    ptxloom::write_npy(folder / name, array);
    return (folder / name).string();
  };
  const std::string good = file_of("good.npy", matrix("<f2", {8, 8}, 128));
  CHECK(run_tool(run_with(good)).code == 0);

  check_refused(run_with(file_of("type.npy", matrix("<f4", {8, 8}, 256))), 2, "npy-dtype", {"<f4", "<f2"});
  check_refused(run_with(file_of("shape.npy", matrix("<f2", {8, 9}, 144))), 2, "npy-shape", {"8, 9", "8, 8"});
  check_refused(run_with(folder / "absent.npy"), 2, "unreadable-file", {"absent.npy"});

  const std::string text = read_text(good);
  const auto changed = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    write_text(folder / name, other);
    return (folder / name).string();
  };
  check_refused(run_with(changed("order.npy", "'<f2'", "'>f2'")), 2, "npy-byte-order", {"order.npy"});
  check_refused(run_with(changed("fortran.npy", "False", "True ")), 2, "npy-fortran-order", {"fortran.npy"});
  write_text(folder / "short.npy", text.substr(0, text.size() - 1));
  check_refused(run_with(folder / "short.npy"), 2, "npy-truncated", {"short.npy"});
  write_text(folder / "text.npy", "this is no matrix");
  check_refused(run_with(folder / "text.npy"), 2, "npy-not-npy", {"text.npy"});
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

TEST_CASE("a number that is none, or beyond its range, is refused with the range") {
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

TEST_CASE("an option's mistakes are told in the tool's words") {
  check_refused({"list", "--targt", "sm_80"}, 2, "bad-usage",
                {"'--targt'", "--target", "ptxloom list --help"});
  check_refused({"list", "mma", "extra"}, 2, "bad-usage", {"'extra'", "unexpected argument"});
  check_refused({"show"}, 2, "bad-usage", {"name is needed"});
  check_refused({"cache"}, 2, "bad-usage", {"stat, verify, clear"});
  check_refused({"list", "--target"}, 2, "bad-usage", {"--target needs a value"});
  check_refused({"list", "--target", "sm_80", "--target", "sm_90"}, 2, "bad-usage", {"more than once"});
  check_refused({"list", "--json=maybe"}, 2, "bad-usage", {"--json"});
  check_refused({"layout", "mma.sync", "--operand", "A", "--format", "png"}, 2, "bad-usage", {"png", "svg"});
  check_refused({"list", "--target", ""}, 2, "bad-usage", {"--target is given without a value"});
  check_refused(on_gemm("emit", {"-o", ""}), 2, "bad-usage", {"--output is given without a value"});
}

TEST_CASE("an environment that makes no sense is refused by every subcommand") {
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

TEST_CASE("a file of garbage is not merged into the records") {
  const TemporaryFolder folder;
  const ptxloom::Record good{.device = {.name = "GPU", .sm = "sm_80", .sms = 1, .memory_mhz = 1},
                             .kernel_template = "gemm",
                             .problem = {{"m", "8"}},
                             .time_us = 5};
  const std::string line = to_json(good);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = line;
    return other.replace(other.find(from), from.size(), to);
  };
  const std::string garbage[] = {"this is no record",
                                 std::string("\x7f"
                                             "ELF\0\xff\xfe",
                                             7),
                                 "[]",
                                 "1",
                                 "{}",
                                 std::string(100000, '['),
                                 with("\"time_us\":5.0", "\"time_us\":-5.0"),
                                 with("\"time_us\":5.0", "\"time_us\":0"),
                                 with("\"time_us\":5.0", "\"time_us\":1e999"),
                                 with("\"time_us\":5.0", "\"time_us\":null"),
                                 with("\"sms\":1", "\"sms\":1e30"),
                                 with("\"sms\":1", "\"sms\":99999999999"),
                                 with("\"m\":\"8\"", "\"m\":8"),
                                 with("\"schema\":1", "\"schema\":2")};
  for (const std::string& text : garbage) {
    CAPTURE(text.substr(0, 300));
    write_text(folder / "garbage.jsonl", text + "\n");
    check_refused({"tune", "--merge", folder / "garbage.jsonl"}, 2, "bad-record", {"garbage.jsonl:1"},
                  {{"PTXLOOM_RECORDS", folder / "records"}});
  }
  CHECK(!std::filesystem::exists(folder / "records"));
  check_refused({"tune", "--merge", folder.path()}, 2, "unreadable-file", {"directory"});

  write_text(folder / "mixed.jsonl", "garbage\n" + line + "\n");
  const ToolResult mixed =
      run_tool({"tune", "--merge", folder / "mixed.jsonl"}, {{"PTXLOOM_RECORDS", folder / "records"}});
  CHECK(mixed.code == 0);
  CHECK(mixed.err.find("mixed.jsonl:1") != std::string::npos);
  CHECK(mixed.err.find("1 records") != std::string::npos);
}

TEST_CASE("an output beyond all memory is refused before it is made") {
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
  CHECK(results[4].err.find("--set m=4096") != std::string::npos);
  CHECK(results[6].err.find("--must-hit") != std::string::npos);
}

TEST_CASE("a malformed spec overlay is refused with file and form") {
  const TemporaryFolder folder;
  const std::vector<std::string> list = {"list", "--specs", folder.path().string()};
  write_text(folder / "bad.json", "{ this is no JSON");
  const ToolResult syntax = run_tool(list);
  CAPTURE(syntax.err);
  CHECK(syntax.code == 2);
  CHECK(syntax.err.find("bad.json") != std::string::npos);
  CHECK(syntax.err.find("[spec-") != std::string::npos);
  write_text(
      folder / "bad.json",
      R"({"need": "sm_80:7.0", "forms": [{"form": "mine", "text": "mine.<x> D;", "ops": {"D": "out q32"}}]})");
  const ToolResult form = run_tool(list);
  CAPTURE(form.err);
  CHECK(form.code == 2);
  CHECK(form.err.find("mine") != std::string::npos);
  const ToolResult environment = run_tool({"list"}, {{"PTXLOOM_SPECS", folder.path().string()}});
  CHECK(environment.code == 2);
}

TEST_CASE("a cache that cannot be used costs time, never the result") {
  const TemporaryFolder folder;
  const std::string ptx = (folder / "g.ptx").string();
  REQUIRE(run_tool(on_gemm("emit", {"-o", ptx, "--target", "sm_80"})).code == 0);
  const auto compile = [&](const std::string& cache) {
    return run_tool({"compile", ptx, "-o", (folder / "g.cubin").string()}, {{"PTXLOOM_CACHE_DIR", cache}});
  };
  const std::string cache = (folder / "cache").string();
  const ToolResult first = compile(cache);
  if (first.code == 3) ptxloom::test::skip_without("nvjitlink", "there is no nvJitLink: " + first.err);
  REQUIRE(first.code == 0);
  const std::string cubin = read_text(folder / "g.cubin");
  CHECK(compile(cache).err.find("from the cache") != std::string::npos);

  SECTION("damaged entries are misses") {
    for (const bool truncate : {false, true}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(cache)) {
        if (!entry.is_regular_file() || entry.file_size() < 100) continue;
        std::string bytes = read_text(entry.path());
        truncate ? bytes.resize(bytes.size() / 2) : static_cast<void>(bytes[bytes.size() / 2] ^= 1);
        write_text(entry.path(), bytes);
      }
      CHECK(run_tool({"cache", "verify"}, {{"PTXLOOM_CACHE_DIR", cache}}).code == 1);
      const ToolResult again = compile(cache);
      CHECK(again.code == 0);
      CHECK(again.err.find("from the cache") == std::string::npos);
      CHECK(read_text(folder / "g.cubin") == cubin);
      CHECK(run_tool({"cache", "verify"}, {{"PTXLOOM_CACHE_DIR", cache}}).code == 0);
    }
  }
  SECTION("a folder that cannot be made") {
    write_text(folder / "file", "");
    const std::string impossible = (folder / "file").string() + "/cache";
    const ToolResult result = compile(impossible);
    CHECK(result.code == 0);
    CHECK(result.err.find("PTXLOOM_CACHE_DIR") != std::string::npos);
    check_refused({"cache", "stat"}, 2, "cache-unusable", {impossible}, {{"PTXLOOM_CACHE_DIR", impossible}});
  }
  SECTION("a folder of someone else's") {
    if (::geteuid() != 0) SKIP("only root can give a folder away");
    REQUIRE(::chown(cache.c_str(), 12345, 12345) == 0);
    const ToolResult result = compile(cache);
    CHECK(result.code == 0);
    CHECK(result.err.find("12345") != std::string::npos);
    check_refused({"cache", "stat"}, 2, "cache-foreign", {"12345"}, {{"PTXLOOM_CACHE_DIR", cache}});
  }
  SECTION("a folder that others can write to") {
    REQUIRE(::chmod(cache.c_str(), 0777) == 0);
    CHECK(compile(cache).code == 0);
    check_refused({"cache", "clear"}, 2, "cache-exposed", {"chmod"}, {{"PTXLOOM_CACHE_DIR", cache}});
  }
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

TEST_CASE("files that cannot be read or written are named") {
  const TemporaryFolder folder;
  check_refused({"check", folder / "absent.ptx"}, 2, "unreadable-file", {"absent.ptx"});
  check_refused({"compile", folder / "absent.ptx"}, 2, "unreadable-file", {"absent.ptx"});
  check_refused(on_gemm("emit", {"-o", (folder / "no/such/folder.ptx").string()}), 2, "unwritable-file",
                {"folder.ptx"});
  check_refused({"tune", "--merge", folder / "absent.jsonl"}, 2, "unreadable-file", {"absent.jsonl"});
  check_refused(on_gemm("tune", {"--budget", "soon"}), 2, "bad-budget", {"soon", "200evals"});
}

TEST_CASE("every output is tried before the work begins") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  write_text(folder / "x.npy", "");  // read only after the outputs were tried
  std::filesystem::create_directory(folder / "taken");
  std::vector<std::string> impossible = {folder / "no/such/folder/file", folder / "taken",
                                         folder / "scale.ptx/file"};
  if (::geteuid() != 0) {
    std::filesystem::create_directory(folder / "closed");
    ::chmod((folder / "closed").c_str(), 0500);
    write_text(folder / "readonly", "precious");
    ::chmod((folder / "readonly").c_str(), 0400);
    impossible.insert(impossible.end(), {folder / "closed/file", folder / "readonly"});
  }
  const std::string ptx = folder / "scale.ptx";
  for (const std::string& output : impossible) {
    const std::string file = std::filesystem::path(output).filename();
    check_refused(on_gemm("emit", {"-o", output}), 2, "unwritable-file", {file});
    check_refused({"compile", ptx, "-o", output}, 2, "unwritable-file", {file});
    check_refused(on_gemm("tune", {"--device", "cpu", "--report", output}), 2, "unwritable-file", {file});
    check_refused(on_gemm("run", {"--device", "cpu", "--arg", "d=out=" + output}), 2, "unwritable-file",
                  {file});
    check_refused(
        {"run", ptx, "--device", "cpu", "--grid", "1", "--block", "32", "--arg", "u32=1", "f32=1",
         "in=" + (folder / "x.npy").string(), "inout=" + (folder / "x.npy").string() + ":" + output},
        2, "unwritable-file", {file});
  }
  // What was there stays until there is something to put in its place.
  write_text(folder / "kept", "old");
  CHECK(run_tool({"emit", "gemm", "--set", "m=0", "n=8", "k=8", "-o", folder / "kept"}).code == 2);
  CHECK(read_text(folder / "kept") == "old");
  check_refused({"compile", ptx, "-o", ptx}, 2, "bad-usage", {"overwrite the input"});
  CHECK(read_text(ptx) == kScalePtx);
}

TEST_CASE("an output may be a link, a device or a pipe, which stay what they are") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(folder / "target", folder / "link");
  REQUIRE(run_tool(on_gemm("emit", {"-o", folder / "link"})).code == 0);
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_text(folder / "target").find(".version") != std::string::npos);
  CHECK(run_tool(on_gemm("emit", {"-o", "/dev/null"})).code == 0);
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("JSON that is asked for is what comes, on failure too") {
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

TEST_CASE("brackets without end are refused wherever JSON is read") {
  const TemporaryFolder folder;
  const std::string open(1000000, '['), close(1000000, ']');
  const std::string line = "{\"id\":" + open + close + ",\"ptx\":\"ret;\",\"target\":\"sm_80\"}\n";
  const ToolResult lines = run_tool({"check", "--jsonl", "-"}, {},
                                    line + open + "\n" +
                                        R"({"id":[1,{"a":2}],"ptx":"ret;","target":"sm_80"})"
                                        "\n");
  CHECK(lines.code == 1);
  std::istringstream out(lines.out);
  std::vector<nlohmann::json> verdicts;
  for (std::string one; std::getline(out, one);) verdicts.push_back(nlohmann::json::parse(one));
  REQUIRE(verdicts.size() == 3);
  for (const int bad : {0, 1})
    CHECK(verdicts[static_cast<std::size_t>(bad)]["errors"][0]["code"] == "bad-json");
  CHECK(verdicts[2]["id"] == nlohmann::json::parse(R"([1,{"a":2}])"));
  CHECK(verdicts[2]["ok"] == true);

  write_text(folder / "bad.json", open + close);
  check_refused({"list", "--specs", folder.path()}, 2, "spec-json", {"bad.json"});
  write_text(folder / "k.ptx", "// ptxloom.launch " + open + "\n");
  check_refused({"run", folder / "k.ptx", "--device", "cpu"}, 2, "bad-launch-header", {"--grid"});
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

TEST_CASE("an unknown opcode is named with the nearest, an ambiguous one with all") {
  check_refused({"show", "mma.sink"}, 2, "unknown-opcode", {".sink", "did you mean .sync"});
  check_refused({"show", "mma.sync"}, 2, "ambiguous-opcode",
                {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"});
  check_refused({"list", "mma.sink"}, 2, "unknown-family", {"mma.sync"});
  check_refused({"layout", "add.s32", "--operand", "D"}, 2, "no-layout", {"add.s32"});
}
