// SPDX-License-Identifier: Apache-2.0
// The kernels of `ptxloom bench insn`, without a GPU: which rows there are, that the checker accepts the
// kernels and the executor runs them without a fault, and what records keep.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "insn/build.hpp"
#include "insn/chain.hpp"
#include "insn/compare.hpp"
#include "insn/operands.hpp"
#include "insn/probe.hpp"
#include "insn/record.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/ptx.hpp"
#include "support/errors.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::insn;
using Catch::Matchers::ContainsSubstring;

const Context& executor() {
  static const Context context({.device = "cpu"});
  return context;
}

Row row_named(const std::string& opcode) {
  for (Row& row : rows(executor().specs(), executor().target(), opcode)) {
    if (row.variant.opcode() == opcode) return std::move(row);
  }
  FAIL("no row " << opcode);
  return {};
}

/// Runs a kernel for one round, and returns the cycles that its first warp stored.
std::uint64_t run_kernel(const Row& row, const KernelShape& shape, int warps) {
  const std::string text = module_head(row, executor().target()) + kernel_text(row, shape, "k").text;
  const ParseResult read = parse(text, executor());
  if (!read.ok()) throw Error(ErrorKind::illegal_ptx, read.diagnostics);
  const exec::Program program(read.module, "k");
  const Frame frame = frame_of(row);
  exec::Memory memory;
  std::vector<std::byte> in = operands(row, frame, shape.streams, Data::plain), out(8 << 20),
                         slots(kOutBytes + 65536), times(64 * kTimeBytes);
  const std::uint64_t at = memory.map(slots.data(), slots.size(), "slots");
  const std::vector<std::byte> contents = insn::memory(row, frame, at, slots.size(), Data::plain);
  REQUIRE(contents.size() == slots.size());
  std::ranges::copy(contents, slots.begin());
  const Arguments arguments(
      signature_of("k"), {Argument::pointer(memory.map(in.data(), in.size(), "in")),
                          Argument::pointer(memory.map(out.data(), out.size(), "out")), Argument::pointer(at),
                          Argument::pointer(memory.map(times.data(), times.size(), "times")),
                          Argument(std::uint32_t{1}), Argument(std::uint32_t{0})});
  program.run(memory, {.grid = {static_cast<std::uint32_t>(frame.cluster), 1, 1},
                       .block = {static_cast<std::uint32_t>(warps * kLanes), 1, 1},
                       .parameters = arguments.bytes(),
                       .jobs = 1});
  std::uint64_t clocks[2];
  std::memcpy(clocks, times.data(), sizeof clocks);
  return clocks[1] - clocks[0];
}

exec::Program program_of(const Probe& probe, const char* kernel) {
  const ParseResult read = parse(probe_text(probe, executor().target()), executor());
  if (!read.ok()) throw Error(ErrorKind::illegal_ptx, read.diagnostics);
  if (const auto wrong = check(read.module); !wrong.empty()) throw Error(ErrorKind::illegal_ptx, wrong);
  return {read.module, kernel};
}

struct ProbeRun {
  int stored = 0;  ///< warps that stored their times
  std::vector<std::byte> memory;
};

/// Runs a probe's kernel for a round, without the judge: what probes copy and add nobody has written.
ProbeRun run_probe(const Probe& probe) {
  const auto blocks = static_cast<std::uint32_t>(probe.number("blocks", probe.number("cluster", 1)));
  const auto threads =
      static_cast<std::uint32_t>(probe.number("warps", 1)) * static_cast<unsigned>(probe.lanes);
  exec::Memory memory;
  ProbeRun made{.memory = std::vector<std::byte>(kProbeMemory)};
  std::vector<std::byte> in(1 << 12), out(1 << 12), times(8192 * kTimeBytes);
  const auto mapped = [&](std::vector<std::byte>& bytes, const char* name) {
    return memory.map(bytes.data(), bytes.size(), name);
  };
  const std::uint64_t slots = mapped(made.memory, "slots");
  if (const std::optional<TensorMap> map = probe.map(slots)) {
    map->check();
    std::ranges::copy(encode_for_executor(*map).bytes, in.begin());
  }
  const Arguments arguments(
      signature_of("few"),
      {Argument::pointer(mapped(in, "in")), Argument::pointer(mapped(out, "out")), Argument::pointer(slots),
       Argument::pointer(mapped(times, "times")), Argument(std::uint32_t{1}), Argument(std::uint32_t{0})});
  program_of(probe, "few")
      .run(memory, {.grid = {blocks, 1, 1},
                    .block = {threads, 1, 1},
                    .parameters = arguments.bytes(),
                    .jobs = 1,
                    .judge = false});
  for (std::size_t at = 0; at < times.size(); at += kTimeBytes) {
    std::uint64_t clocks[2];
    std::memcpy(clocks, times.data() + at, sizeof clocks);
    made.stored += clocks[1] > clocks[0] ? 1 : 0;
  }
  return made;
}

