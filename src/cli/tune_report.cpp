// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/settings.hpp"
#include "cli/tune_output.hpp"

namespace ptxloom::cli {
namespace {

constexpr std::string_view kStyle = R"(
 body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }
 table { border-collapse: collapse; width: 100% }
 td, th { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #8884; vertical-align: top }
 td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
 td.words, code { font: 13px ui-monospace, monospace }
 td.bar { width: 22em }
 td.bar div { background: #76b900; height: .9em }
 @media (prefers-color-scheme: dark) { body { background: #161616; color: #ddd } }
)";

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string row(std::string_view name, std::string_view value) {
  return fmt::format("<tr><th>{}</th><td class=words>{}</td></tr>\n", escape(name), escape(value));
}

std::string winner(const TuneOutcome& outcome) {
  if (!outcome.result.record) return "<p>No candidate was correct.</p>\n";
  const Record& record = *outcome.result.record;
  return fmt::format("<p><b>{:.3f} us</b> a launch, {:.2f} T operations/s, spread {:.1f} %.</p>\n<table>\n",
                     record.time_us, rate(outcome, record.time_us), 100 * record.spread) +
         row("configuration", to_words(record.config)) +
         (record.resources ? row("registers a thread", fmt::format("{}", record.resources->registers)) +
                                 row("spilled bytes", fmt::format("{}", record.resources->spill_stores +
                                                                            record.resources->spill_loads))
                           : "") +
         row("linker", fmt::format("nvJitLink {} {}", record.linker, record.flags)) +
         row("library", "ptxloom " + record.library) + "</table>\n";
}

/// The candidates that ran, fastest first; the length of a bar is the time.
std::string times(const TuneResult& result) {
  double slowest = 0;
  for (const tune::Measurement& one : result.search.candidates) slowest = std::max(slowest, one.time_us);
  if (slowest <= 0) return {};
  std::string html =
      "<h3>Candidates</h3>\n<table>\n<tr><th>us</th><th>spread</th><th></th><th>registers</th>"
      "<th>configuration</th></tr>\n";
  std::vector<tune::Measurement> sorted = result.search.candidates;
  std::ranges::stable_sort(sorted, {}, &tune::Measurement::time_us);
  for (const tune::Measurement& one : sorted) {
    if (one.problem) continue;
    html += fmt::format(
        "<tr><td class=number>{:.3f}</td><td class=number>{:.1f} %</td><td class=bar><div "
        "style=\"width:{:.1f}%\"></div></td><td class=number>{}</td><td class=words>{}</td></tr>\n",
        one.time_us, 100 * one.spread, 100 * one.time_us / slowest,
        one.resources ? one.resources->registers : 0, escape(to_words(one.config)));
  }
  return html + "</table>\n";
}

std::string failures(const TuneResult& result) {
  std::map<std::string, std::vector<const tune::Measurement*>> by_code;
  for (const tune::Measurement& one : result.search.candidates) {
    if (one.problem) by_code[one.problem->code].push_back(&one);
  }
  std::string html;
  for (const auto& [code, candidates] : by_code) {
    html += fmt::format("<h3>{}: {}</h3>\n<table>\n", escape(code), candidates.size());
    for (const tune::Measurement* one : candidates) {
      html += fmt::format("<tr><td class=words>{}</td><td>{}</td></tr>\n", escape(to_words(one->config)),
                          escape(one->problem->message));
    }
    html += "</table>\n";
  }
  return html;
}

}  // namespace

std::string to_html(const std::vector<TuneOutcome>& outcomes) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8><title>ptxloom tune</title>\n<style>{}</style>\n",
      kStyle);
  for (const TuneOutcome& outcome : outcomes) {
    html += fmt::format(
        "<h1>{} on {}</h1>\n<p><code>{}</code></p>\n<p>{}, {} multiprocessors, memory at {} "
        "MHz. {} candidates tried, data from seed {}{}.</p>\n",
        escape(outcome.kernel_template->name()), escape(outcome.device.name),
        escape(to_words(outcome.result.problem)), escape(outcome.device.sm), outcome.device.sms,
        outcome.device.memory_mhz, outcome.result.search.evaluations, outcome.options.seed,
        outcome.result.search.interrupted ? "; ended early by Ctrl-C" : "");
    html += "<h2>Winner</h2>\n" + winner(outcome) + times(outcome.result) + failures(outcome.result);
  }
  return html + "</html>\n";
}

}  // namespace ptxloom::cli
