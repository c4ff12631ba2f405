// SPDX-License-Identifier: Apache-2.0
// The lint on machine code of ptxas: it accepts it, and finds what was made wrong in it. Which waits and
// stalls are needed is read off the text here, by rules that know neither operands nor latencies: a register
// that is the first operand of one instruction, and stands in another behind it in the same line of code.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <regex>
#include <set>

#include "assembled.hpp"
#include "sass/lint/hazards.hpp"
#include "sass/lint/lint.hpp"
#include "support/folders.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;

namespace {

void need_nvdisasm() {
  try {
    find_nvdisasm();
  } catch (const Error& error) {
    test::skip_without("nvdisasm", error.what());
  }
}

/// Machine code, which listings refer to.
struct Code {
  explicit Code(std::string bytes)
      : cubin(std::move(bytes)), view(std::as_bytes(std::span(cubin)), "k.cubin") {
    disassembly = disassemble(std::as_bytes(std::span(cubin)));
    if (disassembly.problem) FAIL(disassembly.problem->message);
    listing = list({.cubin = view, .name = "k.cubin", .disassembly = &disassembly});
  }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  std::string cubin;
  CubinView view;
  Disassembly disassembly;
  Listing listing;
};

/// The first operand if it is a register or a predicate; empty for others, and behind a guard.
std::string first_register(const std::string& text) {
  static const std::regex kFirst(R"(^(?!@)[A-Z0-9_.]+ +(U?[RP]\d+)(\.reuse)?(,.*)?$)");
  std::smatch match;
  if (!std::regex_match(text, match, kFirst) || text.find("GMMA") != text.npos) return "";
  return match[1];
}

/// Whether a register stands behind the first operand. Predicates there may be results, so of them only the
/// guard counts.
bool is_source(const std::string& reg, const std::string& text) {
  if (reg.find('P') != reg.npos)
    return text.starts_with("@" + reg + " ") || text.starts_with("@!" + reg + " ");
  const std::size_t comma = text.find(',');
  if (comma == text.npos) return false;
  return std::regex_search(text.substr(comma), std::regex("\\b" + reg + "\\b"));
}

bool ends_line(const ListedInstruction& one) {
  static const std::regex kControl(
      R"(^(@!?U?P\w+ +)?(BRA|BRX|CALL|RET|EXIT|BSYNC|WARPSYNC|JMP|BREAK|ENDCOLLECTIVE)\b.*)");
  return std::regex_match(one.text, kControl);
}

/// The instruction whose result `at` reads, and for whose scoreboard it waits, by their texts.
std::optional<std::size_t> waits_for(const std::vector<ListedInstruction>& code, std::size_t at,
                                     unsigned board) {
  std::set<std::string> overwritten;
  for (std::size_t i = at; i-- > 0;) {
    if (!code[i + 1].label.empty() || ends_line(code[i])) return std::nullopt;
    const std::string reg = first_register(code[i].text);
    if (code[i].control.write == board && !reg.empty() && !overwritten.contains(reg) &&
        is_source(reg, code[at].text))
      return i;
    if ((code[i].control.wait >> board & 1U) != 0 || code[i].text.find("DEPBAR") != std::string::npos)
      return std::nullopt;
    overwritten.insert(reg);
  }
  return std::nullopt;
}

/// Whether an instruction reads a general register by its text, in the address of a store too.
bool names_source(const std::string& reg, const std::string& text) {
  if (is_source(reg, text)) return true;
  const std::size_t bracket = text.find('[');
  return bracket < text.find(',') && std::regex_search(text.substr(bracket), std::regex("\\b" + reg + "\\b"));
}

/// Whether `at` overwrites an operand that an instruction reads late, and for whose scoreboard it waits. What
/// sets a scoreboard itself may stand in the same queue, behind that instruction.
bool overwrites(const std::vector<ListedInstruction>& code, std::size_t at, unsigned board) {
  const std::string reg = first_register(code[at].text);
  if (!reg.starts_with('R') || code[at].control.write || code[at].control.read) return false;
  unsigned waited = 0;
  for (std::size_t i = at; i-- > 0;) {
    if (!code[i + 1].label.empty() || ends_line(code[i])) return false;
    const std::string& text = code[i].text;
    const ControlCode& control = code[i].control;
    const bool done = control.write && (waited >> *control.write & 1U) != 0;
    if (control.read == board && control.write != board && !done && !text.starts_with('@') &&
        text.find("GMMA") == text.npos && names_source(reg, text))
      return !control.write || (code[at].control.wait >> *control.write & 1U) == 0;
    if ((control.wait >> board & 1U) != 0 || text.find("DEPBAR") != text.npos) return false;
    waited |= control.wait;
  }
  return false;
}

/// Whether the next instruction reads the result of `at`, which no scoreboard tells, by their texts.
bool needs_stall(const std::vector<ListedInstruction>& code, std::size_t at) {
  if (at + 1 == code.size() || code[at].control.write || code[at].control.stall < 2) return false;
  if (!code[at + 1].label.empty() || ends_line(code[at])) return false;
  const std::string reg = first_register(code[at].text);
  return !reg.empty() && is_source(reg, code[at + 1].text);
}

struct Fault {
  std::size_t at = 0;
  ControlCode control;
};

std::vector<Fault> faults_of(const std::vector<ListedInstruction>& code) {
  std::vector<Fault> faults;
  for (std::size_t at = 0; at < code.size(); ++at) {
    for (unsigned board = 0; board < kScoreboards; ++board) {
      if ((code[at].control.wait >> board & 1U) == 0) continue;
      const std::optional<std::size_t> producer = waits_for(code, at, board);
      if (!producer && !overwrites(code, at, board)) continue;
      faults.push_back({at, code[at].control});
      faults.back().control.wait &= ~(1U << board);
      // Loads from global memory have no order, so no other's scoreboard tells of them.
      if (!producer || !code[*producer].text.starts_with("LDG")) continue;
      faults.push_back({*producer, code[*producer].control});
      faults.back().control.write.reset();
    }
    if (!needs_stall(code, at)) continue;
    faults.push_back({at, code[at].control});
    faults.back().control.stall = 1;
  }
  return faults;
}

struct Count {
  int accepted = 0, planted = 0;
};

/// Checks that the code is accepted, and that each fault is found; `most`: faults of a function, drawn at
/// random.
Count check(const Code& code, std::size_t most, std::mt19937& random) {
  Count count;
  const int chip = code.view.chip();
  const std::string alarms = lint_text(lint(code.listing, chip, false));
  CAPTURE(alarms);
  CHECK(alarms.find("error:") == std::string::npos);
  const OperandTable& operands = OperandTable::compiled();
  const LatencyTable latencies(chip);
  for (const ListedFunction& function : code.listing.functions) {
    count.accepted += static_cast<int>(function.instructions.size());
    std::vector<Fault> faults = faults_of(function.instructions);
    std::ranges::shuffle(faults, random);
    faults.resize(std::min(faults.size(), most));
    std::vector<HazardStep> steps = steps_of(function, operands, chip);
    for (const Fault& fault : faults) {
      bool found = false;
      const Watch watch{.hazard = [&](const Hazard&) { found = true; },
                        .idle_wait = [](std::size_t, unsigned) {},
                        .distance = {},
                        .unseen = {}};
      const ControlCode before = std::exchange(steps[fault.at].control, fault.control);
      follow(steps, function.facts.kernel, latencies, watch);
      steps[fault.at].control = before;
      CAPTURE(code.view.target(), function.facts.name, function.instructions[fault.at].offset,
              function.instructions[fault.at].text, to_string(before), to_string(fault.control));
      CHECK(found);
      ++count.planted;
    }
  }
  return count;
}

/// Products that the next one reads, with values that depend on others in between.
constexpr std::string_view kChainOfF64 = R"(.version {version}
.target {target}
.address_size 64
.visible .entry chain(.param .b64 p)
{
  .reg .b64 d; .reg .f64 f<4>; .reg .pred q; .reg .b32 r;
  ld.param.b64 d, [p];
  ld.global.f64 f0, [d];
  ld.global.f64 f1, [d+8];
  fma.rn.f64 f2, f0, f1, f1;
  fma.rn.f64 f3, f1, f0, f0;
  fma.rn.f64 f2, f2, f3, f1;
  setp.lt.f64 q, f2, f3;
  selp.f64 f0, f2, f3, q;
  fma.rn.f64 f1, f0, f2, f3;
  cvt.rzi.s32.f64 r, f1;
  st.global.b32 [d], r;
  ret;
}
)";

