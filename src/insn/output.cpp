// SPDX-License-Identifier: Apache-2.0
#include "insn/output.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/dotted.hpp"
#include "base/file.hpp"
#include "generated/insn_page.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::insn {
namespace {

using Json = nlohmann::ordered_json;

std::string latency_text(const Json& latency) {
  const std::string from = latency.value("from", ""), bridge = latency.value("bridge", "");
  if (latency.contains("nanoseconds"))
    return fmt::format("{} {:.4g} ns", from, latency["nanoseconds"].get<double>());
  if (!latency.contains("cycles")) return from + " -";
  return fmt::format("{} {:.4g}{}", from, latency["cycles"].get<double>(),
                     bridge.empty() ? "" : " with " + bridge);
}

std::string latencies_text(const Json& record) {
  std::string text;
  for (const Json& latency : record.value("latency", Json::array()))
    text += (text.empty() ? "" : ", ") + latency_text(latency);
  return text;
}

std::string sass_text(const Json& record) {
  if (record.contains("note")) return "not measured: " + record["note"].get<std::string>();
  const Json stream = record.value("stream", Json::object());
  const std::string sass = stream.value("sass", "");
  return sass.empty() ? stream.value("state", "") : sass;
}

std::vector<std::string> row_of(const Json& record) {
  double best = 0;
  int warps = 0;
  for (const Json& one : record.value("throughput", Json::array())) {
    if (one.value("per_cycle", 0.0) <= best) continue;
    best = one["per_cycle"].get<double>();
    warps = one.value("warps", 0);
  }
  return {record.value("opcode", ""),
          record.value("data", ""),
          sass_text(record),
          latencies_text(record),
          best > 0 ? fmt::format("{:.4g}", best) : "",
          best > 0 ? std::to_string(warps) : ""};
}

/// Equivalent JSON that may stand in a script of a page.
std::string for_html(std::string_view json) {
  std::string text;
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

}  // namespace

std::vector<std::string> read_records(std::span<const std::filesystem::path> files,
                                      std::string_view selection) {
  std::vector<std::string> all;
  std::map<std::string, std::size_t> known;
  for (const std::filesystem::path& file : files) {
    std::istringstream in(read_data(file));
    for (std::string line; std::getline(in, line);) {
      const Json record = Json::parse(line, nullptr, false);
      if (!record.is_object() || !record.contains("opcode") || !record.contains("device")) continue;
      if (!selection.empty() && record.value("form", "") != selection &&
          !begins_with_words(record.value("opcode", ""), selection))
        continue;
      const std::string key =
          fmt::format("{} {} {} {} {}", record.value("device", ""), record.value("driver", 0),
                      record.value("form", ""), record.value("opcode", ""), record.value("data", ""));
      const auto [place, fresh] = known.emplace(key, all.size());
      fresh ? all.push_back(line) : void(all[place->second] = line);
    }
  }
  if (all.empty())
    throw Error(ErrorKind::usage, "bad-records",
                selection.empty() ? "there is no record in the files"
                                  : fmt::format("there is no record of '{}' in the files", selection),
                "ptxloom bench insn writes such files; docs/json/insn_record.json describes a line");
  return all;
}

std::vector<std::vector<std::string>> table_of(std::span<const std::string> records) {
  std::vector<std::vector<std::string>> cells = {
      {"instruction", "data", "SASS", "latency", "per cycle and SM", "warps"}};
  for (const std::string& record : records) cells.push_back(row_of(Json::parse(record)));
  return cells;
}

std::string json_of(std::span<const std::string> records) {
  Json rows = Json::array();
  for (const std::string& record : records) rows.push_back(Json::parse(record));
  return Json{{"schema", 1}, {"records", std::move(rows)}}.dump(1) + "\n";
}

std::string html_of(std::span<const std::string> records) {
  constexpr std::string_view kMark = "<!-- records -->\n";
  constexpr std::size_t kPlace = std::string_view(kPage).find(kMark);
  static_assert(kPlace != std::string_view::npos);
  const std::string_view page = kPage;
  std::string html(page.substr(0, kPlace));
  for (const std::string& record : records)
    html += "<script type=\"application/json\" class=\"record\">" + for_html(record) + "</script>\n";
  return html.append(page.substr(kPlace + kMark.size()));
}

}  // namespace ptxloom::insn
