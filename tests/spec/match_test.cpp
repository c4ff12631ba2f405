// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "spec/database.hpp"
#include "support/errors.hpp"
#include "support/specs.hpp"

namespace ptxloom {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

/// What an opcode reads as; of several, such as an address with and without `.unified`, the first.
Variant only(std::string_view opcode) {
  const auto found = specs().match(opcode);
  INFO(opcode);
  REQUIRE(!found.empty());
  return found.front();  // documented ones come first
}

/// The operand part as it prints, with names for operands.
std::string shape(Variant variant) {
  std::string text;
  for (const OperandPiece& piece : variant.pieces()) {
    text += piece.text;
    if (piece.operand >= 0) text += variant.operands()[static_cast<std::size_t>(piece.operand)].name;
  }
  return text;
}

/// What may stand at each of its operands.
std::string places(Variant variant) {
  std::string text;
  for (const OperandSpec& operand : variant.operands())
    text += " " + operand.describe() + operand.text + operand.space + (operand.negation_allowed ? "!" : "");
  return text;
}

TEST_CASE("an opcode gives its variant with operands, slots and versions") {
  const Variant mma = only("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
  CHECK(mma.form() == "mma");
  CHECK(shape(mma) == "D, A, B, C");
  CHECK(mma.operand("A").describe() == "4 x bf16x2");
  CHECK(mma.operand("b").registers() == 2);
  CHECK(mma.operand("D").direction == OperandSpec::Direction::out);
  CHECK(mma.operand("D").type == f32);
  CHECK(mma.slot("a") == "bf16");
  CHECK(mma.slot_int("K") == 16);
  CHECK_FALSE(mma.slot("sat"));
  CHECK_FALSE(mma.slot("no_such_slot"));
  CHECK(mma.since(Target("sm_80")) == Version{7, 0});
  CHECK(mma.since(Target("sm_90a")) == Version{8, 0});
  CHECK_FALSE(mma.since(Target("sm_75")));
  CHECK(error_of([&] { mma.operand("Q"); }).diagnostics().front().code == "unknown-operand");
  CHECK(error_of([&] { mma.slot_int("a"); }).diagnostics().front().code == "not-a-number");
}

TEST_CASE("absent operands go with their separators, addresses get brackets, vectors their count") {
  CHECK(shape(only("ld.shared.v4.f32")) == "D, [A]");
  CHECK(only("ld.shared.v4.f32").operand("D").count == 4);
  CHECK(only("ld.global.f32").operand("D").count == 0);
  CHECK(shape(only("ld.global.L2::cache_hint.f32")) == "D, [A], POLICY");
  CHECK(shape(only("st.shared.f32")) == "[A], B");
  CHECK(only("st.shared.f32").operand("A").space == "shared");
  CHECK(only("ld.f32").operand("A").space.empty());
  std::set<std::string> shapes;
  for (const Variant& variant : specs().match("setp.lt.s32")) shapes.insert(shape(variant));
  CHECK(shapes == std::set<std::string>{"P, A, B", "P|Q, A, B"});
  shapes.clear();
  for (const Variant& variant : specs().match("cp.async.ca.shared.global")) shapes.insert(shape(variant));
  CHECK(shapes == std::set<std::string>{"[D], [A], N", "[D], [A], N, S", "[D], [A], N, P"});
}

TEST_CASE("rows that differ in an immediate are one variant with choices") {
  const auto& copies = specs().match("cp.async.ca.shared.global");
  REQUIRE(copies.size() >= 3);
  CHECK(copies.front().operand("N").choices == std::vector<std::int64_t>{4, 8, 16});
  CHECK(specs().match("cp.async.cg.shared.global").front().operand("N").choices ==
        std::vector<std::int64_t>{16});
  const Variant count = only("setmaxnreg.inc.sync.aligned.u32");
  CHECK(count.operand("COUNT").range == std::pair<std::int64_t, std::int64_t>{24, 256});
  CHECK(count.operand("COUNT").step == 8);
}

TEST_CASE("modifiers after the head may stand in any order, types and spaces among themselves may not") {
  CHECK(only("ld.v4.shared.f32") == only("ld.shared.v4.f32"));
  CHECK(only("ld.global.relaxed.gpu.f32") == only("ld.relaxed.gpu.global.f32"));
  CHECK(only("cvt.f64.bf16.rp") == only("cvt.rp.f64.bf16"));
  CHECK(only("cvt.f16.f32.rn.sat") == only("cvt.rn.sat.f16.f32"));
  CHECK(only("cvt.s32.f32.rzi").slot("d") == "s32");
  CHECK(specs().match("s32.add").empty());
  CHECK(only("mma.aligned.sync.m16n8k16.row.col.f32.bf16.bf16.f32") ==
        only("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"));
  CHECK(specs().match("setmaxnreg.sync.inc.aligned.u32").empty());
}

TEST_CASE("what is no opcode matches nothing") {
  for (const char* wrong :
       {"", ".", "add", "add.", ".add.s32", "add..s32", "add.s32.", "add.s33", "add.s32.s32", "Add.s32",
        "add.s32 ", "ld.global.v3.f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32", "addd.s32",
        "no_such.f32"}) {
    INFO(wrong);
    CHECK(specs().match(wrong).empty());
  }
}

TEST_CASE("undocumented variants are matched, come last, and are never selected") {
  const Variant lax = only("fma.rz.bf16");
  CHECK(lax.undocumented());
  CHECK_FALSE(only("fma.rn.bf16").undocumented());
  CHECK_FALSE(specs().find("fma", {{"type", "bf16"}, {"rnd", "rz"}}, Target("sm_90")));
  const auto& vectors = specs().match("mov.b32");
  CHECK(std::is_sorted(vectors.begin(), vectors.end(),
                       [](Variant a, Variant b) { return a.undocumented() < b.undocumented(); }));
}

TEST_CASE("every variant is found by its own opcode, as the same object", "[slow]") {
  // From both ends: a fresh database that is asked for the opcode first, and one that has listed all.
  const Specs fresh;
  std::size_t checked = 0;
  std::random_device seed;
  std::mt19937 random(seed());
  for (std::string_view form : specs().forms()) {
    auto variants = specs().variants(form);
    std::shuffle(variants.begin(), variants.end(), random);
    variants.resize(std::min<std::size_t>(variants.size(), 2000));
    for (const Variant& variant : variants) {
      INFO(variant.opcode());
      const auto found = specs().match(variant.opcode());
      CHECK(std::find(found.begin(), found.end(), variant) != found.end());
      const auto again = fresh.match(variant.opcode());
      const auto same = std::find_if(again.begin(), again.end(), [&](Variant v) {
        return v.form() == variant.form() && v.opcode() == variant.opcode() && shape(v) == shape(variant) &&
               places(v) == places(variant) && v.undocumented() == variant.undocumented();
      });
      REQUIRE(same != again.end());
      CHECK(same->since(Target("sm_120a")) == variant.since(Target("sm_120a")));
      ++checked;
    }
  }
  CHECK(checked > 10000);
}

TEST_CASE("no opcode has two documented variants with the same operands") {
  std::size_t checked = 0;
  for (std::string_view form : specs().forms()) {
    for (const Variant& variant : specs().variants(form)) {
      if (variant.undocumented() || ++checked % 7 != 0) continue;
      std::map<std::string, std::string_view> seen;
      for (const Variant& other : specs().match(variant.opcode())) {
        if (other.undocumented()) continue;
        const std::string key = shape(other) + places(other);
        const auto [entry, added] = seen.emplace(key, other.form());
        INFO(other.opcode() << " " << key << ": " << entry->second << " and " << other.form());
        CHECK(added);
      }
    }
  }
}

TEST_CASE("form by form is the same as all at once") {
  for (const char* opcode : {"mov.u32", "mov.b64", "cvt.u64.u32", "ld.param.u32", "setp.gt.s32", "ret",
                             "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"}) {
    INFO(opcode);
    const Specs fresh;  // asks form by form before anything is known
    const auto described = [](Variant variant) {
      std::string text = shape(variant);
      for (const OperandSpec& operand : variant.operands()) text += "; " + operand.describe();
      return text;
    };
    std::vector<std::string> one_by_one, at_once;
    std::set<std::string_view> forms;
    for (std::size_t nth = 0; !fresh.match_form(opcode, nth).empty(); ++nth) {
      const auto found = fresh.match_form(opcode, nth);
      CHECK(forms.insert(found.front().form()).second);
      for (const Variant& variant : found) {
        CHECK(variant.form() == found.front().form());
        one_by_one.push_back(described(variant));
      }
    }
    CHECK(fresh.match_form(opcode, 100).empty());
    for (const Variant& variant : specs().match(opcode)) at_once.push_back(described(variant));
    std::ranges::sort(one_by_one);
    std::ranges::sort(at_once);
    CHECK(one_by_one == at_once);
  }
  for (const char* wrong : {"", ".", "mov", "mov.u33", ".mov.u32", "mov.u32.", "mov..u32", "nonsense.u32"})
    CHECK(specs().match_form(wrong, 0).empty());
}

TEST_CASE("lookups from many threads agree") {
  const Specs shared;
  std::vector<std::string> opcodes;
  for (const Variant& variant : specs().variants("ld.nc")) opcodes.emplace_back(variant.opcode());
  opcodes.resize(400);
  std::vector<const spec::VariantData*> expected(opcodes.size());
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < opcodes.size(); ++i) {
          const std::string& opcode = opcodes[(i * 7 + t * 31) % opcodes.size()];
          const auto found = (i + t) % 2 == 0 ? shared.match(opcode) : shared.match_form(opcode, 0);
          if (found.empty() || found.front().opcode() != opcode) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("what a form's alternatives need is any of them") {
  const Variant fp8 = only("cvt.rn.satfinite.e4m3x2.f32");
  CHECK(fp8.since(Target("sm_89")) == Version{8, 1});
  CHECK(fp8.since(Target("sm_90")) == Version{7, 8});
  CHECK_FALSE(fp8.since(Target("sm_80")));
  CHECK(fp8.allowed(Target("sm_89"), {8, 1}));
  CHECK_FALSE(fp8.allowed(Target("sm_89"), {8, 0}));
  CHECK_FALSE(only("add.s32").allowed(Target("sm_90a"), {7, 8}));  // the target itself is of 8.0
}

TEST_CASE("explain names the nearest opcodes and the targets that have one") {
  const Target target("sm_80");
  const auto text = [&](std::string_view opcode) { return to_string(specs().explain(opcode, target)); };
  CHECK_THAT(text("stmatrix.sync.aligned.m8n8.x4.b16"),
             ContainsSubstring("not on sm_80") && ContainsSubstring("sm_90 (PTX 7.8)"));
  CHECK_THAT(text("ld.globl.f32"), ContainsSubstring("ld.global.f32"));
  CHECK_THAT(text("ld.relaxed.global.f32"), ContainsSubstring("ld.relaxed.gpu.global.f32"));
  CHECK_THAT(text("mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32"),
             ContainsSubstring("m16n8k16.row.col.f32.bf16.bf16.f32"));
  CHECK_THAT(text("ad.f32"), ContainsSubstring("did you mean add"));
  CHECK(specs().explain("ad.f32", target).code == "unknown-instruction");
  const auto code = [&](std::string_view opcode) { return specs().explain(opcode, target).code; };
  CHECK(code("add.f33") == "unknown-modifier");
  CHECK(code("add.s32.rn") == "illegal-combination");
  CHECK(code("mma.sync.m16n8k16.row.col.f32.f16.f16.f32") == "missing-modifier");
  CHECK(code("add.rn.rn.f32") == "repeated-modifier");
  CHECK(code("setmaxnreg.sync.inc.aligned.u32") == "modifier-order");
}

TEST_CASE("explain says what is wrong with a modifier, where, and what may stand there") {
  const Target target("sm_90a");
  const auto check = [&](std::string_view opcode, int column, std::string_view message,
                         std::string_view hint) {
    INFO(opcode);
    const Diagnostic found = specs().explain(opcode, target);
    CHECK(found.column == column);
    CHECK(found.message == message);
    CHECK_THAT(found.hint, StartsWith(std::string(hint)));
  };
  check("add.s32.rn", 8, "there is no add.s32.rn: .rn cannot be combined with the other modifiers",
        "legal: without .rn; nearest: add.s32, ");
  check("add.f33", 4, ".f33 is not a modifier of add; did you mean .f32?", "legal: .f32 ");
  check("bar.synch", 4, ".synch is not a modifier of bar; did you mean .sync?",
        "legal: .sync instead of .synch; nearest: bar.sync, ");
  check("mma.sync.m16n8k16.row.col.f32.f16.f16.f32", 1,
        "there is no mma.sync.m16n8k16.row.col.f32.f16.f16.f32: .aligned is missing",
        "legal: .aligned added; nearest: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32, ");
  check("mul.s32", 1, "there is no mul.s32: a modifier is missing",
        "legal: .hi .lo .wide added; nearest: mul.hi.s32, mul.lo.s32, mul.wide.s32, ");
  check("add.rn.rn.f32", 7, "there is no add.rn.rn.f32: .rn is given twice", "legal: ");
  check("setmaxnreg.sync.inc.aligned.u32", 1,
        "there is no setmaxnreg.sync.inc.aligned.u32: its modifiers have another order",
        "nearest: setmaxnreg.inc.sync.aligned.u32, ");
  check("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 1,
        "there is no mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32: the table 'a b d M K kind sat op' of "
        "mma has "
        "no row with .m16n8k32 .f32 .f16 .f16 .f32",
        "legal: .m16n8k8 .m16n8k16 instead of .m16n8k32; nearest: "
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32, "
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32, "
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32, ");
  check("min.ftz.s32", 4, "there is no min.ftz.s32: .ftz cannot be combined with the other modifiers",
        "legal: .relu or nothing instead of .ftz; nearest: min.s32, ");
}

TEST_CASE("a hint lists the types of all forms that understand as much: floats and integers") {
  const std::string hint = specs().explain("add.b32", Target("sm_90a")).hint;
  for (const char* type : {".f32", ".f64", ".u32", ".s32"}) {
    CAPTURE(type, hint);
    CHECK(hint.substr(0, hint.find(" instead of .b32")).find(type) != std::string::npos);
  }
}

TEST_CASE("an operand's index is found by its name and by its alias") {
  const Variant mma = only("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  CHECK(mma.operand_index("D") == 0);
  CHECK(mma.operand_index("C") == 3);
  CHECK(mma.operand_index("d") == 0);
  CHECK(mma.operand_index("Q") == -1);
}

}  // namespace
}  // namespace ptxloom
