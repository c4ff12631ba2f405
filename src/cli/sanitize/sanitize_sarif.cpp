// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/common/tool_words.hpp"
#include "cli/sanitize/sanitize_codes.hpp"
#include "cli/sanitize/sanitize_report.hpp"
#include "ptxloom/record.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;
using exec::Finding;
using exec::Site;

const char* level_of(bool warning) { return warning ? "warning" : "error"; }

struct SourceLine {
  std::string file;
  int line = 0;
};

// The line of the source if there is one, else that of the PTX. Of a function that was inlined, the line that
// calls it: the function is often in a header of somebody else's.
SourceLine annotated(const std::string& what, const Site& site) {
  if (!site.call_file.empty()) return {site.call_file, site.call_line};
  return site.file.empty() ? SourceLine{what, site.line} : SourceLine{site.file, site.file_line};
}

// A file name as a URI reference (RFC 3986, 3.3): what may not stand in a path is percent-encoded. So is a
// colon, which would end a scheme.
std::string uri_of(const std::string& file) {
  constexpr std::string_view kPath = "-._~/!$&'()*+,;=@";
  std::string uri;
  for (const char c : file) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter || (c >= '0' && c <= '9') || kPath.find(c) != std::string_view::npos)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json location_json(const std::string& what, const Site& site) {
  const auto [file, line] = annotated(what, site);
  Json physical = {{"artifactLocation", {{"uri", uri_of(file)}}}};
  if (line > 0) physical["region"] = {{"startLine", line}};
  return {{"physicalLocation", physical}, {"message", {{"text", describe_side(what, site)}}}};
}

Json rule_json(const SanitizeCode& code, const std::string& docs_url) {
  const std::string help = fmt::format("{} {}.", code.rule, code.section);
  Json json = {{"id", code.code},
               {"shortDescription", {{"text", code.rule}}},
               {"help", {{"text", help}, {"markdown", code.text}}},
               {"defaultConfiguration", {{"level", level_of(code.warning)}}}};
  if (!docs_url.empty()) json["helpUri"] = fmt::format("{}#{}", docs_url, code.code);
  return json;
}

Json result_json(const SanitizeReport& report, const Finding& finding, bool warning) {
  Json json = {{"ruleId", finding.code},
               {"level", level_of(warning)},
               {"message", {{"text", fmt::format("{}. {}", finding.what, in_tool_words(finding.hint))}}},
               {"locations", Json::array({location_json(report.what, finding.at)})},
               {"occurrenceCount", finding.count}};
  if (finding.other) json["relatedLocations"].push_back(location_json(report.what, *finding.other));
  for (const Site& site : finding.between)
    json["relatedLocations"].push_back(location_json(report.what, site));
  if (!finding.schedule.is_fixed())
    json["properties"] = {{"schedule", exec::to_string(finding.schedule)}, {"seed", report.seed}};
  return json;
}

Json notification_json(const std::string& what, const Diagnostic& diagnostic) {
  const std::string hint = in_tool_words(diagnostic.hint);
  const std::string text = diagnostic.message + (hint.empty() ? "" : ". " + hint);
  Json json = {{"level", "error"}, {"descriptor", {{"id", diagnostic.code}}}, {"message", {{"text", text}}}};
  if (diagnostic.line > 0)
    json["locations"] = Json::array(
        {{{"physicalLocation",
           {{"artifactLocation", {{"uri", uri_of(what)}}}, {"region", {{"startLine", diagnostic.line}}}}}}});
  return json;
}

Json invocation_json(const SanitizeReport& report) {
  Json json = {{"executionSuccessful", report.failure.empty()}};
  for (const Diagnostic& diagnostic : report.failure)
    json["toolExecutionNotifications"].push_back(notification_json(report.what, diagnostic));
  return json;
}

}  // namespace

std::string sanitize_sarif(const SanitizeReport& report) {
  Json rules = Json::array(), results = Json::array();
  const std::vector<SanitizeCode> codes = sanitize_codes();
  for (const SanitizeCode& code : codes) {
    if (std::ranges::find(report.findings, code.code, &Finding::code) != report.findings.end())
      rules.push_back(rule_json(code, report.docs_url));
  }
  for (const Finding& finding : report.findings) {
    const auto code = std::ranges::find(codes, finding.code, &SanitizeCode::code);
    results.push_back(result_json(report, finding, code != codes.end() && code->warning));
  }
  const Json driver = {{"name", "ptxloom"}, {"version", library_version()}, {"rules", rules}};
  const Json json = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                     {"version", "2.1.0"},
                     {"runs", Json::array({{{"tool", {{"driver", driver}}},
                                            {"invocations", Json::array({invocation_json(report)})},
                                            {"results", results}}})}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ptxloom::cli
