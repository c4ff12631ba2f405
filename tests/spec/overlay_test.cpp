// SPDX-License-Identifier: Apache-2.0
// Overlays: what they may add, and what is said of malformed ones.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "ptxloom/specs.hpp"
#include "spec/database.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom {
namespace {

using Catch::Matchers::ContainsSubstring;

/// Specs with one overlay file.
class Overlay {
 public:
  explicit Overlay(const std::string& text, const std::string& name = "overlay.json") {
    std::ofstream(folder_ / name) << text;
  }
  Specs specs() const {
    const std::filesystem::path folders[] = {folder_.path()};
    return Specs(folders);
  }
  std::filesystem::path folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

/// The one diagnostic that a malformed overlay gives; it always names the file.
Diagnostic refusal(const std::string& text) {
  const Overlay overlay(text);
  const Error error = error_of([&] { overlay.specs(); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK_THAT(error.what(), ContainsSubstring("overlay.json"));
  return error.diagnostics().front();
}

/// A form "probe" with these further fields.
std::string form(const std::string& fields) { return R"({"form": "probe", )" + fields + "}"; }

const std::string kAdd = R"("text": "probe.<t> D, A;", "ops": {"D": "out <t>", "A": "in <t>"})";

TEST_CASE("an overlay's form is matched, selected and listed like any other") {
  const Overlay overlay(
      form(kAdd + R"(, "family": "probes", "mods": {"t": "f32|f64"}, "need": "sm_90:8.0")"));
  const Specs specs = overlay.specs();
  REQUIRE(specs.match("probe.f32").size() == 1);
  const Variant variant = specs.match("probe.f32").front();
  CHECK(variant.form() == "probe");
  CHECK(variant.since(Target("sm_90")) == Version{8, 0});
  CHECK_FALSE(variant.since(Target("sm_89")));
  CHECK(specs.select("probes", {{"t", "f64"}}, Target("sm_90a")).opcode() == "probe.f64");
  CHECK(specs.variants("probe").size() == 2);
  CHECK(specs.match("add.s32").size() == 1);
}

TEST_CASE("a need may hold for the assemblers of some releases only") {
  const Overlay overlay(form(kAdd + R"(, "tables": [
    ["t   need",
     "f32 7.0",
     "f64 sm_80:7.0/13.0-13.1|8.0/13.2",
     "b32 /13.0-13.0"]])"));
  const std::filesystem::path folders[] = {overlay.folder()};
  const auto allowed = [&](const char* opcode, Version version, std::optional<Version> assembler) {
    return Specs(folders, assembler).match(opcode).front().allowed(Target("sm_80"), version);
  };
  CHECK(allowed("probe.f32", {7, 0}, Version{13, 0}));
  CHECK(allowed("probe.f64", {7, 0}, Version{13, 0}));
  CHECK_FALSE(allowed("probe.f64", {7, 0}, Version{13, 2}));
  CHECK(allowed("probe.f64", {8, 0}, Version{13, 2}));
  CHECK(allowed("probe.b32", {7, 0}, Version{13, 0}));
  CHECK_FALSE(allowed("probe.b32", {7, 0}, Version{13, 1}));
  // Without an assembler: what any of them takes that reads this PTX version.
  CHECK(allowed("probe.f64", {7, 0}, std::nullopt));
  CHECK(allowed("probe.b32", {9, 0}, std::nullopt));
  CHECK_FALSE(allowed("probe.b32", {9, 1}, std::nullopt));
}

TEST_CASE("operands that some assemblers take beyond the manual make undocumented variants of them") {
  const Overlay overlay(R"({"form": "probe", "text": "probe.b32 D, A;", "need": "7.0",
    "ops": {"D": "out b32", "A": "in b32."}, "lax_ops": {"A": "in b32[-2] /13.0-13.1"}})");
  const std::filesystem::path folders[] = {overlay.folder()};
  const Specs specs(folders);
  const auto variants = specs.match("probe.b32");
  REQUIRE(variants.size() == 2);
  CHECK_FALSE(variants[0].undocumented());
  CHECK(variants[0].operand("A").braces == 0);
  CHECK(variants[1].undocumented());
  CHECK(variants[1].operand("A").braces == 2);
  CHECK(variants[1].since(Target("sm_80")) == Version{7, 0});
  const auto of_13_2 = Specs(folders, Version{13, 2}).match("probe.b32");
  REQUIRE(of_13_2.size() == 2);
  CHECK_FALSE(of_13_2[1].since(Target("sm_80")));
  CHECK(refusal(R"({"form": "probe", "text": "probe.b32 A;", "ops": {"A": "in b32"},
    "lax_ops": {"A": "in b32[-]"}})")
            .code == "spec-operand");
  CHECK(refusal(R"({"form": "probe", "text": "probe.b32 A;", "ops": {"A": "in b32"},
    "lax_ops": {"B": "in b32[-] /13.0-13.1"}})")
            .code == "spec-operand");
  CHECK(refusal(form(kAdd + R"(, "mods": {"t": "f32"}, "need": "7.0/new")")).code == "spec-need");
}

TEST_CASE("an operand may take variables with offsets and elements of vectors from a chip on, or never") {
  const Overlay overlay(R"({"form": "probe", "text": "probe.b32 A, B, C, D, E, F, G;", "need": "7.0",
    "ops": {"A": "in b32", "B": "in b32,", "C": "in s32=0..15,90", "D": "in b32:", "E": "in b32,:90", "F": "in b32=0..3", "G": "in b32,90:80"}})");
  const std::filesystem::path folders[] = {overlay.folder()};
  const Variant probe = Specs(folders).match("probe.b32").front();
  const int never = OperandSpec::kNoChip;
  const auto since = [&](const char* name) {
    const OperandSpec& place = probe.operand(name);
    return std::vector<int>{place.variable_allowed, place.variable_since, place.element_since};
  };
  CHECK(since("A") == std::vector{1, 0, 0});
  CHECK(since("B") == std::vector{0, never, 0});
  CHECK(since("C") == std::vector{1, 90, 0});
  CHECK(probe.operand("C").range == std::pair<std::int64_t, std::int64_t>{0, 15});
  CHECK(since("D") == std::vector{1, 0, never});
  CHECK(since("E") == std::vector{1, 90, 90});
  CHECK(since("F") == std::vector{1, 0, 0});
  CHECK(since("G") == std::vector{1, 90, 80});
}