/// Runs a kernel of a probe of launches, and returns how many instructions its warps executed.
std::uint64_t run_launch(const Probe& probe, const char* kernel, std::uint32_t rounds) {
  exec::Memory memory;
  exec::Stats stats;
  const Argument none = Argument::pointer(0);
  const Arguments arguments(signature_of(kernel),
                            {none, none, none, none, Argument(rounds), Argument(std::uint32_t{0})});
  program_of(probe, kernel)
      .run(memory,
           {.grid = {static_cast<std::uint32_t>(probe.number("blocks", 1)), 1, 1},
            .block = {kLanes, 1, 1},
            .parameters = arguments.bytes()},
           &stats);
  std::uint64_t executed = 0;
  for (const auto& [opcode, times] : stats.executed) executed += times;
  return executed;
}

}  // namespace

TEST_CASE("a target has hundreds of rows, one for each form and type") {
  const std::vector<Row> all = rows(executor().specs(), executor().target(), "");
  std::set<std::string> known;
  std::size_t measured = 0;
  for (const Row& row : all) {
    CHECK(known.insert(std::string(row.variant.form()) + " " + row.essence).second);
    measured += row.why_not.empty() ? 1 : 0;
  }
  CHECK(measured >= 500);
  CHECK(all.size() > measured);  // those that cannot be measured are listed with the reason
}

TEST_CASE("rows are chosen by form, family, opcode or its beginning") {
  CHECK(rows(executor().specs(), executor().target(), "fma.rn.f32").size() == 1);
  CHECK(rows(executor().specs(), executor().target(), "fma").size() > 4);
  CHECK(rows(executor().specs(), executor().target(), "wgmma.mma_async").size() > 20);
  const Error unknown = error_of([] { rows(executor().specs(), executor().target(), "fmaa.rn.f32"); });
  CHECK(unknown.code() == "unknown-form");
  CHECK(exit_code(unknown.kind()) == 2);
  const Error elsewhere = error_of([] { rows(executor().specs(), executor().target(), "tcgen05.mma"); });
  CHECK(elsewhere.code() == "not-on-target");
  CHECK(exit_code(elsewhere.kind()) == 1);
}

TEST_CASE("a chain goes through each operand that may take the result") {
  const auto names = [](const std::string& opcode) {
    std::string text;
    for (const Chain& chain : chains(row_named(opcode)))
      text += chain.name + (chain.bridged ? "(bridge) " : " ");
    return text;
  };
  CHECK(names("fma.rn.f32") == "A B C ");
  CHECK(names("setp.eq.f32") == "A(bridge) B(bridge) ");
  CHECK(names("ld.shared.b32") == "A ");
  CHECK(names("div.s32") == "A ");  // B may not be zero, and a quotient can be
  CHECK(names("st.shared.b32").empty());
}

TEST_CASE("the executor runs kernels of all kinds") {
  for (const char* opcode :
       {"fma.rn.f32", "add.u64", "setp.eq.f32", "ld.shared.b32", "ld.global.b64", "ld.b32", "st.shared.b32",
        "ld.shared::cluster.b32", "shfl.sync.idx.b32", "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "atom.shared.add.u32", "atom.global.add.f32",
        "cvt.rn.f16.f32", "bar.sync", "mbarrier.arrive.shared.b64", "div.s32"}) {
    for (const bool guarded : {false, true}) {
      const Row row = row_named(opcode);
      const std::vector<Chain> found = chains(row);
      INFO(opcode);
      for (const Chain& chain : found) run_kernel(row, {.chain = chain, .copies = 3, .guarded = guarded}, 1);
      run_kernel(
          row,
          {.chain = found.empty() ? Chain{} : found.front(), .streams = 2, .copies = 2, .guarded = guarded},
          4);
    }
  }
}

TEST_CASE("the executor runs the kernels of every row", "[slow]") {
  // What the loop repeats on purpose: copies of the same bytes overtake each other, a barrier is initialised
  // again, and what is an address or a state for arithmetic alone need be none.
  const std::set<std::string, std::less<>> meant = {"exec-unsupported", "copy-not-awaited",
                                                    "mbarrier-initialised", "mbarrier-state", "not-shared"};
  std::size_t ran = 0;
  for (const Row& row : rows(executor().specs(), executor().target(), "")) {
    if (!row.why_not.empty()) continue;
    const std::vector<Chain> found = chains(row);
    for (std::size_t i = 0; i < std::max<std::size_t>(found.size(), 1); ++i) {
      try {
        run_kernel(row, {.chain = found.empty() ? Chain{} : found[i], .streams = 2, .copies = 3},
                   row.rule->warps);
        ++ran;
      } catch (const Error& error) {
        if (!meant.contains(error.code()))
          UNSCOPED_INFO(row.variant.form() << " " << row.variant.opcode() << ": " << error.what());
        CHECK(meant.contains(error.code()));
      }
    }
  }
  CHECK(ran > 1000);
}

