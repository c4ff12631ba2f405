// SPDX-License-Identifier: Apache-2.0
#include "target/target_table.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

#include "ptxloom/error.hpp"

namespace ptxloom::target {
namespace {

[[noreturn]] void fail(std::string_view row, const std::string& why) {
  throw Error(ErrorKind::usage, "bad-targets", "targets: row '" + std::string(row) + "': " + why,
              "the columns are described in specs/README.md");
}

std::vector<std::string_view> cells(std::string_view row) {
  std::vector<std::string_view> result;
  for (std::size_t at = row.find_first_not_of(' '); at != row.npos; at = row.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(row.find(' ', at), row.size());
    result.push_back(row.substr(at, end - at));
    at = end;
  }
  return result;
}

/// One row as column -> cell.
using Row = std::map<std::string_view, std::string_view>;

std::vector<std::pair<std::string_view, Row>> rows(std::span<const std::string_view> lines) {
  std::vector<std::pair<std::string_view, Row>> result;
  if (lines.empty()) return result;
  const auto header = cells(lines.front());
  for (std::string_view line : lines.subspan(1)) {
    const auto values = cells(line);
    if (values.size() != header.size()) {
      fail(line, "has " + std::to_string(values.size()) + " cells, but the header has " +
                     std::to_string(header.size()));
    }
    Row row;
    for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = values[i];
    result.emplace_back(line, std::move(row));
  }
  return result;
}

struct RowReader {
  std::string_view line;
  const Row& row;

  std::string_view text(std::string_view column) const {
    const auto cell = row.find(column);
    if (cell == row.end()) fail(line, "the table lacks the column '" + std::string(column) + "'");
    return cell->second;
  }
  bool has(std::string_view column) const { return row.contains(column); }
  int number(std::string_view column) const {
    const std::string_view digits = text(column);
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      fail(line, "'" + std::string(digits) + "' in column '" + std::string(column) + "' is not a number");
    }
    return value;
  }
  bool flag(std::string_view column) const {
    const std::string_view word = text(column);
    if (word != "yes" && word != "no") {
      fail(line, "'" + std::string(word) + "' in column '" + std::string(column) + "' is neither yes nor no");
    }
    return word == "yes";
  }
  /// 0 for "-".
  int number_if_any(std::string_view column) const { return text(column) == "-" ? 0 : number(column); }
};

/// A cell "=103" is what nobody has published, and stands for that of chip 103, which is an earlier row.
Row without_assumptions(std::string_view line, Row row, const std::map<int, Row>& earlier) {
  for (auto& [column, cell] : row) {
    if (!cell.starts_with('=')) continue;
    int number = 0;
    std::from_chars(cell.data() + 1, cell.data() + cell.size(), number);
    const auto other = earlier.find(number);
    if (other == earlier.end())
      fail(line, "no earlier row is that of the chip in '" + std::string(cell) + "'");
    cell = other->second.at(column);
  }
  return row;
}

std::map<int, TargetInfo> read_chips(std::span<const std::string_view> lines) {
  std::map<int, TargetInfo> chips;
  std::map<int, Row> complete;
  for (auto& [line, cells_of_line] : rows(lines)) {
    const Row row = without_assumptions(line, std::move(cells_of_line), complete);
    const RowReader read{line, row};
    complete.emplace(read.number("chip"), row);
    TargetInfo info;
    info.number = read.number("chip");
    info.family = read.number("family");
    info.sms = read.number("sms");
    info.shared_per_block = read.number("shared_per_block");
    info.shared_per_sm = read.number("shared_per_sm");
    info.threads_per_sm = read.number("threads_per_sm");
    info.blocks_per_sm = read.number("blocks_per_sm");
    info.registers_per_sm = read.number("registers_per_sm");
    info.mma_fraction_bits = read.number("mma_fraction_bits");
    info.mma_halves = read.flag("mma_halves");
    if (read.has("cluster_blocks")) info.cluster_blocks = read.number("cluster_blocks");
    if (!chips.emplace(info.number, info).second) fail(line, "the chip is listed twice");
  }
  return chips;
}

}  // namespace

std::vector<TargetInfo> read_targets(const TableText& text) {
  const std::map<int, TargetInfo> chips = read_chips(text.chips);
  std::vector<TargetInfo> result;
  for (const auto& [line, row] : rows(text.targets)) {
    const RowReader read{line, row};
    const std::string_view name = read.text("target");
    const char last = name.back();
    const char suffix = last == 'a' || last == 'f' ? last : '\0';
    int number = 0;
    const char* const end = name.data() + name.size() - (suffix != '\0' ? 1 : 0);
    const bool prefixed = name.starts_with("sm_");
    if (!prefixed || std::from_chars(name.data() + 3, end, number).ptr != end) {
      fail(line, "a target is named sm_<chip>, sm_<chip>a or sm_<chip>f");
    }
    const auto chip = chips.find(number);
    if (chip == chips.end()) fail(line, "there is no row for chip " + std::to_string(number));
    TargetInfo info = chip->second;
    info.name = name;
    info.suffix = suffix;
    info.since = parse_version(read.text("since"));
    info.shared_static = read.has("shared_static") ? read.number("shared_static") : info.shared_per_block;
    result.push_back(info);
  }
  return result;
}

std::vector<ToolkitInfo> read_toolkits(std::span<const std::string_view> lines) {
  std::vector<ToolkitInfo> result;
  for (const auto& [line, row] : rows(lines)) {
    const RowReader read{line, row};
    const ToolkitInfo info{.cuda = parse_version(read.text("cuda")),
                           .ptx = parse_version(read.text("ptx")),
                           .driver = read.number_if_any("driver"),
                           .cubin_driver = read.number("cubin_driver")};
    if (!result.empty() && (info.cuda <= result.back().cuda || info.ptx < result.back().ptx))
      fail(line, "the releases and their PTX versions must be in ascending order");
    result.push_back(info);
  }
  return result;
}

