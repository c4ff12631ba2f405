// SPDX-License-Identifier: Apache-2.0
#include "cli/report/page.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "generated/kernel.html.hpp"
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

/// Data in the place of a mark.
std::string filled(std::string_view page, std::size_t place, std::string_view mark,
                   std::span<const std::string> data) {
  std::string text(page.substr(0, place));
  for (const std::string& one : data)
    text += "<script type=\"application/json\" class=\"result\">\n" + escape_json(one) + "</script>\n";
  return text.append(page.substr(place + mark.size()));
}

constexpr std::string_view kMark = "<!-- results -->\n";

}  // namespace

std::string report_page(std::span<const std::string> results) {
  constexpr std::size_t kPlace = report::kReportPage.find(kMark);
  static_assert(kPlace != std::string_view::npos);
  return filled(report::kReportPage, kPlace, kMark, results);
}

std::string kernel_page(const std::string& report) {
  constexpr std::size_t kPlace = report::kKernelPage.find(kMark);
  static_assert(kPlace != std::string_view::npos);
  return filled(report::kKernelPage, kPlace, kMark, std::span(&report, 1));
}

}  // namespace ptxloom::cli
