// SPDX-License-Identifier: Apache-2.0
// `run FILE.ptx`: --cluster, --cooperative, --step-limit and --symbol, in the executor.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "cli/tool.hpp"
#include "ptxloom/npy.hpp"
#include "support/folders.hpp"

namespace ptxloom::test::launch_options_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::uint32_t>;

std::string ptx(const std::string& name, const std::string& directives, const std::string& body,
                const std::string& outside = {}) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + outside + ".visible .entry " + name +
         "(.param .u64 out)\n" + directives +
         "\n{\n.reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<4>;\nld.param.u64 %rd0, [out];\n" + body +
         "\nret;\n}\n";
}

// The cluster's size and the block's rank in it, a word each for each block.
const std::string kWho =
    "mov.u32 %r0, %ctaid.x; mad.wide.u32 %rd1, %r0, 8, %rd0; mov.u32 %r1, %cluster_nctarank;\n"
    "st.global.u32 [%rd1], %r1; mov.u32 %r1, %cluster_ctarank; st.global.u32 [%rd1+4], %r1;";

// Each thread tells its number, waits for the grid as cooperative groups do, and reads that of the last
// block.
const std::string kGridSync = R"(
    mov.u32 %r0, %envreg2; cvt.u64.u32 %rd1, %r0;
    mov.u32 %r0, %envreg1; cvt.u64.u32 %rd2, %r0;
    bfi.b64 %rd3, %rd2, %rd1, 32, 32;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
    mad.wide.u32 %rd4, %r1, 4, %rd0;
    add.u32 %r3, %r1, 100;
    st.global.u32 [%rd4], %r3;
    setp.ne.s64 %p0, %rd3, 0;
    @%p0 bra there;
    trap;
there:
    add.s64 %rd5, %rd3, 4;
    barrier.sync 0;
    sub.u32 %r4, 0x80000001, %r2;
    setp.eq.u32 %p1, %r1, 0;
    selp.b32 %r4, %r4, 1, %p1;
    atom.add.release.gpu.u32 %r5, [%rd5], %r4;
again:
    ld.acquire.gpu.u32 %r6, [%rd5];
    xor.b32 %r7, %r6, %r5;
    setp.gt.s32 %p2, %r7, -1;
    @%p2 bra again;
    barrier.sync 0;
    not.b32 %r8, %r1;
    add.u32 %r8, %r8, %r2;
    mad.wide.u32 %rd6, %r8, 4, %rd0;
    ld.global.u32 %r9, [%rd6];
    mad.wide.u32 %rd7, %r2, 4, %rd4;
    st.global.u32 [%rd7], %r9;)";

struct Run {
  ToolResult result;
  Words out;
};

class Files {
 public:
  std::string write(const std::string& text) const {
    write_text(folder_ / "k.ptx", text);
    return (folder_ / "k.ptx").string();
  }
  std::filesystem::path path(const char* name) const { return folder_ / name; }

  /// With an output of `words` words.
  Run run(const std::string& text, std::size_t words, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "run",      write(text),
        "--arg",    "out=u32[" + std::to_string(words) + "]:" + path("out.npy").string(),
        "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Run run{.result = run_tool(arguments), .out = {}};
    if (run.result.code != 0) return run;
    run.out.resize(words);
    std::memcpy(run.out.data(), read_npy(path("out.npy")).bytes.data(), 4 * words);
    return run;
  }

 private:
  TemporaryFolder folder_;
};

void require_refusal(const Run& run, const std::string& said, int code = 2) {
  CAPTURE(run.result.err);
  CHECK(run.result.code == code);
  CHECK(run.result.out.empty());
  CHECK_THAT(run.result.err, ContainsSubstring(said));
}

}  // namespace

TEST_CASE("run --cluster gives clusters to a kernel that requires none, and nothing else to one that does") {
  const Files files;
  const std::string free = ptx("who", "", kWho), bound = ptx("who", ".reqnctapercluster 2, 1, 1", kWho);
  const Words twos = {2, 0, 2, 1, 2, 0, 2, 1}, ones = {1, 0, 1, 0, 1, 0, 1, 0};
  CHECK(files.run(free, 8, {"--grid", "4", "--block", "1"}).out == ones);
  CHECK(files.run(free, 8, {"--grid", "4", "--block", "1", "--cluster", "2"}).out == twos);
  CHECK(files.run(free, 8, {"--grid", "4", "--block", "1", "--cluster", "1,1,1"}).out == ones);
  CHECK(files.run(bound, 8, {"--grid", "4", "--block", "1"}).out == twos);
  CHECK(files.run(bound, 8, {"--grid", "4", "--block", "1", "--cluster", "2,1,1"}).out == twos);
  for (const std::string other : {"4", "1", "1,1,1", "1,2"}) {
    CAPTURE(other);
    require_refusal(files.run(bound, 8, {"--grid", "4", "--block", "1", "--cluster", other}),
                    "but the kernel requires 2,1,1 (.reqnctapercluster) [launch-cluster]");
  }
  require_refusal(files.run(free, 8, {"--grid", "3", "--block", "1", "--cluster", "2"}), "[launch-cluster]");
  require_refusal(files.run(free, 8, {"--grid", "4", "--block", "1", "--cluster", "0"}), "--cluster 0");
  require_refusal(files.run(free, 8, {"--grid", "4", "--block", "1", "--cluster", "two"}), "--cluster two");
}

