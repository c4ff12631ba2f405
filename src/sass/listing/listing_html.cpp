// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/html.hpp"
#include "sass/listing/listing.hpp"

namespace ptxloom::sass {
namespace {

constexpr std::string_view kStyle = R"(
 body { font: 13px/1.5 monospace; margin: 1em; color: #1b1f24; background: #fff }
 h1, h2 { font: bold 15px sans-serif } p { font: 14px sans-serif }
 h1, h2, p { overflow-wrap: anywhere }
 table { border-collapse: collapse } td { padding: 0 .6em; white-space: pre; vertical-align: top }
 td.number, td.offset { color: #6a737d; text-align: right } td.text { white-space: pre-wrap }
 td.ptx { border-right: 1px solid #d0d7de; min-width: 24ch; max-width: 56ch; overflow: hidden; text-overflow: ellipsis }
 td.control { color: #8250df } tr.at td { background: #fff8c5 } tr.label td { color: #0550ae }
 @media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117 } tr.at td { background: #3b2e00 }
  td.number, td.offset { color: #8b949e } td.ptx { border-color: #30363d }
  td.control { color: #d2a8ff } tr.label td { color: #79c0ff } }
 @media (max-width: 60rem) {
  table, tbody { display: block } tr { display: flex; flex-wrap: wrap } td { padding: 0 .4em } td:empty { display: none }
  td.number, td.offset { flex: 0 0 4ch } td.ptx { flex: 1 0 calc(100% - 7ch); max-width: calc(100% - 7ch); border: 0 }
  td.text { flex: 1 0 24ch; margin-left: 5ch; overflow-wrap: anywhere }
 }
)";

constexpr std::string_view kScript = R"(
 for (const table of document.querySelectorAll('table')) {
  const mark = on => event => {
   const line = event.target.closest('tr')?.dataset.line
   if (line) for (const row of table.querySelectorAll(`tr[data-line="${line}"]`)) row.classList.toggle('at', on)
  }
  table.addEventListener('mouseover', mark(true))
  table.addEventListener('mouseout', mark(false))
 }
)";

void add_label(std::string& to, std::string_view name) {
  to += fmt::format(
      "<tr class=\"label\"><td></td><td class=\"ptx\"></td><td></td><td colspan=\"2\">{}:</td></tr>\n",
      escape_html(name));
}

void add_function(std::string& to, const Listing& listing, const ListedFunction& function) {
  to += fmt::format("<h2>{}</h2>\n<p>{}</p>\n<table>\n", escape_html(function.facts.name),
                    escape_html(summary(function.facts)));
  int before = 0;
  for (const ListedInstruction& one : function.instructions) {
    for (const CodeLabel& label : function.facts.labels)
      if (label.offset == one.offset && label.name != function.facts.name) add_label(to, label.name);
    if (!one.label.empty()) add_label(to, one.label);
    const bool starts = one.ptx_line > 0 && one.ptx_line != before;
    before = one.ptx_line;
    to += one.ptx_line > 0 ? fmt::format("<tr data-line=\"{}\">", one.ptx_line) : "<tr>";
    to += fmt::format("<td class=\"number\">{0}</td><td class=\"ptx\" title=\"{1}\">{1}</td>",
                      starts ? std::to_string(one.ptx_line) : "",
                      starts ? escape_html(listing.ptx_line(one.ptx_line)) : "");
    to += fmt::format(
        "<td class=\"offset\">{:04x}</td><td class=\"control\">{}</td><td class=\"text\">{}</td></tr>\n",
        one.offset, to_string(one.control), escape_html(one.text));
  }
  to += "</table>\n";
}

}  // namespace

std::string listing_html(const Listing& listing) {
  const std::string title = fmt::format("{} for {}", listing.file, listing.target);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n<h1>{0}</h1>\n<p>PTX on the left, machine code on the right; text by {2}. The "
      "control code: reuse of operands, scoreboards waited for (B), set for reading (R) and writing (W), "
      "yield "
      "(Y), stall count (S).</p>\n",
      escape_html(title), kStyle,
      listing.nvdisasm.empty() ? "ptxloom: opcodes and registers" : "nvdisasm " + listing.nvdisasm);
  for (const ListedFunction& function : listing.functions) add_function(html, listing, function);
  return html + fmt::format("<script>{}</script>\n</html>\n", kScript);
}

}  // namespace ptxloom::sass