std::vector<ChipRates> read_rates(std::span<const std::string_view> lines) {
  std::vector<ChipRates> result;
  for (const auto& [line, row] : rows(lines)) {
    const RowReader read{line, row};
    ChipRates& rates = result.emplace_back();
    for (const RateColumn& column : kRateColumns) rates.*column.field = read.number_if_any(column.name);
    if (rates.sparse == 0) fail(line, "'sparse' must be at least 1");
  }
  return result;
}

std::vector<Product> read_products(std::span<const std::string_view> lines) {
  std::vector<Product> result;
  for (const auto& [line, row] : rows(lines)) {
    const RowReader read{line, row};
    const int chip = read.number("chip");
    if (!result.empty() && chip < result.back().chip) fail(line, "the chips must not descend");
    result.push_back({.name = read.text("name"),
                      .chip = chip,
                      .sms = read.number("sms"),
                      .clock = read.number("clock"),
                      .mma_clock = read.number("mma_clock"),
                      .memory = read.number("memory"),
                      .f32_sums = read.number("f32_sums")});
    if (result.back().f32_sums == 0) fail(line, "'f32_sums' must be at least 1");
  }
  return result;
}

std::vector<ChipDevice> read_devices(std::span<const std::string_view> lines,
                                     std::span<const Product> products) {
  std::vector<ChipDevice> result;
  for (const auto& [line, row] : rows(lines)) {
    const RowReader read{line, row};
    const auto product = std::ranges::find(products, read.text("product"), &Product::name);
    if (product == products.end()) fail(line, "there is no such row in 'products'");
    result.push_back({.chip = read.number("chip"), .product = static_cast<int>(product - products.begin())});
  }
  return result;
}

std::vector<ChipModel> read_model(std::span<const std::string_view> lines) {
  std::vector<ChipModel> result;
  for (const auto& [line, row] : rows(lines)) {
    const RowReader read{line, row};
    ChipModel& model = result.emplace_back();
    for (const ModelColumn& column : kModelColumns) model.*column.field = read.number(column.name);
  }
  return result;
}

LaunchLimits read_launch_limits(std::span<const std::string_view> lines) {
  const auto read_rows = rows(lines);
  if (read_rows.size() != 1) fail(lines.empty() ? "" : lines.front(), "the table 'launch' must have one row");
  const RowReader read{read_rows.front().first, read_rows.front().second};
  const auto number = [&](std::string_view column) {
    return static_cast<std::uint32_t>(read.number(column));
  };
  return {.grid = {number("grid_x"), number("grid_y"), number("grid_z")},
          .block = {number("block_x"), number("block_y"), number("block_z")},
          .threads = number("threads"),
          .cluster_portable = number("cluster_portable"),
          .local = number("local")};
}

int ChipRates::operations(std::string_view unit) const {
  const int eight = std::max(mma_s8, mma_fp8);
  const std::pair<std::string_view, int> units[] = {{"f64", std::max(f64, mma_f64)},
                                                    {"f32", f32},
                                                    {"tf32", mma_tf32},
                                                    {"f16", mma_f16},
                                                    {"b8", eight},
                                                    {"b4", std::max({mma_s4, mma_fp4, eight})}};
  for (const auto& [name, rate] : units) {
    if (name == unit) return rate;
  }
  return 0;
}

std::vector<ChipMma> read_mma(std::span<const std::string_view> lines) {
  std::vector<ChipMma> result;
  for (const auto& [line, row] : rows(lines)) {
    const RowReader read{line, row};
    const int chip = read.number("chip");
    if (!result.empty() && chip <= result.back().chip) fail(line, "the chips must be in ascending order");
    result.push_back({.chip = chip,
                      .least_f32 = read.number("least_f32"),
                      .least_f16 = read.number("least_f16"),
                      .fp8_bits = read.number_if_any("fp8_bits"),
                      .fp8_as_f16 = read.flag("fp8_as_f16"),
                      .fp4_bits = read.number_if_any("fp4_bits"),
                      .fp4_least = read.number_if_any("fp4_least"),
                      .m8n8k4_scalar = read.flag("m8n8k4_scalar"),
                      .wmma_f16_k = read.number_if_any("wmma_f16_k"),
                      .wmma_tf32_k = read.number_if_any("wmma_tf32_k")});
  }
  return result;
}

const ChipMma& mma_of(int chip) {
  const std::span<const ChipMma> all = compiled_mma();
  const auto after = std::ranges::upper_bound(all, chip, {}, &ChipMma::chip);
  return after == all.begin() ? all.front() : *(after - 1);
}

const ChipRates* rates_of(int chip) {
  for (const ChipRates& rates : compiled_rates()) {
    if (rates.chip == chip) return &rates;
  }
  return nullptr;
}

std::span<const Product> products() { return compiled_products(); }

const Product& device_of(int chip) {
  const std::span<const ChipDevice> all = compiled_devices();
  auto row = std::ranges::find(all, chip, &ChipDevice::chip);
  if (row == all.end()) row = std::ranges::find(all, compiled_model().front().chip, &ChipDevice::chip);
  return products()[static_cast<std::size_t>(row->product)];
}

const ChipModel& model_of(int chip) {
  const std::span<const ChipModel> all = compiled_model();
  const auto row = std::ranges::find(all, chip, &ChipModel::chip);
  return row != all.end() ? *row : all.front();
}

}  // namespace ptxloom::target
