// SPDX-License-Identifier: Apache-2.0
// The tables of the issue model name what there is.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sass/instruction/table_text.hpp"
#include "sass/issue/issue_model.hpp"
#include "support/folders.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;

TEST_CASE("specs/sass/issue.json names units, classes and effects that exist") {
  std::ifstream file(test::source_folder() + "/specs/sass/issue.json");
  std::ifstream operands_file(test::source_folder() + "/specs/sass/operands.json");
  const nlohmann::json data = nlohmann::json::parse(file), operands = nlohmann::json::parse(operands_file);
  const auto first_cells = [](const nlohmann::json& table) {
    std::set<std::string> names;
    for (const std::string line : table) names.insert(line.substr(0, line.find(' ')));
    return names;
  };
  const std::set<std::string> units = first_cells(data.at("units")),
                              classes = first_cells(operands.at("classes"));
  const std::set<std::string> effects = {"-",          "copy", "commit", "drain",  "barrier", "group",
                                         "group_wait", "poll", "sleep",  "expect", "release"};
  int rows = 0;
  for (const auto& table : data.at("instructions")) {
    for (std::size_t i = 1; i < table.at("rows").size(); ++i, ++rows) {
      const std::string line = table.at("rows")[i];
      CAPTURE(line);
      const std::vector<std::string> cells = split(line, ' ');
      REQUIRE(cells.size() == 7);
      if (cells[0].starts_with("class=")) CHECK(classes.contains(cells[0].substr(6)));
      for (const std::string& use : split(cells[2] == "-" ? "" : cells[2], ','))
        for (const std::string& one : split(use, '|')) CHECK(units.contains(one.substr(0, one.find('/'))));
      CHECK(effects.contains(cells[6]));
    }
  }
  CHECK(rows > 100);
  // All classes whose instructions ptxas makes have a row on every chip, so that nothing is left out
  // silently.
  for (const int chip : {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}) {
    const IssueTable table(chip, LoadFrom::l2);
    CHECK(table.chip().schedulers == 4);
    for (const std::string opcode :
         {"FADD", "IADD3", "IMAD",   "DADD", "HADD2", "MUFU", "LDS", "LDG", "STS",   "STG",    "SHFL",
          "BRA",  "BAR",   "UIADD3", "VOTE", "HMMA",  "IMMA", "LDC", "S2R", "ATOMG", "LDGSTS", "UTMALDG"}) {
      CAPTURE(chip, opcode);
      const InstructionText text = split_text(opcode);
      CHECK(table.row_of(text, OperandTable::compiled().uses_of(text, chip).type) != nullptr);
    }
  }
}

TEST_CASE("units tell for which chips their intervals are assumed") {
  const auto assumed = [](int chip) {
    const IssueTable table(chip, LoadFrom::l2);
    std::string names;
    for (const IssueUnit& unit : table.units())
      if (unit.assumed) names += unit.name + " ";
    return names;
  };
  const std::string others = "uniform branch mio lsu shared l1 l2 warp barrier ";
  CHECK(assumed(90).empty());
  for (const int chip : {75, 80, 86, 89}) CHECK(assumed(chip) == others);
  for (const int chip : {100, 103, 110}) CHECK(assumed(chip) == "alu xu tensor " + others);
  for (const int chip : {120, 121}) CHECK(assumed(chip) == "alu xu " + others);
}

TEST_CASE("amounts come from the operands that specs/sass/issue.json names") {
  const IssueTable table(90, LoadFrom::l2);
  const auto size_of = [&](const char* text) { return table.size_of(split_text(text)); };
  const IssueSize shared = size_of("HGMMA.64x96x16.F32 R24, gdesc[UR8], R24, !UPT, gsb0");
  CHECK(shared.columns == 96);
  CHECK(shared.shared_a);
  const IssueSize registers = size_of("QGMMA.SP.64x8x64.F32.E4M3.E4M3 R24, R4, gdesc[UR8], R24, R3, 0x0");
  CHECK(registers.columns == 8);
  CHECK_FALSE(registers.shared_a);
  CHECK(size_of("FFMA R1, R2, R3, R4").columns == 0);
  const auto bytes_of = [&](const char* text) { return table.bytes_operand(split_text(text)); };
  CHECK(bytes_of("SYNCS.ARRIVE.TRANS64 RZ, [UR13], R2") == "R2");
  CHECK(bytes_of("SYNCS") == "");
  CHECK(bytes_of("FFMA R1, R2, R3, R4") == "");
}
