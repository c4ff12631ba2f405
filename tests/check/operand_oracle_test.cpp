// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <sstream>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

// Which operands fit is ptxas's to say. Instructions with operands drawn at random, most of them plausible,
// are put to it and to us; the verdicts must agree line by line.
namespace ptxloom::operand_oracle_test {
namespace {

const std::vector<std::string> kTypes{"b8", "b16", "b32", "b64", "u8",  "u16", "u32", "u64",
                                      "s8", "s16", "s32", "s64", "f16", "f32", "f64"};
const std::vector<std::string> kLiterals{
    "0",       "1",       "-1",    "70000", "0x10", "1U", "1.0", "0f3F800000", "0d3FF0000000000000",
    "WARP_SZ", "(1+2)*4", "-2.5e3"};
// No bases of 32 bits: whether ptxas takes them for global memory depends on the rest of the program.
const std::vector<std::string> kAddresses{"[ab64]", "[as64+16]", "[au64+-16]", "[gv]",   "[gv+16]", "[sv]",
                                          "[lv]",   "[cv]",      "[kp]",       "[af32]", "[af64]",  "[ap]"};

std::string header() {
  std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.global .align 16 .b32 gv[64];\n.const .align 16 .b32 "
      "cv[64];\n"
      ".visible .entry k(.param .b64 kp)\n{\n.shared .align 16 .b64 sv[8];\n.local .align 16 .b64 lv[8];\n"
      ".reg .pred ap, bp;\n";
  for (const std::string& type : kTypes) text += ".reg ." + type + " a" + type + ", b" + type + ";\n";
  return text;
}

// What may plausibly stand at one place of an instruction: "r:" registers of some types, and other words as
// they are.
struct Opcode {
  std::string text;
  std::vector<std::vector<std::string>> places;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::string line(const Opcode& opcode) {
    std::string text = opcode.text + " ";
    for (std::size_t i = 0; i < opcode.places.size(); ++i) {
      sinks_ = i == 0 && !opcode.text.starts_with("setp");  // ptxas takes `setp _`, the manual only `p|_`
      text += (i == 0 ? "" : ", ") + operand(opcode.places[i]);
    }
    return text + ";";
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  const std::string& one_of(const std::vector<std::string>& words) { return words[below(words.size())]; }

  std::string anything() {
    switch (below(5)) {
      case 0:
      case 1:
        return "a" + one_of(kTypes);
      case 2:
        return one_of(kLiterals);
      case 3:
        return below(2) == 0 ? "ap" : "!ap";
      default:
        return sinks_ ? "_" : "WARP_SZ";
    }
  }

  // "b32*4": a vector of four such registers, now and then with another length or a stranger in it. Beyond
  // what the manual describes, and so not asked: strangers in vectors of one, literals in vectors of .b32,
  // `_` in vectors that are read.
  std::string place(const std::string& word) {
    const std::size_t star = word.find('*');
    if (star == word.npos) return word;
    std::size_t count = std::stoul(word.substr(star + 1));
    if (below(8) == 0) count += below(2) == 0 ? 1 : -1;
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i) {
      const std::string stranger = sinks_ && below(3) == 0 ? "_" : "a" + one_of(kTypes);
      text += (i == 0 ? "" : ", ") +
              (count > 1 && below(12) == 0 ? stranger : (i % 2 == 0 ? "a" : "b") + word.substr(0, star));
    }
    return text + "}";
  }

  std::string operand(const std::vector<std::string>& plausible) {
    const bool address = plausible[0][0] == '[';
    if (below(4) != 0) return place(one_of(plausible));
    return address ? one_of(kAddresses) : anything();
  }