TEST_CASE("registers of .f16x2 fit an operand whose type the opcode gives, or as its mark says") {
  const Overlay overlay(R"({"form": "probe", "text": "probe.<t> D, A, B, C, E, F;", "mods": {"t": "u32|f32"},
    "ops": {"D": "out <t>", "A": "in <t>!", "B": "in u32", "C": "in u32'", "E": "in b32", "F": "in b32!"}})");
  const std::filesystem::path folders[] = {overlay.folder()};
  const Specs specs(folders);
  const auto fits = [&](std::string_view opcode) {
    const std::vector<Variant> variants = specs.match(opcode);
    std::string names;
    for (const OperandSpec& operand : variants.front().operands())
      if (operand.pairs) names += operand.name;
    return names;
  };
  CHECK(fits("probe.u32") == "DCE");
  CHECK(fits("probe.f32") == "CE");
}

TEST_CASE("specs of one assembler know the PTX versions that it reads") {
  const Specs all, of_12_8({}, Version{12, 8});
  const auto newest = [](const Specs& specs) { return specs.database().vocabulary().versions().back(); };
  CHECK(newest(all) == ptx_versions().back());
  CHECK(newest(of_12_8) == Version{8, 7});
  CHECK(newest(Specs({}, Version{99, 0})) == ptx_versions().back());
  CHECK(Specs({}, Version{9, 0}).database().vocabulary().versions().empty());
}

