// SPDX-License-Identifier: Apache-2.0
#include "cli/instructions/layout_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/common/table.hpp"

namespace ptxloom::cli {
namespace {

/// The rows and columns of the matrix that a cell of the grid represents.
struct Cell {
  int rows = 1, cols = 1;
  int elements() const { return rows * cols; }
};

/// Whether every cell of this size is a sequence of elements of one register.
bool fits(const Layout& map, Cell cell) {
  if (map.rows % cell.rows != 0 || map.cols % cell.cols != 0) return false;
  return std::ranges::all_of(map.elements(), [&](const LayoutElement& e) {
    const int place = e.row % cell.rows + e.col % cell.cols;
    const auto first = map.find(e.row - e.row % cell.rows, e.col - e.col % cell.cols, e.matrix);
    return first && first->lane == e.lane && first->reg == e.reg && e.bit - first->bit == place * map.stride;
  });
}

/// The largest cell along a row, else along a column.
Cell cell_of(const Layout& map) {
  for (int size = map.register_bits / map.stride; size > 1; --size) {
    if (fits(map, {.rows = 1, .cols = size})) return {.rows = 1, .cols = size};
    if (fits(map, {.rows = size, .cols = 1})) return {.rows = size, .cols = 1};
  }
  return {};
}

std::string place(const Layout& map, const LayoutElement& e, Cell cell) {
  const std::string text = fmt::format("T{}.r{}", e.lane, e.reg);
  const bool whole = cell.elements() * map.stride == map.register_bits;
  return whole ? text : fmt::format("{}:{}", text, e.bit);
}

std::string range(int first, int count) {
  return count == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + count - 1);
}

void print_matrix(const Layout& map, int matrix, Cell cell) {
  std::vector<std::vector<std::string>> lines(1);
  lines[0].push_back(map.matrices > 1 ? fmt::format("matrix {}", matrix) : "");
  for (int col = 0; col < map.cols; col += cell.cols) lines[0].push_back(range(col, cell.cols));
  for (int row = 0; row < map.rows; row += cell.rows) {
    auto& line = lines.emplace_back();
    line.push_back(range(row, cell.rows));
    for (int col = 0; col < map.cols; col += cell.cols) {
      const auto element = map.find(row, col, matrix);
      line.push_back(element ? place(map, *element, cell) : "-");
    }
  }
  fmt::print("{}", format_table(lines));
}

}  // namespace

void print_grid(const Layout& map) {
  const Cell cell = cell_of(map);
  for (int matrix = 0; matrix < map.matrices; ++matrix) print_matrix(map, matrix, cell);
}

void print_svg(const Layout& map, std::string_view title) {
  constexpr int kCell = 44, kHigh = 22, kTop = 24;
  fmt::print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"monospace\" "
      "font-size=\"9\">\n",
      map.cols * kCell + 1, map.rows * map.matrices * kHigh + kTop + 1);
  fmt::print("<text x=\"2\" y=\"15\" font-size=\"12\">{}</text>\n", title);
  for (const LayoutElement& e : map.elements()) {
    const int x = e.col * kCell, y = (e.matrix * map.rows + e.row) * kHigh + kTop;
    fmt::print(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"hsl({},70%,{}%)\" stroke=\"#888\"/>", x, y,
        kCell, kHigh, e.lane * 360 / map.lanes, 92 - 6 * (e.reg % 4));
    fmt::print("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 2, y + 14, place(map, e, {}));
  }
  fmt::print("</svg>\n");
}

}  // namespace ptxloom::cli
