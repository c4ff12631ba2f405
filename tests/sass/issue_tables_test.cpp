// SPDX-License-Identifier: Apache-2.0
// The tables of the issue model name what there is.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sass/issue_model.hpp"
#include "sass/table_text.hpp"
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
      for (const std::string& use : split(cells[2], ','))
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
      CHECK(table.row_of(text, OperandTable().uses_of(text, chip).type) != nullptr);
    }
  }
}
