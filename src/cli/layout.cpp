// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/opcode.hpp"
#include "cli/table.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string opcode, operand, target;
  std::string format = "text";
  std::string at;
  int lane = -1;
  std::vector<std::string> selectors;
};

int parse_number(std::string_view option, std::string_view text) {
  int value = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size() && value >= 0) return value;
  throw Error(ErrorKind::usage, "bad-usage", fmt::format("{}: '{}' is no number from 0 up", option, text),
              "write --at 3,7 or --select TA=1");
}

std::vector<LayoutSelector> parse_selectors(const std::vector<std::string>& texts) {
  std::vector<LayoutSelector> selectors;
  for (const std::string_view text : texts) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view value = text.substr(std::min(equals + 1, text.size()));
    selectors.push_back({.operand = text.substr(0, equals), .value = parse_number("--select", value)});
  }
  return selectors;
}

/// Of several variants of one opcode, one that has a map for the operand; else the first, for its message.
Variant choose(const std::vector<Variant>& variants, const std::string& operand) {
  for (const Variant variant : variants) {
    if (variant.operand_index(operand) >= 0 && has_layout(variant, operand)) return variant;
  }
  return variants.front();
}

std::string place(const Layout& map, const LayoutElement& element) {
  const bool packed = map.lane(element.lane).size() > static_cast<std::size_t>(map.registers);
  const std::string text = fmt::format("t{}.r{}", element.lane, element.reg);
  return packed ? fmt::format("{}:{}", text, element.bit) : text;
}

void print_elements(const Layout& map, const Options& options) {
  if (!options.at.empty()) {
    const std::size_t comma = std::min(options.at.find(','), options.at.size());
    const int row = parse_number("--at", std::string_view(options.at).substr(0, comma));
    const int col =
        parse_number("--at", std::string_view(options.at).substr(std::min(comma + 1, options.at.size())));
    const auto found = map.find(row, col);
    if (!found) {
      throw Error(ErrorKind::usage, "outside-matrix", fmt::format("there is no element {},{}", row, col),
                  fmt::format("the matrix is {} x {}, counted from 0", map.rows, map.cols));
    }
    fmt::print("lane {} register {} bit {}\n", found->lane, found->reg, found->bit);
    return;
  }
  std::vector<std::vector<std::string>> rows = {{"lane", "reg", "bit", "row", "col"}};
  if (options.lane >= map.lanes) {
    throw Error(ErrorKind::usage, "outside-matrix", fmt::format("there is no lane {}", options.lane),
                fmt::format("{} lanes hold the matrix, counted from 0", map.lanes));
  }
  for (const LayoutElement& e : map.lane(options.lane)) {
    rows.push_back({std::to_string(e.lane), std::to_string(e.reg), std::to_string(e.bit),
                    std::to_string(e.row), std::to_string(e.col)});
  }
  fmt::print("{}", format_table(rows));
}

/// A row of the matrix a line, each element as t<lane>.r<register>:<bit>.
void print_matrix(const Layout& map, int matrix) {
  std::vector<std::vector<std::string>> rows(static_cast<std::size_t>(map.rows) + 1);
  rows[0].push_back(map.matrices > 1 ? fmt::format("matrix {}", matrix) : "");
  for (int col = 0; col < map.cols; ++col) rows[0].push_back(std::to_string(col));
  for (int row = 0; row < map.rows; ++row) {
    auto& cells = rows[static_cast<std::size_t>(row) + 1];
    cells.push_back(std::to_string(row));
    for (int col = 0; col < map.cols; ++col) {
      const auto element = map.find(row, col, matrix);
      cells.push_back(element ? place(map, *element) : "-");
    }
  }
  fmt::print("{}", format_table(rows));
}

void print_text(const Layout& map) {
  for (int matrix = 0; matrix < map.matrices; ++matrix) print_matrix(map, matrix);
}

void print_json(const Layout& map, Variant variant, const OperandSpec& operand) {
  const bool matrices = map.matrices > 1;
  auto elements = Json::array();
  for (const LayoutElement& e : map.elements()) {
    Json element = {{"lane", e.lane}, {"reg", e.reg}, {"bit", e.bit}, {"row", e.row}, {"col", e.col}};
    if (matrices) element["matrix"] = e.matrix;
    elements.push_back(std::move(element));
  }
  Json json = {{"schema", 1},
               {"opcode", variant.opcode()},
               {"operand", operand.name},
               {"type", operand.type.name},
               {"rows", map.rows},
               {"cols", map.cols},
               {"lanes", map.lanes}};
  if (matrices) {
    auto addresses = Json::array();
    for (const auto& a : map.addresses())
      addresses.push_back({{"lane", a.lane}, {"matrix", a.matrix}, {"row", a.row}});
    json["addresses"] = std::move(addresses);
  }
  json["elements"] = std::move(elements);
  fmt::print("{}\n", json.dump());
}

void print_svg(const Layout& map, Variant variant, const OperandSpec& operand) {
  constexpr int kCell = 44, kHigh = 22, kTop = 24;
  fmt::print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"monospace\" "
      "font-size=\"9\">\n",
      map.cols * kCell + 1, map.rows * map.matrices * kHigh + kTop + 1);
  fmt::print("<text x=\"2\" y=\"15\" font-size=\"12\">{} of {}</text>\n", operand.name, variant.opcode());
  for (const LayoutElement& e : map.elements()) {
    const int x = e.col * kCell, y = (e.matrix * map.rows + e.row) * kHigh + kTop;
    fmt::print(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"hsl({},70%,{}%)\" stroke=\"#888\"/>", x, y,
        kCell, kHigh, e.lane * 360 / map.lanes, 92 - 6 * (e.reg % 4));
    fmt::print("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 2, y + 14, place(map, e));
  }
  fmt::print("</svg>\n");
}

int run(const Tool& tool, const Options& options) {
  const auto specs = tool.specs();
  std::optional<Target> target;
  if (!options.target.empty()) target = specs->target(options.target);
  const Variant variant = choose(find_opcode(*specs, options.opcode, target), options.operand);
  const OperandSpec& operand = variant.operand(options.operand);
  const Layout map = layout(variant, options.operand, parse_selectors(options.selectors));
  if (!options.at.empty() || options.lane >= 0) {
    print_elements(map, options);
  } else if (options.format == "json") {
    print_json(map, variant, operand);
  } else if (options.format == "svg") {
    print_svg(map, variant, operand);
  } else {
    print_text(map);
  }
  return 0;
}

}  // namespace

void add_layout(Tool& tool) {
  tool.command<Options>(
      "layout", "where each element of a matrix operand lives: lane, register, bit",
      [](CLI::App& command, Options& options) {
        command.add_option("opcode", options.opcode, "in full, a prefix, or with ... for any modifiers")
            ->required();
        command.add_option("--operand", options.operand, "such as A")->required()->type_name("NAME");
        command.add_option("--target", options.target, "as this target has it")->type_name("T");
        command.add_option("--format", options.format, "text, svg or json (docs/json/layout.json)")
            ->check(CLI::IsMember({"text", "svg", "json"}))
            ->capture_default_str();
        command.add_option("--at", options.at, "only this element")->type_name("row,col");
        command.add_option("--lane", options.lane, "only what this lane holds")->type_name("L");
        command.add_option("--select", options.selectors, "value of a selector operand; default 0")
            ->allow_extra_args(false)
            ->type_name("TA=1");
      },
      run);
}

}  // namespace ptxloom::cli
