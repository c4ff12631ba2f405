// SPDX-License-Identifier: Apache-2.0
#include "cli/sass/ncu_stalls.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

#include "base/program.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/libraries.hpp"

namespace ptxloom::cli {
namespace {

using Row = std::vector<std::string>;

// Metrics of ncu's section WarpStateStats.
constexpr std::string_view kBefore = "smsp__average_warps_issue_stalled_", kAfter = "_per_issue_active";
constexpr std::string_view kKernel = "Kernel Name", kMetric = "Metric Name", kValue = "Metric Value";

/// Reasons of ncu (Kernel Profiling Guide, "Warp Stall Reasons") and those of the issue model.
constexpr std::pair<std::string_view, std::string_view> kReasons[] = {{"selected", "issued"},
                                                                      {"wait", "stall_count"},
                                                                      {"long_scoreboard", "scoreboard"},
                                                                      {"short_scoreboard", "scoreboard"},
                                                                      {"gmma", "scoreboard"},
                                                                      {"math_pipe_throttle", "unit_busy"},
                                                                      {"mio_throttle", "unit_busy"},
                                                                      {"lg_throttle", "unit_busy"},
                                                                      {"tex_throttle", "unit_busy"},
                                                                      {"dispatch_stall", "register_banks"},
                                                                      {"barrier", "barrier"},
                                                                      {"not_selected", "not_selected"}};

std::string_view reason_of(std::string_view metric) {
  const auto known =
      std::ranges::find(kReasons, metric, &std::pair<std::string_view, std::string_view>::first);
  return known == std::end(kReasons) ? "other" : known->second;
}

/// "long_scoreboard" of a metric that counts stalls in all cycles, not only in those without an issue.
std::optional<std::string_view> stall_in(std::string_view metric) {
  if (!metric.starts_with(kBefore)) return std::nullopt;
  metric.remove_prefix(kBefore.size());
  const std::size_t end = metric.find(kAfter);
  if (end == metric.npos || metric.substr(0, end).ends_with("_not_issued")) return std::nullopt;
  return metric.substr(0, end);
}

/// Cells in quotation marks or without; two of them in a row stand for one.
Row cells_of(std::string_view line) {
  Row cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char one = line[i];
    if (one == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (one == '"')
      quoted = !quoted;
    else if (one == ',' && !quoted)
      cells.emplace_back();
    else if (one != '\r')
      cells.back() += one;
  }
  return cells;
}

/// "1,234.5" is a number too.
std::optional<double> number_in(std::string text) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Table {
 public:
  explicit Table(Row header) : header_(std::move(header)) {}

  /// Of `--page details` one metric, of `--page raw` all of a launch; units are passed over.
  void add(const Row& row) {
    const std::string* const kernel = cell(row, kKernel);
    if (kernel == nullptr || kernel->empty()) return;
    if (const std::string* const metric = cell(row, kMetric))
      return add(row, *kernel, *metric, cell(row, kValue));
    for (std::size_t i = 0; i < std::min(row.size(), header_.size()); ++i)
      add(row, *kernel, header_[i], &row[i]);
  }

  std::map<std::string, MeasuredStalls> averages() {
    for (auto& [kernel, stalls] : sums_) {
      stalls.launches = static_cast<int>(launches_.at(kernel).size());
      for (auto& [reason, cycles] : stalls.cycles) cycles /= stalls.launches;
    }
    return std::move(sums_);
  }

 private:
  const std::string* cell(const Row& row, std::string_view name) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(header_, name) - header_.begin());
    return at < std::min(header_.size(), row.size()) ? &row[at] : nullptr;
  }

  void add(const Row& row, const std::string& kernel, std::string_view metric, const std::string* value) {
    const auto stall = stall_in(metric);
    const auto number = stall && value != nullptr ? number_in(*value) : std::nullopt;
    if (!number) return;
    sums_[kernel].cycles[std::string(reason_of(*stall))] += *number;
    launches_[kernel].insert(row.front());
  }

  Row header_;
  std::map<std::string, MeasuredStalls> sums_;
  std::map<std::string, std::set<std::string>> launches_;  // their numbers, in the first column
};

/// ncu's own error ("==ERROR== ..."), else its warning, else the last line, which may be the program's.
std::string complaint_in(std::string_view text) {
  for (const std::string_view mark : {"==ERROR== ", "==WARNING== "}) {
    const std::size_t at = text.find(mark);
    if (at == text.npos) continue;
    text.remove_prefix(at + mark.size());
    return std::string(text.substr(0, text.find_first_of("\r\n")));
  }
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

/// In the folders of PATH, and where the CUDA toolkit is.
std::optional<std::filesystem::path> find_ncu() {
  if (auto found = find_on_path("ncu")) return found;
  std::vector<std::filesystem::path> roots = folders_in("CUDA_HOME");
  roots.emplace_back("/usr/local/cuda");
  for (const std::filesystem::path& root : roots)
    if (::access((root / "bin/ncu").c_str(), X_OK) == 0) return root / "bin/ncu";
  return std::nullopt;
}

}  // namespace

std::map<std::string, MeasuredStalls> read_ncu(std::string_view csv, std::string_view name) {
  std::optional<Table> table;
  while (!csv.empty()) {
    const std::string_view line = csv.substr(0, csv.find('\n'));
    csv.remove_prefix(std::min(line.size() + 1, csv.size()));
    Row row = cells_of(line);
    if (!table && std::ranges::find(row, kKernel) != row.end())
      table.emplace(std::move(row));
    else if (table)
      table->add(row);
  }
  std::map<std::string, MeasuredStalls> found;
  if (table) found = table->averages();
  if (found.empty())
    throw Error(ErrorKind::usage, "bad-ncu-csv",
                fmt::format("{} is no table of ncu with stall reasons", name),
                "ncu --csv --page raw --print-kernel-base mangled --section WarpStateStats PROGRAM "
                "writes one");
  return found;
}

NcuRun run_ncu(const std::vector<std::string>& arguments, int chip) {
  const auto ncu = find_ncu();
  if (!ncu) return {.problem = "ncu was not found on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin"};
  const Libraries libraries;
  const std::vector<DeviceInfo> gpus =
      libraries.has_driver() ? devices(libraries) : std::vector<DeviceInfo>();
  if (gpus.empty()) return {.problem = "there is no GPU with a driver"};
  if (const Target gpu = gpus.front().target(); gpu.number() != chip)
    return {.problem = fmt::format("the GPU is {}, and the kernel is for sm_{}", gpu.name(), chip)};
  // Kernels by their names in machine code, and numbers without prefixes of units.
  std::vector<std::string> command = {"--csv",   "--page",        "raw",           "--print-kernel-base",
                                      "mangled", "--print-units", "base",          "--target-processes",
                                      "all",     "--section",     "WarpStateStats"};
  std::error_code none;
  command.push_back(std::filesystem::read_symlink("/proc/self/exe", none).string());
  command.insert(command.end(), arguments.begin(), arguments.end());
  Ended ended = run_program(*ncu, std::move(command));
  if (!ended.success || ended.output.find(kBefore) == std::string::npos)
    return {.problem = "ncu failed: " + complaint_in(ended.output)};
  return {.csv = std::move(ended.output)};
}

}  // namespace ptxloom::cli
