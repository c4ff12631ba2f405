// SPDX-License-Identifier: Apache-2.0
#include "insn/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "ptxloom/error.hpp"

namespace ptxloom::insn {
namespace {

using Json = nlohmann::json;

constexpr double kClose = 0.01;
constexpr std::size_t kMostShown = 20;

struct Figure {
  std::string kind;
  double value = 0;
};

/// By what they are of.
std::map<std::string, Figure> figures_of(std::span<const std::string> records) {
  std::map<std::string, Figure> figures;
  for (const std::string& line : records) {
    const Json record = Json::parse(line);
    const std::string form = record.value("form", ""), opcode = record.value("opcode", ""),
                      data = record.value("data", "");
    const std::string row = opcode + (data == "plain" ? "" : ", " + data);
    const bool probe = form == "probe";
    for (const Json& one : record.value("latency", Json::array())) {
      const auto figure = one.find(one.contains("nanoseconds") ? "nanoseconds" : "cycles");
      if (figure == one.end()) continue;
      const std::string from = one.value("from", "");
      const std::string what = probe ? row : fmt::format("{} from {} ({})", row, from, form);
      figures[what] = {probe ? "probe" : "latency", figure->get<double>()};
    }
    for (const Json& one : record.value("throughput", Json::array()))
      figures[fmt::format("{} of {} warps ({})", row, one.value("warps", 0), form)] = {
          "throughput", one.value("per_cycle", 0.0)};
  }
  return figures;
}

std::vector<double> differences_of(const std::vector<Repeated>& figures) {
  std::vector<double> differences;
  for (const Repeated& one : figures) differences.push_back(one.difference());
  std::ranges::sort(differences);
  return differences;
}

double part_within(const std::vector<double>& sorted, double limit) {
  const auto within = std::ranges::upper_bound(sorted, limit) - sorted.begin();
  return static_cast<double>(within) / static_cast<double>(sorted.size());
}

}  // namespace

double Repeated::difference() const {
  const double least = std::min(first, second);
  return least > 0 ? (std::max(first, second) - least) / least : 0;
}

std::map<std::string, std::vector<Repeated>> repeated(std::span<const std::string> first,
                                                      std::span<const std::string> second) {
  const std::map<std::string, Figure> others = figures_of(second);
  std::map<std::string, std::vector<Repeated>> made;
  for (const auto& [what, figure] : figures_of(first)) {
    const auto other = others.find(what);
    if (other == others.end() || figure.value <= 0 || other->second.value <= 0) continue;
    made[figure.kind].push_back({what, figure.value, other->second.value});
  }
  return made;
}

void require_one_origin(std::span<const std::string> records) {
  std::set<std::string> origins;
  for (const std::string& line : records) {
    const Json record = Json::parse(line);
    origins.insert(fmt::format("{} (driver {})", record.value("device", "an unnamed device"),
                               record.value("driver", 0)));
  }
  if (origins.size() > 1)
    throw Error(
        ErrorKind::usage, "bad-records",
        fmt::format("the records to compare are of several devices or drivers: {}", fmt::join(origins, ", ")),
        "give a file of one device and driver on each side");
}

std::string comparison_text(const std::map<std::string, std::vector<Repeated>>& figures) {
  std::string text = fmt::format("{:12} {:>8} {:>12} {:>10} {:>18}\n", "", "figures", "within 1 %", "median",
                                 "95th percentile");
  std::vector<Repeated> worst;
  for (const auto& [kind, all] : figures) {
    const std::vector<double> differences = differences_of(all);
    text += fmt::format("{:12} {:8} {:10.1f} % {:8.3f} % {:16.2f} %\n", kind, all.size(),
                        100 * part_within(differences, kClose), 100 * differences[differences.size() / 2],
                        100 * differences[differences.size() * 95 / 100]);
    worst.insert(worst.end(), all.begin(), all.end());
  }
  std::ranges::stable_sort(worst, std::greater(), &Repeated::difference);
  std::erase_if(worst, [](const Repeated& one) { return one.difference() <= kClose; });
  if (!worst.empty())
    text +=
        fmt::format("\n{} by more than 1 %",
                    worst.size() == 1 ? "1 figure differs" : fmt::format("{} figures differ", worst.size()));
  if (worst.size() > kMostShown) text += fmt::format("; the {} that differ most", kMostShown);
  if (!worst.empty()) text += ":\n";
  worst.resize(std::min(worst.size(), kMostShown));
  for (const Repeated& one : worst)
    text += fmt::format("{:7.2f} %  {:.6g} and {:.6g}: {}\n", 100 * one.difference(), one.first, one.second,
                        one.what);
  return text;
}

std::string spread_text(std::span<const std::string> records) {
  std::vector<double> spreads;
  for (const std::string& line : records) {
    const Json record = Json::parse(line);
    for (const char* kind : {"latency", "throughput"})
      for (const Json& one : record.value(kind, Json::array()))
        if (one.contains("spread")) spreads.push_back(one["spread"].get<double>());
  }
  if (spreads.empty()) return "";
  const auto wide = std::ranges::count_if(spreads, [](double one) { return one > kClose; });
  return fmt::format("of {} figures the repeats of {} lie more than 1 % apart, at most {:.1f} %\n",
                     spreads.size(), wide, 100 * std::ranges::max(spreads));
}

}  // namespace ptxloom::insn
