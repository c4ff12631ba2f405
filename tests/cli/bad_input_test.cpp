// SPDX-License-Identifier: Apache-2.0
// Whatever people get wrong: a message that says what is wrong and what to do, the documented exit code, no
// crash.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "cli/tool.hpp"
#include "ptxloom/npy.hpp"

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
  refused("a", "'='");
  refused("x=in=A.npy", "a=in=");
  refused("a=in=", "nothing follows");
  refused("a=out=A.npy", "a=in=");
  refused("d=out=f99[2]:D.npy", "f99");
  refused("d=out=f32[0]:D.npy", "shape");
  refused("u32=-1", "does not fit");
  refused("u8=256", "does not fit");
  refused("f32=abc", "no number");
  refused("bytes=abc", "odd");
  refused("bytes=zz", "hexadecimal");
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
  if (first.code == 3) SKIP("there is no nvJitLink: " << first.err);
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
  const std::map<std::string, std::string> old = {{"PTXLOOM_CUDA_PATH", PTXLOOM_BINARY_DIR "/fake_old_cuda"}};
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