  std::mt19937_64 random_;
  bool sinks_ = false;
};

std::vector<Opcode> opcodes() {
  const std::vector<std::string> i32{"ab32", "bu32", "as32", "7"}, f32s{"af32", "bb32", "1.0"},
      p{"ap", "!bp"};
  return {{"add.s32", {i32, i32, i32}},
          {"add.f32", {f32s, f32s, f32s}},
          {"add.f16x2", {{"ab32", "bu32"}, {"ab32"}, {"bb32"}}},
          {"fma.rn.f16", {{"ab16", "af16"}, {"ab16"}, {"bf16"}, {"bb16"}}},
          {"fma.rn.bf16x2", {{"ab32"}, {"ab32"}, {"bb32"}, {"bb32"}}},
          {"fma.rn.f64", {{"ab64", "af64"}, {"af64", "1.5"}, {"bf64"}, {"bb64"}}},
          {"mul.wide.u16", {{"ab32", "au32"}, {"ab16", "9"}, {"as16"}}},
          {"shl.b64", {{"ab64", "au64"}, {"ab64"}, {"ab32", "bu32", "3"}}},
          {"and.b32", {{"ab32", "af32"}, {"ab32", "12"}, {"bs32"}}},
          {"and.pred", {{"ap"}, p, p}},
          {"selp.f32", {f32s, f32s, f32s, p}},
          {"setp.lt.s32", {{"ap", "ap|bp", "ap|_", "_|bp"}, i32, i32}},
          {"setp.lt.and.f32", {{"ap", "ap|bp"}, f32s, f32s, p}},
          {"mov.b32", {{"ab32", "af32", "b16*2", "b8*4"}, {"bb32", "b16*2", "b8*4", "5"}}},
          {"mov.b64", {{"ab64", "b32*2", "b16*4"}, {"bb64", "b32*2", "b16*4", "-5"}}},
          {"mov.f32", {f32s, f32s}},
          {"ld.global.f32", {{"af32", "bb64"}, {"[ab64]", "[gv]"}}},
          {"ld.global.v2.b16", {{"b16*2", "b32*2", "f32*2"}, {"[as64+16]"}}},
          {"ld.shared.u8", {{"ab32", "au16", "as8"}, {"[ab32]", "[sv]"}}},
          {"ld.b32", {{"ab32", "af32"}, {"[ab64]", "[sv]", "[gv]"}}},
          {"st.global.b64", {{"[ab64]", "[gv+16]"}, {"ab64", "bf64", "3"}}},
          {"st.shared.v4.b32", {{"[ab32]", "[sv]"}, {"b32*4", "f32*4", "u32*4"}}},
          {"cvt.u32.u8", {{"ab32", "as64"}, {"ab8", "bu16", "3"}}},
          {"cvt.rn.f32.s32", {{"af32", "ab32", "ab64"}, {"as32", "bb64"}}},
          {"cvt.rn.f16.f32", {{"ab16", "af16"}, f32s}},
          {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
           {{"f32*4", "b32*4"}, {"b32*4"}, {"b32*2", "u32*2"}, {"f32*4"}}},
          {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", {{"f64*2"}, {"f64*1"}, {"b64*1"}, {"f64*2"}}}};
}

// Our verdict on every line: refused if reading or checking it finds an error.
std::set<std::size_t> refused_by_us(const std::string& before, const std::vector<std::string>& lines) {
  std::string ptx = before;
  for (const std::string& line : lines) ptx += line + "\n";
  ptx += "}\n";
  const ParseResult read = parse(ptx, std::make_shared<Specs>());
  std::vector<Diagnostic> found = read.diagnostics;
  const std::vector<Diagnostic> checked = check(read.module);
  found.insert(found.end(), checked.begin(), checked.end());
  const auto first = std::count(before.begin(), before.end(), '\n') + 1;
  std::set<std::size_t> refused;
  for (const Diagnostic& diagnostic : found)
    if (diagnostic.severity == Severity::error)
      refused.insert(static_cast<std::size_t>(diagnostic.line - first));
  return refused;
}

}  // namespace

TEST_CASE("operands drawn at random get the verdict of ptxas", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Generator generator(seed);
  std::size_t accepted = 0, rejected = 0;
  for (const Opcode& opcode : opcodes()) {
    std::vector<std::string> lines;
    for (int i = 0; i < 60; ++i) lines.push_back(generator.line(opcode));
    const std::set<std::size_t> theirs = Ptxas(*path).refused(header(), lines, "}\n", "sm_90a");
    const std::set<std::size_t> ours = refused_by_us(header(), lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      INFO(lines[i]);
      const bool we_refuse = ours.contains(i), ptxas_refuses = theirs.contains(i);
      CHECK(we_refuse == ptxas_refuses);
      (theirs.contains(i) ? rejected : accepted) += 1;
    }
  }
  CHECK(accepted > 200);
  CHECK(rejected > 200);
}

}  // namespace ptxloom::operand_oracle_test
