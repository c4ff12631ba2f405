// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/common/number.hpp"
#include "cli/common/table.hpp"
#include "cli/instructions/layout_picture.hpp"
#include "cli/instructions/opcode.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

struct LayoutFlags {
  std::string opcode, operand, target;
  std::string format = "text";
  std::string at;
  int lane = -1;
  std::vector<std::string> selectors;
};

constexpr int kMostLanes = 128;      // of a warpgroup
constexpr int kMostIndex = 1 << 20;  // larger than any matrix

/// The text before and after the separator; the latter is empty if there is no separator.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  return {text.substr(0, at), text.substr(std::min(at + 1, text.size()))};
}

std::vector<LayoutSelector> parse_selectors(const std::vector<std::string>& texts) {
  std::vector<LayoutSelector> selectors;
  for (const std::string_view text : texts) {
    const auto [operand, value] = cut(text, '=');
    selectors.push_back({.operand = operand, .value = parse_number("--select", value, 0, kMostIndex)});
  }
  return selectors;
}

/// Among variants of one opcode, one that has a map for the operand; else the first, for its error message.
Variant choose(const std::vector<Variant>& variants, const std::string& operand) {
  for (const Variant& variant : variants) {
    if (variant.operand_index(operand) >= 0 && has_layout(variant, operand)) return variant;
  }
  return variants.front();
}

/// The elements that --at and --lane ask for.
std::vector<LayoutElement> chosen_elements(const Layout& map, const LayoutFlags& options) {
  if (options.lane >= map.lanes) {
    throw Error(ErrorKind::usage, "outside-matrix", fmt::format("there is no lane {}", options.lane),
                fmt::format("{} lanes hold the matrix; lanes count from 0", map.lanes));
  }
  int row = -1, col = -1;
  if (!options.at.empty()) {
    if (options.at.find(',') == std::string::npos)
      throw Error(ErrorKind::usage, "bad-option", fmt::format("--at '{}': this is not row,col", options.at),
                  "give both, such as --at 3,5");
    const auto [row_text, col_text] = cut(options.at, ',');
    row = parse_number("--at", row_text, 0, kMostIndex);
    col = parse_number("--at", col_text, 0, kMostIndex);
    if (row >= map.rows || col >= map.cols) {
      throw Error(ErrorKind::usage, "outside-matrix", fmt::format("there is no element {},{}", row, col),
                  fmt::format("the matrix is {} x {}; rows and columns count from 0", map.rows, map.cols));
    }
  }
  std::vector<LayoutElement> chosen;
  std::ranges::copy_if(map.elements(), std::back_inserter(chosen), [&](const LayoutElement& e) {
    return (options.lane < 0 || e.lane == options.lane) && (row < 0 || (e.row == row && e.col == col));
  });
  return chosen;
}

void print_json(const Layout& map, std::span<const LayoutElement> chosen, Variant variant,
                const std::string& operand) {
  const bool matrices = map.matrices > 1 || !map.addresses().empty();
  Json json = {{"schema", 1},           {"opcode", variant.opcode()}, {"operand", operand},
               {"type", map.type.name}, {"rows", map.rows},           {"cols", map.cols},
               {"lanes", map.lanes}};
  if (map.block != 0) json["block"] = map.block;
  if (!map.addresses().empty()) {
    auto& addresses = json["addresses"] = Json::array();
    for (const LayoutAddress& a : map.addresses())
      addresses.push_back({{"lane", a.lane}, {"matrix", a.matrix}, {"row", a.row}});
  }
  auto& elements = json["elements"] = Json::array();
  for (const LayoutElement& e : chosen) {
    Json element = {{"lane", e.lane}, {"reg", e.reg}, {"bit", e.bit}, {"row", e.row}, {"col", e.col}};
    if (matrices) element["matrix"] = e.matrix;
    elements.push_back(std::move(element));
  }
  fmt::print("{}\n", json.dump());
}