TEST_CASE("run --cooperative: the blocks of a grid meet at grid.sync, and without it they trap") {
  const Files files;
  const std::string text = ptx("meet", "", kGridSync);
  constexpr std::uint32_t blocks = 300;
  const std::vector<std::string> launch = {"--grid", std::to_string(blocks), "--block", "1", "--cooperative"};
  const Run run = files.run(text, 2 * blocks, launch);
  CAPTURE(run.result.err);
  REQUIRE(run.result.code == 0);
  for (std::uint32_t i = 0; i < blocks; ++i) CHECK(run.out[blocks + i] == 100 + blocks - 1 - i);
  require_refusal(files.run(text, 2 * blocks, {"--grid", "300", "--block", "1"}), "trap", 1);
}

TEST_CASE("run --cooperative refuses a grid that cannot run at once") {
  const Files files;
  const std::string text = ptx("nothing", "", "");
  const auto refused = [&](const std::vector<std::string>& launch) {
    std::vector<std::string> more = {"--cooperative"};
    more.insert(more.end(), launch.begin(), launch.end());
    return files.run(text, 1, more);
  };
  require_refusal(refused({"--grid", "1000000", "--block", "32"}), "[launch-cooperative]");
  // 2048 threads, 32 blocks and 228 KB of an SM of sm_90, 132 of them.
  CHECK(refused({"--grid", "264", "--block", "1024"}).result.code == 0);
  require_refusal(refused({"--grid", "265", "--block", "1024"}), "132 SMs hold 264 of them at once");
  CHECK(refused({"--grid", "132,32", "--block", "33"}).result.code == 0);
  require_refusal(refused({"--grid", "132,33", "--block", "1"}), "132 SMs hold 4224 of them at once");
  CHECK(refused({"--grid", "132", "--block", "1", "--smem", "200000"}).result.code == 0);
  require_refusal(refused({"--grid", "133", "--block", "1", "--smem", "200000"}), "132 SMs hold 132 of them");
  CHECK(files.run(text, 1, {"--grid", "265", "--block", "1024"}).result.code == 0);
}

