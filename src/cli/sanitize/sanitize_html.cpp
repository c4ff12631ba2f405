// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "base/html.hpp"
#include "cli/common/tool_words.hpp"
#include "cli/sanitize/sanitize_codes.hpp"
#include "cli/sanitize/sanitize_report.hpp"
#include "ptxloom/error.hpp"

// One page: a card for each finding, with the lines around both sides, and what the codes mean.
namespace ptxloom::cli {
namespace {

using exec::Finding;
using exec::Site;

constexpr std::string_view kStyle = R"(
 :root { color-scheme: light dark; --line: #8884; --mark: #f6c34355; --error: #c62828; --warning: #b26a00 }
 body { font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em }
 article { border: 1px solid var(--line); border-left: 4px solid var(--error); border-radius: 4px;
           padding: 0 1em; margin: 1.2em 0 }
 article.warning { border-left-color: var(--warning) }
 article h2, section h3 { font-size: 1.05em }
 .sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(24em, 1fr)); gap: 1em }
 .sides h3 { font-size: 1em; margin: .4em 0 }
 pre { border: 1px solid var(--line); border-radius: 3px; padding: .4em; overflow-x: auto; font-size: 13px }
 pre b { background: var(--mark); font-weight: inherit; display: inline-block; min-width: 100% }
 pre i { opacity: .6; font-style: normal; user-select: none }
 .facts { opacity: .8 }
)";

/// The lines of files, each read once. A file that cannot be read has none.
class SourceLines {
 public:
  const std::vector<std::string>& of(const std::string& file) {
    const auto [entry, added] = files_.try_emplace(file);
    if (!added) return entry->second;
    try {
      std::istringstream text(read_file(file));
      for (std::string line; std::getline(text, line);) entry->second.push_back(line);
    } catch (const Error&) {
      entry->second.clear();
    }
    return entry->second;
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

/// The line and two on each side; empty if the file is not there.
std::string excerpt(SourceLines& files, const std::string& file, int line, const char* label = "") {
  const auto& lines = files.of(file);
  const int count = static_cast<int>(lines.size());
  if (line < 1 || line > count) return {};
  std::string html = fmt::format("<p>{}{}:{}</p><pre>", label, escape_html(file), line);
  for (int i = std::max(line - 2, 1); i <= std::min(line + 2, count); ++i) {
    const std::string text =
        fmt::format("<i>{:5} </i>{}", i, escape_html(lines[static_cast<std::size_t>(i - 1)]));
    html += i == line ? fmt::format("<b>{}</b>\n", text) : text + "\n";
  }
  return html + "</pre>";
}

std::string source_html(SourceLines& files, const std::string& file, int line, const char* label = "") {
  const std::string source = excerpt(files, file, line, label);
  return source.empty() ? fmt::format("<p>{}{}:{}</p>", label, escape_html(file), line) : source;
}

std::string side_html(const std::string& title, const std::string& what, const Site& site,
                      SourceLines& files) {
  std::string html = fmt::format("<div><h3>{}: <code>{}</code></h3><p>{}</p>", title, escape_html(site.text),
                                 thread_of(site));
  if (!site.file.empty()) html += source_html(files, site.file, site.file_line);
  if (!site.call_file.empty()) html += source_html(files, site.call_file, site.call_line, "called at ");
  return html + excerpt(files, what, site.line) + "</div>\n";
}

std::string finding_html(const std::string& what, const Finding& finding, bool warning, SourceLines& files) {
  std::string html =
      fmt::format("<article class=\"{0}\"><h2><a href=\"#{1}\">{1}</a>: {2}</h2>\n<p>{3}</p>\n",
                  warning ? "warning" : "error", finding.code, escape_html(place_of(what, finding.at)),
                  escape_html(finding.what));
  html += fmt::format("<p><strong>What to do:</strong> {}</p>\n<div class=\"sides\">\n",
                      escape_html(in_tool_words(finding.hint)));
  html += side_html("at", what, finding.at, files);
  if (finding.other) html += side_html("with", what, *finding.other, files);
  html += "</div>\n";
  for (const Site& site : finding.between)
    html += fmt::format("<p>then {}</p>\n", escape_html(describe_side(what, site)));
  html += fmt::format("<p class=\"facts\">kernel {}", escape_html(finding.kernel));
  if (!finding.address.empty()) html += fmt::format(" &middot; address {}", escape_html(finding.address));
  html += fmt::format(" &middot; {} time{}", finding.count, finding.count == 1 ? "" : "s");
  if (!finding.schedule.is_fixed())
    html += fmt::format(" &middot; schedule {}", exec::to_string(finding.schedule));
  if (finding.fatal) html += " &middot; the thread block could not go on";
  return html + "</p></article>\n";
}

/// An entry of docs/findings.md: paragraphs, and blocks of code between lines of three backquotes.
std::string code_html(const SanitizeCode& code, const std::string& docs_url) {
  std::string html = fmt::format("<section id=\"{0}\"><h3><code>{0}</code></h3>\n", code.code);
  bool inside = false, open = false;
  std::istringstream text(code.text);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) {
      html += inside ? "</pre>\n" : open ? "</p><pre>" : "<pre>";
      inside = !inside;
      open = false;
    } else if (inside) {
      html += escape_html(line) + "\n";
    } else if (line.empty()) {
      html += std::exchange(open, false) ? "</p>\n" : "";
    } else {
      html += (std::exchange(open, true) ? " " : "<p>") + escape_html(line);
    }
  }
  if (open) html += "</p>\n";
  if (!docs_url.empty())
    html += fmt::format("<p><a href=\"{}#{}\">documentation</a></p>\n", escape_html(docs_url), code.code);
  return html + "</section>\n";
}

/// In place of the count of findings.
std::string failure_html(std::span<const Diagnostic> failure) {
  std::string html = "The kernel was not run.</p>\n";
  for (const Diagnostic& diagnostic : failure)
    html += fmt::format("<article><h2><code>{}</code>{}</h2><p>{}</p><p>{}</p></article>\n", diagnostic.code,
                        diagnostic.line > 0 ? fmt::format(" at line {}", diagnostic.line) : "",
                        escape_html(diagnostic.message), escape_html(in_tool_words(diagnostic.hint)));
  return html + "<p>";
}

}  // namespace

std::string sanitize_html(const SanitizeReport& report) {
  const std::string title = escape_html("ptxloom sanitize " + report.what);
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{0}</title>\n<style>{1}</style></head>\n<body>\n"
      "<h1>{0}</h1>\n<p>{2}</p>\n",
      title, kStyle, report.failure.empty() ? count_of(report) : failure_html(report.failure));
  SourceLines files;
  std::string meanings;
  for (const SanitizeCode& code : sanitize_codes()) {
    bool found = false;
    for (const Finding& finding : report.findings) {
      if (finding.code != code.code) continue;
      html += finding_html(report.what, finding, code.warning, files);
      found = true;
    }
    if (found) meanings += code_html(code, report.docs_url);
  }
  if (!meanings.empty()) html += "<h2>What the codes mean</h2>\n" + meanings;
  return html + "</body></html>\n";
}

}  // namespace ptxloom::cli