TEST_CASE("probes are swept over their parameters") {
  const std::vector<Probe> all = probes("");
  CHECK(all.size() > 100);
  const std::vector<Probe> barriers = probes("barrier");
  CHECK(std::ranges::any_of(barriers,
                            [](const Probe& p) { return p.label() == "barrier.named half=64 warps=4"; }));
  for (const Probe& probe : all) {
    INFO(probe.label());
    CHECK(probe.step.find('<') == probe.step.find("<copy>"));
    const ParseResult read = parse(probe_text(probe, executor().target()), executor());
    for (const Diagnostic& found : read.diagnostics) UNSCOPED_INFO(to_string(found));
    CHECK(read.ok());
  }
  CHECK(error_of([] { probes("", "{\"probes\": [{}]}"); }).code() == "spec-measure");
}

TEST_CASE("probes run in the executor, and each warp stores its times") {
  int ran = 0;
  for (const Probe& probe : probes("")) {
    if (probe.parameters.contains("stride") || probe.launches()) continue;  // a ring of addresses, no times
    INFO(probe.label());
    const std::uint64_t blocks = probe.number("blocks", probe.number("cluster", 1));
    CHECK(static_cast<std::uint64_t>(run_probe(probe).stored) == blocks * probe.number("warps", 1));
    ++ran;
  }
  CHECK(ran > 60);
}

TEST_CASE("the probes of TMA move boxes of the tensor that their map describes") {
  int ran = 0;
  for (const Probe& probe : probes("cp.async.bulk.tensor")) {
    INFO(probe.label());
    const std::optional<TensorMap> map = probe.map(0);
    REQUIRE(map);
    CHECK(map->box[0] * map->box[1] == probe.number("bytes", probe.number("all", 0) / 4));
    CHECK(probe.number("blocks", 1) * map->box[1] <= map->dims[1]);
    CHECK(map->dims[0] * map->dims[1] == kProbeMemory);
    ++ran;
  }
  CHECK(ran == 18);
}

TEST_CASE("the probes of launches have a kernel that ends at once, and one that lasts") {
  const std::vector<Probe> all = probes("launch");
  CHECK(all.size() == 10);
  for (const Probe& probe : all) {
    INFO(probe.label());
    const std::uint64_t blocks = probe.number("blocks", 1);
    CHECK(run_launch(probe, "step", 0) == blocks * (probe.dependent ? 3 : 1));
    CHECK(run_launch(probe, "hold", 4000) > 2 * run_launch(probe, "hold", 1000));
  }
}

TEST_CASE("a record is passed over for the same chip, driver and revision only") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "records.jsonl";
  const Origin origin{.device = "A", .target = "sm_90a", .driver = 13000, .linker = "13.0"};
  const Measured measured{.form = "fma",
                          .opcode = "fma.rn.f32",
                          .data = "plain",
                          .latencies = {{.from = "A", .cycles = 4}, {.from = "step", .nanoseconds = 1500}},
                          .throughputs = {{.warps = 32, .per_cycle = 3.9, .spread = 0.02}}};
  {
    RecordFile records(file, origin);
    CHECK(!records.has("fma.rn.f32", "fma", "plain", "r"));
    records.append(measured, "r");
    CHECK(records.has("fma.rn.f32", "fma", "plain", "r"));
  }
  std::ofstream(file, std::ios::app) << "{\"opcode\": \n";  // as a process leaves it that was killed
  const RecordFile again(file, origin);
  CHECK(again.skipped() == 1);
  CHECK(again.has("fma.rn.f32", "fma", "plain", "r"));
  // A spread of 0 is a figure, too.
  const std::string line = again.line(measured, "r");
  CHECK_THAT(line, ContainsSubstring(R"("cycles":4.0,"spread":0.0)") &&
                       ContainsSubstring(R"("nanoseconds":1500.0,"spread":0.0)") &&
                       ContainsSubstring(R"("per_cycle":3.9,"spread":0.02)"));
  CHECK(!again.has("fma.rn.f32", "fma", "plain", "s"));
  CHECK(!again.has("fma.rn.f32", "fma", "zero", "r"));
  Origin newer = origin;
  newer.driver = 13010;
  CHECK(!RecordFile(file, newer).has("fma.rn.f32", "fma", "plain", "r"));
  CHECK(error_of([&] { RecordFile(folder / "records.jsonl" / "x", origin); }).code() == "unwritable-file");
}

TEST_CASE("only figures whose records have a spread are counted by it") {
  const std::string
      with = R"({"latency":[{"cycles":4,"spread":0.03}],"throughput":[{"spread":0.0},{"spread":0.01}]})",
      without = R"({"latency":[{"cycles":5}],"throughput":[]})";
  CHECK(spread_text(std::vector{without, with}) ==
        "of 3 figures the repeats of 1 lie more than 1 % apart, at most 3.0 %\n");
  CHECK(spread_text(std::vector{without}).empty());
}