TEST_CASE("run --step-limit ends a kernel that hangs") {
  const Files files;
  const std::string spin = ptx("spin", "", "again: ld.volatile.global.u32 %r0, [%rd0]; bra again;");
  const Run run = files.run(spin, 1, {"--grid", "1", "--block", "1", "--step-limit", "5000"});
  require_refusal(run, "has executed 5000 instructions and is still running", 1);
  CHECK_THAT(run.result.err, ContainsSubstring("[step-limit]"));
  CHECK_THAT(run.result.err, ContainsSubstring("--step-limit"));
  const std::string loop = ptx(
      "loop", "", "mov.u32 %r0, 0; again: add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 1000; @%p0 bra again;");
  CHECK(files.run(loop, 1, {"--grid", "1", "--block", "1", "--step-limit", "4000"}).result.code == 0);
  CHECK(files.run(loop, 1, {"--grid", "1", "--block", "1", "--step-limit", "0"}).result.code == 0);
  CHECK(files.run(loop, 1, {"--grid", "1", "--block", "1", "--step-limit", "2000"}).result.code == 1);
  for (const std::string wrong : {"-1", "many", "1.5", "99999999999999999999999"}) {
    CAPTURE(wrong);
    CHECK(files.run(loop, 1, {"--grid", "1", "--block", "1", "--step-limit=" + wrong}).result.code == 2);
  }
  const ToolResult gpu = run_tool(
      {"run", files.write(loop), "--device", "gpu", "--step-limit", "9", "--grid", "1", "--block", "1"},
      {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  if (gpu.code == 3) SKIP("there is no stand-in driver: " << gpu.err);
  CHECK(gpu.code == 2);
  CHECK_THAT(gpu.err, ContainsSubstring("only the executor can count"));
}

TEST_CASE("run --symbol fills .const and .global variables from files") {
  const Files files;
  const std::string text =
      ptx("sum", "",
          "ld.const.u32 %r0, [coef+4]; ld.global.u32 %r1, [bias]; add.u32 %r0, %r0, %r1;\n"
          "st.global.u32 [%rd0], %r0; ld.global.u64 %rd1, [table]; cvt.u32.u64 %r2, %rd1;\n"
          "st.global.u32 [%rd0+4], %r2;",
          ".const .align 4 .b8 coef[8];\n.visible .global .align 4 .u32 bias = 5;\n"
          ".global .align 8 .u64 table[1] = {bias};\n");
  NpyArray array{.dtype = "<i4", .shape = {2}, .bytes = std::vector<std::byte>(8)};
  const std::int32_t values[2] = {-1, 40};
  std::memcpy(array.bytes.data(), values, 8);
  write_npy(files.path("c.npy"), array);
  write_text(files.path("bias.bin"), std::string("\2\0\0\0", 4));
  write_text(files.path("table.bin"), std::string("\7\0\0\0\0\0\0\0", 8));
  const std::string c = "coef=" + files.path("c.npy").string(), b = "bias=" + files.path("bias.bin").string();
  const std::string t = "table=" + files.path("table.bin").string();
  const std::vector<std::string> launch = {"--grid", "1", "--block", "1"};
  const auto with = [&](const std::vector<std::string>& symbols) {
    std::vector<std::string> more = launch;
    for (const std::string& symbol : symbols) more.insert(more.end(), {"--symbol", symbol});
    return files.run(text, 2, more);
  };

  CHECK(with({}).out.at(0) == 5);
  CHECK(with({c}).out.at(0) == 45);
  CHECK(with({b, c}).out.at(0) == 42);
  CHECK(with({t}).out == Words{5, 7});  // not the address that it is declared with
  std::vector<std::string> together = {"--symbol", b, c};
  together.insert(together.end(), launch.begin(), launch.end());
  CHECK(files.run(text, 2, together).out.at(0) == 42);

  require_refusal(with({"bais=" + files.path("bias.bin").string()}),
                  "has no variable 'bais' [unknown-variable]");
  CHECK_THAT(
      with({"bais=" + files.path("bias.bin").string()}).result.err,
      ContainsSubstring("did you mean 'bias'? it has coef (8 bytes), bias (4 bytes), table (8 bytes)"));
  require_refusal(with({"coef=" + files.path("bias.bin").string()}),
                  "the variable has 8 bytes, but the file has 4 [variable-size]");
  require_refusal(with({"coef"}), "this is not NAME=FILE [bad-symbol]");
  require_refusal(with({"coef="}), "this is not NAME=FILE [bad-symbol]");
  require_refusal(with({"=x"}), "this is not NAME=FILE [bad-symbol]");
  require_refusal(with({c, c}), "the variable is set twice [bad-symbol]");
  require_refusal(with({"coef=" + files.path("none.bin").string()}), "none.bin");
  require_refusal(with({"bias=" + files.path("none.npy").string()}), "none.npy");
}

TEST_CASE("run TEMPLATE refuses what its template says itself") {
  for (const std::vector<std::string>& option :
       std::vector<std::vector<std::string>>{{"--cluster", "2"}, {"--cooperative"}, {"--symbol", "a=b"}}) {
    std::vector<std::string> words = {"run", "gemm", "--device", "cpu", "--set", "m=8", "n=8", "k=8"};
    words.insert(words.end(), option.begin(), option.end());
    const ToolResult result = run_tool(words);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, ContainsSubstring(option[0] + " cannot be used when running a template"));
  }
}

TEST_CASE("run's report names the target that was executed") {
  const Files files;
  const auto device_of = [&](const std::string& target) {
    const std::string text =
        ".version 8.0\n.target " + target + "\n.address_size 64\n.visible .entry k() { ret; }\n";
    const ToolResult result =
        run_tool({"run", files.write(text), "--device", "cpu", "--grid", "1", "--block", "1", "--json"});
    REQUIRE(result.code == 0);
    const auto json = nlohmann::json::parse(result.out);
    CHECK(check_schema(json, read_schema("run")) == "");
    return json["report"]["device"].get<std::string>();
  };
  CHECK(device_of("sm_80") == "CPU executor, sm_80");
  CHECK(device_of("sm_90a") == "CPU executor, sm_90a");
}

}  // namespace ptxloom::test::launch_options_test
