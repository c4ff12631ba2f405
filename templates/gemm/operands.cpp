// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "problem.hpp"

namespace ptxloom::gemm_kernel {
namespace {

// That a lane reads of C at once, or writes of a D that is not staged, at most.
constexpr std::uint64_t kElementsOfLane = 4;
// In which A and B are read where they are packed (pack.hpp).
constexpr std::uint64_t kPackedWord = 4;

std::uint64_t row_length(const Settings& problem, std::string_view name) {
  const auto size = [&](const char* word) { return std::stoull(problem.at(word)); };
  if (name == "a") return size(problem.at("a_layout") == "row" ? "k" : "m");
  if (name == "b") return size(problem.at("b_layout") == "col" ? "k" : "n");
  return size("n");
}

bool packs(const Settings& config, std::string_view name, std::uint64_t unit) {
  return config.at("strategy") == "wgmma" && (name == "a" || name == "b") && unit < 16;
}

bool overlap(const Area& x, std::uint64_t x_begins, const Area& y, std::uint64_t y_begins) {
  const auto end = [](const Area& area, std::uint64_t begin) {
    return begin + (area.rows - 1) * area.pitch + area.row_bytes;
  };
  if (end(x, x_begins) <= y_begins || end(y, y_begins) <= x_begins) return false;
  if (x.pitch != y.pitch) return true;
  // Columns of one wider matrix: y's begin so far behind x's.
  const std::uint64_t behind = (y_begins + x.pitch - x_begins % x.pitch) % x.pitch;
  return behind < x.row_bytes || behind + y.row_bytes > x.pitch;
}

}  // namespace

std::vector<Area> areas(const Settings& problem, const Settings& config,
                        const std::vector<TensorPlan>& tensors) {
  const bool staged = config.at("epilogue") == "staged";
  std::vector<Area> all;
  for (const TensorPlan& tensor : tensors) {
    const auto size = static_cast<std::uint64_t>(tensor.type.bytes());
    if (!problem.contains("ld" + tensor.name)) {  // no matrix
      all.push_back({tensor.name, 1, tensor.bytes(), tensor.bytes(), size});
      continue;
    }
    const std::uint64_t length = row_length(problem, tensor.name), ld = tensor.shape[1];
    auto unit = static_cast<std::uint64_t>(alignment(tensor.type, ld, length, false));
    if (packs(config, tensor.name, unit)) unit = kPackedWord;
    if (tensor.name == "c" || (tensor.name == "d" && !staged)) unit = std::min(unit, kElementsOfLane * size);
    all.push_back({tensor.name, tensor.shape[0], length * size, ld * size, unit});
  }
  return all;
}

void check_operands(const std::vector<Area>& areas,
                    const std::function<std::uint64_t(std::string_view)>& address) {
  const Area& d = areas.back();
  for (const Area& area : areas) {
    const std::uint64_t begin = address(area.name);
    if (begin == 0)
      throw Error(ErrorKind::usage, "missing-operand", fmt::format("{} is not given", area.name),
                  "give its device pointer or its Buffer");
    if (begin % area.alignment != 0)
      throw Error(ErrorKind::usage, "misaligned-operand",
                  fmt::format("{} lies at {:#x}, no multiple of {} bytes", area.name, begin, area.alignment),
                  "rows that all begin at such multiples are read and written in units of so many bytes");
    const std::uint64_t result = address(d.name);
    if (&area == &d || result == 0 || !overlap(area, begin, d, result)) continue;
    if (area.name == "c" && begin == result && area.pitch == d.pitch && area.row_bytes == d.row_bytes)
      continue;
    throw Error(ErrorKind::usage, "overlapping-operands", fmt::format("{} and d overlap", area.name),
                "only c may be in the place of d, with the same type and leading dimension");
  }
}

}  // namespace ptxloom::gemm_kernel
