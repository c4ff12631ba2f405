// SPDX-License-Identifier: Apache-2.0
#include "gemm/api/operands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gemm/config/strategy.hpp"
#include "gemm/problem/problem.hpp"

namespace ptxloom::gemm_kernel {
namespace {

// The most elements that a lane reads of C, or writes to an unstaged D, in one access.
constexpr std::uint64_t kElementsOfLane = 4;
// The access width with which A and B are read to be packed (kit/packing.hpp).
constexpr std::uint64_t kPackedAccess = 4;
// The alignment of what TMA loads read.
constexpr std::uint64_t kTmaAlignment = 16;
constexpr std::uint64_t kWorkspaceAlignment = 256;

std::uint64_t row_length(const Settings& problem, std::string_view name) {
  const auto size = [&](const char* extent) { return std::stoull(problem.at(extent)); };
  if (name == "a") return size(problem.at("a_layout") == "row" ? "k" : "m");
  if (name == "b") return size(problem.at("b_layout") == "col" ? "k" : "n");
  return size("n");
}

std::uint64_t rows_of(const Settings& problem, std::string_view name) {
  const auto size = [&](const char* extent) { return std::stoull(problem.at(extent)); };
  if (name == "a") return size(problem.at("a_layout") == "row" ? "m" : "k");
  if (name == "b") return size(problem.at("b_layout") == "col" ? "n" : "k");
  return size("m");
}

bool uses_tma(const Settings& config) { return strategy_named(config.at("strategy")).loads_by_tma(); }

bool packs(const Settings& config, std::string_view name, std::uint64_t unit) {
  return uses_tma(config) && (name == "a" || name == "b") && unit < 16;
}

bool loads_scales_by_tma(const Settings& problem, const Settings& config, const std::string& name) {
  const auto scale = problem.find(name);
  return uses_tma(config) && scale != problem.end() && scale->second == "block";
}

// The bytes from its start to its end modulo `period`: memory seen as rows of `period` bytes.
std::uint64_t length(const Area& area, std::uint64_t period) {
  std::uint64_t bytes = area.row_bytes;
  if (area.pitch % period != 0) bytes += (area.rows - 1) * area.pitch;
  if (area.stride % period != 0) bytes += (area.batches - 1) * area.stride;
  return bytes;
}

// Columns of one wider matrix, or parts of wider batches: in each period y starts this far after x.
bool apart(const Area& x, std::uint64_t x_begins, const Area& y, std::uint64_t y_begins,
           std::uint64_t period) {
  if (period == 0) return false;
  const std::uint64_t behind = (y_begins + period - x_begins % period) % period;
  return behind >= length(x, period) && behind + length(y, period) <= period;
}

bool overlap(const Area& x, std::uint64_t x_begins, const Area& y, std::uint64_t y_begins) {
  const auto end = [](const Area& area, std::uint64_t begin) {
    return begin + span(area.rows, area.row_bytes, area.pitch, area.stride, area.batches);
  };
  if (end(x, x_begins) <= y_begins || end(y, y_begins) <= x_begins) return false;
  return !apart(x, x_begins, y, y_begins, y.pitch) && !apart(x, x_begins, y, y_begins, y.stride);
}

bool same_place(const Area& x, const Area& y) {
  return x.pitch == y.pitch && x.row_bytes == y.row_bytes && x.stride == y.stride;
}

}  // namespace

std::vector<Area> areas(const Settings& problem, const Settings& config,
                        const std::vector<TensorPlan>& tensors) {
  const bool staged = config.at("epilogue") == "staged";
  std::vector<Area> all;
  for (const TensorPlan& tensor : tensors) {
    const auto size = static_cast<std::uint64_t>(tensor.type.bytes());
    if (!problem.contains("ld" + tensor.name)) {  // not a matrix
      const std::uint64_t unit = loads_scales_by_tma(problem, config, tensor.name) ? kTmaAlignment : size;
      all.push_back({tensor.name, place_of(tensor.name), 1, tensor.bytes(), tensor.bytes(), unit});
      continue;
    }
    const auto number = [&](const std::string& word, std::uint64_t otherwise) {
      return problem.contains(word) ? std::stoull(problem.at(word)) : otherwise;
    };
    const std::uint64_t columns = row_length(problem, tensor.name), ld = number("ld" + tensor.name, 0),
                        stride = number("stride_" + tensor.name, 0),
                        batches = stride > 0 ? number("batch", 1) : 1;
    auto unit = static_cast<std::uint64_t>(alignment(tensor.type, ld, stride, columns, false));
    if (packs(config, tensor.name, unit)) unit = kPackedAccess;
    if (tensor.name == "c" || (tensor.name == "d" && !staged)) unit = std::min(unit, kElementsOfLane * size);
    all.push_back({tensor.name, place_of(tensor.name), rows_of(problem, tensor.name), columns * size,
                   ld * size, unit, batches, stride * size});
  }
  return all;
}

void check_operands(const std::vector<Area>& areas, const Given& given) {
  const Area& d = areas.back();
  for (const Area& area : areas) {
    const std::uint64_t begin = given[area.place];
    if (begin == 0)
      throw Error(ErrorKind::usage, "missing-operand", fmt::format("operand {} is missing", area.name),
                  "pass its device pointer or its Buffer");
    if (begin % area.alignment != 0)
      throw Error(
          ErrorKind::usage, "misaligned-operand",
          fmt::format("operand {} is at {:#x}, which is not a multiple of {} bytes", area.name, begin,
                      area.alignment),
          "align the pointer: the leading dimension allows accesses of this size, so the kernel uses them");
    const std::uint64_t result = given[d.place];
    if (&area == &d || result == 0 || !overlap(area, begin, d, result)) continue;
    if (area.name == "c" && begin == result && same_place(area, d)) continue;
    throw Error(ErrorKind::usage, "overlapping-operands", fmt::format("{} and d overlap", area.name),
                "give d its own memory; only c may be the same matrix as d, with the same type, leading "
                "dimension and stride");
  }
}

void check_workspace(const std::vector<Area>& areas, const Given& given, std::uint64_t bytes) {
  const std::uint64_t workspace = given[place_of(kWorkspace)];
  if (workspace % kWorkspaceAlignment != 0)
    throw Error(ErrorKind::usage, "misaligned-operand",
                fmt::format("the workspace is at {:#x}, which is not a multiple of {} bytes", workspace,
                            kWorkspaceAlignment),
                "use the start of an allocation, which is aligned");
  const Area whole{"workspace", place_of(kWorkspace), 1, bytes, bytes};
  for (const Area& area : areas) {
    if (!overlap(area, given[area.place], whole, workspace)) continue;
    throw Error(ErrorKind::usage, "overlapping-operands",
                fmt::format("{} and the workspace of {} bytes overlap", area.name, bytes),
                "give the workspace its own memory, of Gemm::workspace_bytes() bytes");
  }
}

}  // namespace ptxloom::gemm_kernel