TEST_CASE("an overlay's form of the same name replaces the one compiled in") {
  const Overlay overlay(R"({"form": "copysign", "text": "copysign.<t> D, A;",
                            "ops": {"D": "out <t>", "A": "in <t>"}, "mods": {"t": "f16"}})");
  const Specs specs = overlay.specs();
  CHECK(specs.match("copysign.f32").empty());
  REQUIRE(specs.match("copysign.f16").size() == 1);
  CHECK(specs.match("copysign.f16").front().operands().size() == 2);
}

TEST_CASE("of two overlays the later wins") {
  const Overlay first(form(kAdd + R"(, "mods": {"t": "f32"})")),
      second(form(kAdd + R"(, "mods": {"t": "f64"})"));
  TemporaryFolder a, b;
  std::ofstream(a / "x.json") << form(kAdd + R"(, "mods": {"t": "f32"})");
  std::ofstream(b / "x.json") << form(kAdd + R"(, "mods": {"t": "f64"})");
  const std::filesystem::path folders[] = {a.path(), b.path()};
  const Specs specs(folders);
  CHECK(specs.match("probe.f32").empty());
  CHECK(specs.match("probe.f64").size() == 1);
}

TEST_CASE("an overlay may add types and targets") {
  TemporaryFolder folder;
  std::ofstream(folder / "a_types.json")
      << R"({"types": ["name bits kind lanes literals", "f24 24 float 1 no"]})";
  std::ofstream(folder / "b_targets.json") << R"({
    "chips": ["chip family sms shared_per_block shared_per_sm threads_per_sm blocks_per_sm registers_per_sm mma_fraction_bits mma_halves",
              "130 13 64 1000 2000 1024 16 65536 25 no"],
    "targets": ["target since", "sm_130a 9.0"]})";
  std::ofstream(folder / "c_form.json") << form(kAdd + R"(, "mods": {"t": "f24"}, "need": "sm_130a")");
  const std::filesystem::path folders[] = {folder.path()};
  const Specs specs(folders);
  const Target target = specs.target("sm_130a");
  CHECK(target.number() == 130);
  REQUIRE(specs.match("probe.f24").size() == 1);
  CHECK(specs.match("probe.f24").front().operand("A").type.bits == 24);
  CHECK(specs.match("probe.f24").front().since(target) == Version{9, 0});
  CHECK_FALSE(specs.match("probe.f24").front().since(Target("sm_121a")));
  CHECK(error_of([&] { specs.target("sm_131"); }).diagnostics().front().code == "unknown-target");
}

TEST_CASE("the type of an operand is valid without its Specs") {
  Type type;
  {
    TemporaryFolder folder;
    std::ofstream(folder / "types.json")
        << R"({"types": ["name bits kind lanes literals", "f23_of_an_overlay 23 float 1 no"]})";
    std::ofstream(folder / "x.json") << form(kAdd + R"(, "mods": {"t": "f23_of_an_overlay"})");
    const std::filesystem::path folders[] = {folder.path()};
    type = Specs(folders).match("probe.f23_of_an_overlay").at(0).operand("A").type;
  }
  CHECK(type.name == "f23_of_an_overlay");
}

TEST_CASE("a folder that is not there is refused") {
  const std::filesystem::path folders[] = {"/nonexistent/specs"};
  const Error error = error_of([&] { Specs specs(folders); });
  CHECK(error.diagnostics().front().code == "spec-unreadable");
  CHECK_THAT(error.what(), ContainsSubstring("/nonexistent/specs"));
}