/// One element in words, several as a table.
void print_elements(const Layout& map, std::span<const LayoutElement> chosen) {
  if (chosen.size() == 1) {
    fmt::print("lane {} register {} bit {}\n", chosen[0].lane, chosen[0].reg, chosen[0].bit);
    return;
  }
  std::vector<std::vector<std::string>> rows = {{"lane", "reg", "bit", "row", "col"}};
  if (map.matrices > 1) rows[0].push_back("matrix");
  for (const LayoutElement& e : chosen) {
    auto& row = rows.emplace_back();
    for (const int value : {e.lane, e.reg, e.bit, e.row, e.col}) row.push_back(std::to_string(value));
    if (map.matrices > 1) row.push_back(std::to_string(e.matrix));
  }
  fmt::print("{}", format_table(rows));
}

/// "A of mma...: 16 x 16 (m x k) of f16, in 4 registers of 32 lanes".
std::string title(const Layout& map, Variant variant, const std::string& operand) {
  const std::string matrices = map.matrices > 1 ? fmt::format("{} matrices of ", map.matrices) : "";
  const std::string axes = map.col_axis == '\0' ? "" : fmt::format(" ({} x {})", map.row_axis, map.col_axis);
  const std::string blocks = map.block != 0 ? fmt::format(", one column for each {} of k", map.block) : "";
  return fmt::format("{} of {}: {}{} x {}{} of {}{}, in {} register{} of {} lanes", operand, variant.opcode(),
                     matrices, map.rows, map.cols, axes, map.type.name, blocks, map.registers,
                     map.registers == 1 ? "" : "s", map.lanes);
}

/// Prints runs of lanes that give the addresses of consecutive rows.
void print_addresses(const Layout& map) {
  const auto all = map.addresses();
  for (std::size_t first = 0, next = 0; first < all.size(); first = next) {
    const LayoutAddress& from = all[first];
    const auto follows = [&](const LayoutAddress& a) {
      return a.matrix == from.matrix && a.lane - from.lane == a.row - from.row;
    };
    while (next < all.size() && follows(all[next])) ++next;
    fmt::print("lanes {}-{} give the addresses of rows {}-{} of matrix {}\n", from.lane, all[next - 1].lane,
               from.row, all[next - 1].row, from.matrix);
  }
}

int run_layout(const Tool& tool, const LayoutFlags& options) {
  constexpr std::array<std::string_view, 3> kFormats = {"text", "svg", "json"};
  if (std::ranges::find(kFormats, options.format) == kFormats.end()) {
    throw Error(ErrorKind::usage, "bad-usage", fmt::format("there is no format '{}'", options.format),
                "use text, svg or json");
  }
  const auto specs = tool.specs();
  std::optional<Target> target;
  if (!options.target.empty()) target = specs->target(options.target);
  const Variant variant = choose(find_opcode(*specs, options.opcode, target), options.operand);
  const Layout map = layout(variant, options.operand, parse_selectors(options.selectors));
  const std::vector<LayoutElement> chosen = chosen_elements(map, options);
  const bool all = options.at.empty() && options.lane < 0;
  if (options.format == "json") {
    print_json(map, chosen, variant, options.operand);
  } else if (options.format == "svg") {
    print_svg(map, title(map, variant, options.operand));
  } else if (all) {
    fmt::print("{}\n", title(map, variant, options.operand));
    print_grid(map);
    print_addresses(map);
  } else {
    print_elements(map, chosen);
  }
  return 0;
}

}  // namespace

void add_layout(Tool& tool) {
  tool.command<LayoutFlags>(
      "layout", "show where each element of a matrix operand is: lane, register, bit",
      [](CLI::App& command, LayoutFlags& options) {
        command
            .add_option("opcode", options.opcode,
                        "an opcode: in full, a prefix, or with ... for any modifiers")
            ->required();
        command.add_option("--operand", options.operand, "the operand, such as A")
            ->required()
            ->type_name("NAME");
        command.add_option("--target", options.target, "only opcodes of this target")->type_name("T");
        command.add_option("--format", options.format, "output: text, svg or json (docs/json/layout.json)")
            ->capture_default_str();
        command.add_option("--at", options.at, "show only this element")->type_name("row,col");
        add_number(command, "--lane", options.lane, 0, kMostLanes - 1, "show only the elements of this lane");
        command.add_option("--select", options.selectors, "value of a selector operand; default: 0")
            ->allow_extra_args(false)
            ->type_name("TA=1");
      },
      run_layout);
}

}  // namespace ptxloom::cli
