// SPDX-License-Identifier: Apache-2.0
// Files and folders that cannot be read or written, or hold something else.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/bad_input.hpp"
#include "cli/scale_ptx.hpp"
#include "ptxloom/npy.hpp"
#include "ptxloom/record.hpp"
#include "support/replaced.hpp"
#include "support/require.hpp"

using namespace ptxloom::test;
using ptxloom::NpyArray;

namespace {

NpyArray matrix(const std::string& dtype, const std::vector<std::size_t>& shape, std::size_t bytes) {
  return {.dtype = dtype, .shape = shape, .bytes = std::vector<std::byte>(bytes, std::byte{1})};
}

}  // namespace

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
    write_text(folder / name, replaced(text, from, to));
    return (folder / name).string();
  };
  check_refused(run_with(changed("order.npy", "'<f2'", "'>f2'")), 2, "npy-byte-order", {"order.npy"});
  check_refused(run_with(changed("fortran.npy", "False", "True ")), 2, "npy-fortran-order", {"fortran.npy"});
  write_text(folder / "short.npy", text.substr(0, text.size() - 1));
  check_refused(run_with(folder / "short.npy"), 2, "npy-truncated", {"short.npy"});
  write_text(folder / "text.npy", "this is no matrix");
  check_refused(run_with(folder / "text.npy"), 2, "npy-not-npy", {"text.npy"});
}

TEST_CASE("packed elements are read from bytes in one dimension, or in rows of whole bytes") {
  const TemporaryFolder folder;
  const auto run_with = [&](const std::string& name, const std::vector<std::size_t>& shape) {
    const std::string file = folder / (name + ".npy");
    std::size_t bytes = 1;
    for (const std::size_t extent : shape) bytes *= extent;
    ptxloom::write_npy(file, matrix("|u1", shape, bytes));
    return std::vector<std::string>{"run",  "scaled_gemm",    "--set",          "m=5",    "n=7",
                                    "k=30", "format_a=mxfp4", "format_b=mxfp4", "lda=34", "--device",
                                    "cpu",  "--target",       "sm_80",          "--arg",  "a=in=" + file};
  };
  CHECK(run_tool(run_with("flat", {5 * 17})).code == 0);
  CHECK(run_tool(run_with("rows", {5, 17})).code == 0);
  check_refused(run_with("elements", {5, 34}), 2, "npy-shape",
                {"[5, 34]", "[85] or [5, 17]", "in one dimension, or in rows of whole bytes"});
  check_refused(run_with("columns", {17, 5}), 2, "npy-shape", {"[17, 5]", "[85] or [5, 17]"});
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

TEST_CASE("files that cannot be read or written are named") {
  const TemporaryFolder folder;
  check_refused({"check", folder / "absent.ptx"}, 2, "unreadable-file", {"absent.ptx"});
  check_refused({"compile", folder / "absent.ptx"}, 2, "unreadable-file", {"absent.ptx"});
  check_refused({"sanitize", folder / "absent.ptx"}, 2, "unreadable-file", {"absent.ptx"});
  check_refused(on_gemm("emit", {"-o", (folder / "no/such/folder.ptx").string()}), 2, "unwritable-file",
                {"folder.ptx"});
  check_refused({"tune", "--merge", folder / "absent.jsonl"}, 2, "unreadable-file", {"absent.jsonl"});
  check_refused(on_gemm("tune", {"--budget", "soon"}), 2, "bad-budget", {"soon", "200evals"});
}

TEST_CASE("a file of CUDA C++ is refused with the command that makes PTX of it") {
  const TemporaryFolder folder;
  const std::filesystem::path source = folder / "kernel.cu";
  write_text(source, "__global__ void kernel(float* p) { *p = 1; }\n");
  for (const char* command : {"check", "compile", "run", "sanitize", "sass", "report"})
    check_refused({command, source}, 2, "cuda-source", {"kernel.cu", "nvcc -ptx", "kernel.ptx"});
}

TEST_CASE("an input without end is refused") {
  const TemporaryFolder folder;
  const std::vector<std::string> large{"/dev/zero", "256 MiB", "smaller file"};
  check_refused({"check", "/dev/zero"}, 2, "input-too-large", large);
  check_refused({"compile", "/dev/zero"}, 2, "input-too-large", large);
  check_refused({"tune", "--merge", "/dev/zero"}, 2, "input-too-large", large,
                {{"PTXLOOM_RECORDS", folder / "records"}});
  const ToolResult lines = run_tool({"check", "--jsonl", "/dev/zero"});
  CHECK(lines.code == 2);
  CHECK(nlohmann::json::parse(lines.out)["error"]["code"] == "input-too-large");
  CHECK(lines.err.find("a line of /dev/zero has more than 16 MiB") != std::string::npos);
  check_refused(on_gemm("run", {"--device", "cpu", "--arg", "a=in=/dev/zero"}), 2, "input-too-large", large);
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