/// The kernels of kernels.cu for a target, by nvcc.
std::string compile_kernels(const std::string& nvcc, std::string_view target, int level) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(
      fmt::format("'{}' -arch={} -cubin -Xptxas -O{} '{}' -o '{}'", nvcc, target, level,
                  test::source_folder() + "/tests/sass/kernels.cu", (folder / "k.cubin").string()));
  INFO(result.output);
  REQUIRE(result.status == 0);
  std::ifstream in(folder / "k.cubin", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string nvcc_or_skip() {
  need_nvdisasm();
  const std::optional<std::string> nvcc = find_cuda_tool("nvcc");
  if (!nvcc) test::skip_without("nvcc", "nvcc is not installed");
  return *nvcc;
}

std::mt19937 seeded() {
  const auto seed = std::random_device{}();
  UNSCOPED_INFO("seed " << seed);
  return std::mt19937(seed);
}

}  // namespace

TEST_CASE("code of ptxas is accepted, and planted faults are found, for every target", "[oracle]") {
  need_nvdisasm();
  std::mt19937 random = seeded();
  for (const TargetInfo& target : test::targets_or_skip()) {
    const Code code(test::assemble(test::kKernels, target.name, "").cubin);
    const Count count = check(code, 20, random);
    CHECK(count.accepted > 150);
    CHECK(count.planted > 10);
  }
}

