// SPDX-License-Identifier: Apache-2.0
// What the assembler makes of the kernels: no GPU is needed to see whether an instruction is in its loop.
#include <catch2/catch_test_macros.hpp>

#include "insn/build.hpp"
#include "ptxloom/specs.hpp"
#include "support/require.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::insn;

const Linker& linker() {
  static const Libraries libraries;
  static const Linker linker(libraries);
  if (!libraries.has_nvjitlink()) test::skip_without("nvjitlink", "nvJitLink is missing");
  return linker;
}

BuiltRow built(const std::string& opcode) {
  static const Specs specs;
  const Target target("sm_90a");
  for (const Row& row : rows(specs, target, opcode)) {
    if (row.variant.opcode() == opcode) return build(row, linker(), target);
  }
  FAIL("no row " << opcode);
  return {};
}

const Proof& throughput(const BuiltRow& row) {
  INFO(row.failure);
  REQUIRE(!row.pairs.empty());
  REQUIRE(row.pairs.back().throughput);
  return row.pairs.back().proof;
}

}  // namespace

TEST_CASE("the loop holds one machine instruction for each instruction") {
  for (const auto& [opcode, sass] :
       std::map<std::string, std::string>{{"fma.rn.f32", "FFMA"},
                                          {"fma.rn.f64", "DFMA"},
                                          {"shfl.sync.idx.b32", "SHFL"},
                                          {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "HMMA"},
                                          {"ld.shared.b32", "LDS"}}) {
    const BuiltRow row = built(opcode);
    INFO(opcode);
    for (const BuiltPair& pair : row.pairs) {
      CHECK(pair.proof.state == Proof::State::one);
      CHECK(pair.proof.opcodes() == sass);
      CHECK(!pair.shape.guarded);
    }
  }
}

TEST_CASE("an expansion is reported with its length and opcodes") {
  const BuiltRow row = built("popc.b64");
  CHECK(throughput(row).state == Proof::State::expanded);
  CHECK(throughput(row).length() >= 2);
  CHECK(throughput(row).opcodes().find("POPC") != std::string::npos);
  CHECK(throughput(built("div.rn.f64")).calls());
}

TEST_CASE("a move is folded, and not taken for an instruction of no cost") {
  const BuiltRow row = built("mov.b32");
  CHECK(throughput(row).state == Proof::State::folded);
  CHECK(!throughput(row).usable());
}

TEST_CASE("additions that would fuse to one of three operands are guarded") {
  const BuiltRow row = built("add.u32");
  CHECK(row.pairs.back().shape.guarded);
  CHECK(throughput(row).state == Proof::State::one);
}

TEST_CASE("what stands between a result and the next operand is told apart") {
  const BuiltRow row = built("setp.eq.f32");
  CHECK(row.pairs.front().proof.opcodes() == "FSETP");
  CHECK(!row.pairs.front().proof.bridge().empty());
}

TEST_CASE("an instruction before or behind the loop is told from one that is gone") {
  KernelText text{.first_clock_line = 2, .last_clock_line = 4, .instruction_lines = {3}, .bridge_lines = {}};
  sass::ListedFunction function;
  const auto add = [&](std::string_view opcode, int line) {
    sass::ListedInstruction one;
    one.offset = 16 * (function.instructions.size() + 1);
    one.decoded.opcode = opcode;
    one.ptx_line = line;
    function.instructions.push_back(one);
  };
  add("FADD", 13);
  add("CS2R", 12);
  add("BRA", 0);
  add("CS2R", 14);
  CHECK(prove(function, text, 10).state == Proof::State::hoisted);
  function.instructions.erase(function.instructions.begin());
  CHECK(prove(function, text, 10).state == Proof::State::folded);
  function.instructions[1].ptx_line = 13;
  CHECK(prove(function, text, 10).state == Proof::State::one);
}