TEST_CASE("a malformed overlay is refused with its file, its form and what is wrong") {
  struct Case {
    const char* what;
    std::string text, code, names;
  };
  const Case cases[] = {
      {"not JSON", "{ forms: ", "spec-json", "not JSON"},
      {"a truncated file", R"({"forms": [{"form": "probe")", "spec-json", "not JSON"},
      {"a list", "[1, 2]", "spec-json", "object"},
      {"an unknown field", form(kAdd + R"(, "mods": {"t": "f32"}, "tabels": [])"), "spec-field", "'tabels'"},
      {"an unknown field of the file", R"({"forms": [], "set": {}})", "spec-field", "'set'"},
      {"a field of another type", form(R"("text": 7)"), "spec-field", "'text'"},
      {"a form without a name", R"({"forms": [{"text": "probe;"}]})", "spec-field", "name"},
      {"a form without a text", form(R"("mods": {"t": "f32"})"), "spec-field", "'text'"},
      {"a table without a row", form(kAdd + R"(, "tables": [["t"]])"), "spec-table", "header"},
      {"an unbound slot", form(kAdd), "spec-unbound-slot", "'t'"},
      {"a slot left open by a row",
       form(kAdd + R"(, "mods": {"u": "a|b"}, "tables": [["u t", "a f32", "b"]])"), "spec-unbound-slot",
       "u=b"},
      {"too many cells", form(kAdd + R"(, "tables": [["t need", "f32 sm_80 7.0"]])"), "spec-too-many-cells",
       "f32 sm_80 7.0"},
      {"a column twice", form(kAdd + R"(, "tables": [["t t", "f32 f32"]])"), "spec-table", "'t' twice"},
      {"an unknown set", form(kAdd + R"(, "mods": {"t": "@floats"})"), "spec-unknown-set", "@floats"},
      {"a cycle of sets", form(kAdd + R"(, "sets": {"a": "@b|f32", "b": "@a"}, "mods": {"t": "@a"})"),
       "spec-set-cycle", "@a"},
      {"an unused set", form(kAdd + R"(, "sets": {"a": "f32"}, "mods": {"t": "f32"})"), "spec-unused", "@a"},
      {"an empty alternative", form(kAdd + R"(, "mods": {"t": "f32||f64"})"), "spec-cell", "f32||f64"},
      {"a need of no target", form(kAdd + R"(, "mods": {"t": "f32"}, "need": "sm_77:8.0")"), "spec-need",
       "'sm_77'"},
      {"a need of no version", form(kAdd + R"(, "mods": {"t": "f32"}, "need": "sm_80:latest")"), "spec-need",
       "'latest'"},
      {"an operand that the text lacks",
       form(R"("text": "probe.f32 D;", "ops": {"D": "out f32", "E": "in f32"})"), "spec-operand", "'E'"},
      {"an unknown type", form(R"("text": "probe D;", "ops": {"D": "out f33"})"), "spec-operand", "'f33'"},
      {"an alias of nothing", form(R"("text": "probe D;", "ops": {"D": "out f32"}, "alias": {"d": "E"})"),
       "spec-operand", "'E'"},
      {"a slot not closed", form(R"("text": "probe.<t D;")"), "spec-text", "'<'"},
      {"a slot of nothing", form(R"("text": "probe.<t*> D;", "mods": {"t": "1"})"), "spec-text", "<t*>"},
      {"no variant at all", form(kAdd + R"(, "mods": {"t": "f32"}, "tables": [["t u", "f64 a"]])"),
       "spec-empty", "no variant"},
      {"two meanings of one opcode", form(R"("text": "probe<.a><.b>;", "mods": {"a": "-|x", "b": "-|x"})"),
       "spec-two-meanings", "probe.x"},
      {"a lax table of no table", form(kAdd + R"(, "mods": {"t": "f32"}, "lax": [["t u", "f16 x"]])"),
       "spec-table", "lax"},
      {"a form twice",
       R"({"forms": [{"form": "probe", "text": "probe;"}, {"form": "probe", "text": "probe;"}]})",
       "spec-duplicate-form", "'probe'"},
      {"a bad type row", R"({"types": ["name bits kind lanes literals", "f24 24 fractional 1 no"]})",
       "spec-type", "f24 24 fractional"},
  };
  for (const Case& c : cases) {
    INFO(c.what << ": " << c.text);
    const Diagnostic diagnostic = refusal(c.text);
    CHECK(diagnostic.code == c.code);
    CHECK_THAT(diagnostic.message, ContainsSubstring(c.names));
    if (c.text.starts_with(R"({"form": "probe")") && c.code != "spec-json") {
      CHECK_THAT(diagnostic.message, ContainsSubstring("form 'probe'"));
    }
  }
}

}  // namespace
}  // namespace ptxloom