TEST_CASE("code of nvcc is accepted, and planted faults are found", "[oracle]") {
  const std::string nvcc = nvcc_or_skip();
  std::mt19937 random = seeded();
  const Code code(compile_kernels(nvcc, "sm_90a", 3));
  const Count count = check(code, 10, random);
  CHECK(count.accepted > 2500);
  CHECK(count.planted > 100);
}

TEST_CASE("code of the newest ptxas is accepted, optimised or not", "[oracle]") {
  need_nvdisasm();
  const std::string folder = test::build_folder() + "/toolkits/" + to_string(toolkits().back().cuda);
  const std::string ptxas = folder + "/nvidia/cu13/bin/ptxas";
  if (!std::filesystem::exists(ptxas)) SKIP("./dev test fetches the newest ptxas, which is not there");
  struct Case {
    std::string_view text;
    const char *target, *level;
  };
  const Case cases[] = {{test::kKernels, "sm_90a", "-O0"}, {test::kKernels, "sm_75", "-O0"},
                        {kChainOfF64, "sm_120", "-O0"},    {kChainOfF64, "sm_100", "-O3"},
                        {kChainOfF64, "sm_103", "-O3"},    {kChainOfF64, "sm_110", "-O3"}};
  for (const Case& one : cases) {
    CAPTURE(one.target, one.level);
    const Code code(test::assemble(one.text, one.target, one.level, ptxas).cubin);
    const std::string alarms = lint_text(lint(code.listing, code.view.chip(), false));
    CAPTURE(alarms);
    CHECK(alarms.find("error:") == std::string::npos);
  }
}

TEST_CASE("all faults in code of nvcc are found, for each generation of chips", "[.][oracle]") {
  const std::string nvcc = nvcc_or_skip();
  std::mt19937 random = seeded();
  int planted = 0;
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    for (const int level : {1, 3})
      planted += check(Code(compile_kernels(nvcc, target, level)), 100000, random).planted;
  CHECK(planted > 5000);
}

TEST_CASE("faults in the cubins of the folder PTXLOOM_LINT_CUBINS are found", "[.]") {
  need_nvdisasm();
  std::mt19937 random = seeded();
  const char* const folder = std::getenv("PTXLOOM_LINT_CUBINS");
  REQUIRE(folder != nullptr);
  std::map<std::string, Count> by_target;
  std::map<std::string, std::size_t> functions;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cubin") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const Code code({std::istreambuf_iterator<char>(in), {}});
    INFO(entry.path());
    const Count count = check(code, 40, random);
    Count& sum = by_target[std::string(code.view.target())];
    sum.accepted += count.accepted;
    sum.planted += count.planted;
    functions[std::string(code.view.target())] += code.listing.functions.size();
  }
  for (const auto& [target, count] : by_target)
    fmt::print("{}: {} functions, {} instructions, {} faults\n", target, functions[target], count.accepted,
               count.planted);
}
