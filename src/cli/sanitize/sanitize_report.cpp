// SPDX-License-Identifier: Apache-2.0
#include "cli/sanitize/sanitize_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/common/tool_words.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;
using exec::Finding;
using exec::Site;

std::string finding_text(const std::string& what, std::uint64_t seed, const Finding& finding) {
  std::string text = fmt::format("{}: {}: {}\n", place_of(what, finding.at), finding.code, finding.what);
  text += fmt::format("  at   {}\n", describe_side(what, finding.at));
  if (finding.other) text += fmt::format("  with {}\n", describe_side(what, *finding.other));
  for (const Site& site : finding.between) text += fmt::format("  then {}\n", describe_side(what, site));
  if (!finding.address.empty()) text += fmt::format("  address {}\n", finding.address);
  text += fmt::format("  {}\n", in_tool_words(finding.hint));
  if (finding.count > 1) text += fmt::format("  {} times\n", finding.count);
  if (!finding.schedule.is_fixed())
    text += fmt::format("  in one order of warps: --seed {} --schedule {} repeats it\n", seed,
                        exec::to_string(finding.schedule));
  if (finding.fatal) text += "  the thread block could not go on\n";
  return text;
}

Json site_json(const Site& site) {
  Json json = {{"text", site.text}};
  if (site.line != 0) json.update({{"line", site.line}, {"column", site.column}});
  if (!site.file.empty()) json.update({{"file", site.file}, {"file_line", site.file_line}});
  if (!site.call_file.empty()) json.update({{"call_file", site.call_file}, {"call_line", site.call_line}});
  json.update({{"block", site.block}, {"warp", site.warp}});
  if (site.lane >= 0) json["lane"] = site.lane;
  return json;
}

Json finding_json(const Finding& finding) {
  Json json = {{"code", finding.code},
               {"message", finding.what},
               {"hint", in_tool_words(finding.hint)},
               {"kernel", finding.kernel},
               {"count", finding.count},
               {"fatal", finding.fatal},
               {"schedule", finding.schedule.seed},
               {"at", site_json(finding.at)}};
  if (!finding.schedule.delays.empty()) {
    const std::string text = exec::to_string(finding.schedule);
    json["delays"] = text.substr(text.find('/') + 1);
  }
  if (finding.other) json["other"] = site_json(*finding.other);
  for (const Site& site : finding.between) json["between"].push_back(site_json(site));
  if (!finding.address.empty()) json["address"] = finding.address;
  return json;
}

}  // namespace

std::string place_of(const std::string& what, const Site& site) {
  return site.line == 0 ? what : fmt::format("{}:{}:{}", what, site.line, site.column);
}

std::string thread_of(const Site& site) {
  std::string text =
      fmt::format("block ({},{},{}), warp {}", site.block[0], site.block[1], site.block[2], site.warp);
  if (site.lane >= 0) text += fmt::format(", lane {}", site.lane);
  return text;
}

std::string describe_side(const std::string& what, const Site& site) {
  std::string text = fmt::format("{}: `{}`, {}", place_of(what, site), site.text, thread_of(site));
  if (!site.file.empty()) text += fmt::format(", {}:{}", site.file, site.file_line);
  if (!site.call_file.empty()) text += fmt::format(", called at {}:{}", site.call_file, site.call_line);
  return text;
}

std::string count_of(const SanitizeReport& report) {
  const std::size_t count = report.findings.size();
  std::string text = count == 0 ? "no findings" : fmt::format("{} finding{}", count, count == 1 ? "" : "s");
  if (report.allowed != 0) text += fmt::format(", {} allowed", report.allowed);
  return text + fmt::format(" (seed {})", report.seed);
}

std::string sanitize_text(const SanitizeReport& report) {
  std::string text;
  for (const Finding& finding : report.findings)
    text += finding_text(report.what, report.seed, finding) + "\n";
  return text + count_of(report) + "\n";
}

std::string sanitize_json(const SanitizeReport& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) findings.push_back(finding_json(finding));
  const Json json = {{"schema", 1},         {"ok", report.ok},           {"what", report.what},
                     {"seed", report.seed}, {"allowed", report.allowed}, {"findings", findings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ptxloom::cli
