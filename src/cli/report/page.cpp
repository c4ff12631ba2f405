// SPDX-License-Identifier: Apache-2.0
#include "cli/report/page.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "generated/report.html.hpp"

namespace ptxloom::cli {
namespace {

/// Equivalent JSON that is safe inside HTML and scripts.
std::string escape_json(std::string_view json) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kEscapes = {
      {{"<", "\\u003c"}, {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}}};
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    std::size_t length = 1;
    std::string_view put = json.substr(0, 1);
    for (const auto& [text, escape] : kEscapes) {
      if (json.starts_with(text)) length = text.size(), put = escape;
    }
    escaped += put;
    json.remove_prefix(length);
  }
  return escaped;
}

}  // namespace

std::string report_page(std::span<const std::string> results) {
  constexpr std::string_view kMark = "<!-- results -->\n";
  constexpr std::size_t kPlace = report::kReportPage.find(kMark);
  static_assert(kPlace != std::string_view::npos);
  std::string page(report::kReportPage.substr(0, kPlace));
  for (const std::string& result : results)
    page += "<script type=\"application/json\" class=\"result\">\n" + escape_json(result) + "</script>\n";
  return page.append(report::kReportPage.substr(kPlace + kMark.size()));
}

}  // namespace ptxloom::cli
