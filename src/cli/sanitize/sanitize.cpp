// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "cli/common/did_you_mean.hpp"
#include "cli/common/number.hpp"
#include "cli/run/run.hpp"
#include "cli/run/run_output.hpp"
#include "cli/sanitize/sanitize_codes.hpp"
#include "cli/sanitize/sanitize_report.hpp"

// `sanitize` runs a kernel in the executor, as `run` does, and reports all that its judge finds.
namespace ptxloom::cli {
namespace {

struct SanitizeFlags {
  RunFlags run;
  std::vector<std::string> allow;
  std::vector<std::string> suppressions;
  std::string fail_on = "any";
  std::string format = "text";
  std::string docs_url;
  std::uint64_t schedules = 1;
  std::optional<exec::Schedule> schedule;  ///< this one alone
};

/// A finding that is allowed: of this code, at this line of the PTX on either side.
struct Allowed {
  std::string code;
  std::optional<int> line;

  bool covers(const exec::Finding& finding) const {
    if (finding.code != code) return false;
    return !line || finding.at.line == *line || (finding.other && finding.other->line == *line);
  }
};

/// `where`: the option, or the file and line.
void check_code(const std::string& where, const std::string& code) {
  std::vector<std::string> codes;
  for (const SanitizeCode& each : sanitize_codes()) codes.push_back(each.code);
  if (std::ranges::find(codes, code) != codes.end()) return;
  throw Error(ErrorKind::usage, "unknown-code", fmt::format("{}: there is no code '{}'", where, code),
              did_you_mean(code, codes) + "docs/findings.md lists the codes");
}

Allowed parse_allowed(const std::string& where, const std::string& text) {
  const std::size_t colon = text.find(':');
  Allowed allowed{.code = text.substr(0, colon), .line = {}};
  check_code(where, allowed.code);
  if (colon != std::string::npos)
    allowed.line = parse_number<int>(fmt::format("{}: the line of {}", where, allowed.code),
                                     std::string_view(text).substr(colon + 1), 1, 1'000'000'000);
  return allowed;
}

std::string trimmed(std::string_view text) {
  text = text.substr(0, text.find('#'));
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin));
}

/// A line of a suppression file is CODE or CODE:LINE; what follows a `#` is a comment.
void read_suppressions(const std::string& file, std::vector<Allowed>& allowed) {
  const std::string text = read_file(file);
  int number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = trimmed(std::string_view(text).substr(begin, end - begin));
    if (!line.empty()) allowed.push_back(parse_allowed(fmt::format("{}:{}", file, number + 1), line));
    begin = end + 1;
  }
}

/// Which findings make the exit code 1.
class FailOn {
 public:
  explicit FailOn(const std::string& text) : any_(text == "any") {
    if (any_ || text == "none") return;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      codes_.push_back(text.substr(begin, end - begin));
      check_code("--fail-on", codes_.back());
      begin = end + 1;
    }
  }
  bool fails(const exec::Finding& finding) const {
    return any_ || std::ranges::find(codes_, finding.code) != codes_.end();
  }

 private:
  bool any_;
  std::vector<std::string> codes_;
};

std::string format_report(const SanitizeReport& report, const std::string& format) {
  if (format == "json") return sanitize_json(report);
  if (format == "html") return sanitize_html(report);
  return format == "sarif" ? sanitize_sarif(report) : sanitize_text(report);
}

/// The seed of the random schedule number `index`; never 0, which is the fixed order.
std::uint64_t random_schedule(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t mixed = seed * 0x9e37'79b9'7f4a'7c15 + index;
  return mixed == 0 ? ~std::uint64_t{0} : mixed;
}

/// The schedules of a command: the fixed order, then in turn one that reverses what earlier ones have seen,
/// and a random one.
class Schedules {
 public:
  explicit Schedules(const SanitizeFlags& flags) : flags_(&flags) {}
  /// That of run number `index`.
  exec::Schedule of(std::uint64_t index) {
    if (flags_->schedule) return *flags_->schedule;
    if (index == 0) return {};
    if (index % 2 != 0)
      if (const auto reversed = reversals_.next()) return *reversed;
    return random_schedule(flags_->run.seed, index);
  }
  /// Null if there is only one.
  exec::Reversals* reversals() { return flags_->schedules == 1 ? nullptr : &reversals_; }

 private:
  const SanitizeFlags* flags_;
  exec::Reversals reversals_;
};

int run_sanitize(const Tool& tool, const SanitizeFlags& flags) {
  std::vector<Allowed> allowed;
  for (const std::string& text : flags.allow) allowed.push_back(parse_allowed("--allow", text));
  for (const std::string& file : flags.suppressions) read_suppressions(file, allowed);
  const FailOn fail_on(flags.fail_on);
  exec::Findings collected;
  RunFlags run = flags.run;
  run.device = "cpu";
  run.findings = &collected;
  if (flags.format != "text") run.print = &print_to_stderr;
  Schedules schedules(flags);
  run.reversals = schedules.reversals();
  for (std::uint64_t i = 0; i < flags.schedules; ++i) {
    run.schedule = schedules.of(i);
    run.repeats = i != 0;
    if (run.repeats) run.print = [](const exec::Printed&) {};  // once is enough
    run_what(tool, run);
  }
  const auto is_allowed = [&](const exec::Finding& finding) {
    return std::ranges::any_of(allowed, [&](const Allowed& each) { return each.covers(finding); });
  };
  std::vector<exec::Finding> findings = collected.all();
  const std::size_t removed = std::erase_if(findings, is_allowed);
  const bool fails =
      std::ranges::any_of(findings, [&](const auto& finding) { return fail_on.fails(finding); });
  const std::string report = format_report({.what = flags.run.what,
                                            .findings = findings,
                                            .allowed = removed,
                                            .seed = run.seed,
                                            .ok = !fails,
                                            .docs_url = flags.docs_url},
                                           flags.format);
  std::fwrite(report.data(), 1, report.size(), stdout);
  return fails ? 1 : 0;
}

/// What to run, as far as the words say so before they are parsed; "" if they do not.
std::string what_among(std::span<char* const> arguments) {
  constexpr std::array<std::string_view, 2> kFlags = {"--cooperative", "--arithmetic"};
  std::string_view before;
  for (const std::string_view word : arguments) {
    const bool is_value = before.starts_with("-") && before.find('=') == std::string_view::npos &&
                          std::ranges::find(kFlags, before) == kFlags.end();
    if (!is_value && !word.starts_with("-") && word.find('=') == std::string_view::npos)
      return std::string(word);
    before = word;
  }
  return {};
}

/// The value of --format; "" if there is none.
std::string_view format_among(std::span<char* const> arguments) {
  constexpr std::string_view kOption = "--format", kWithValue = "--format=";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with(kWithValue)) return word.substr(kWithValue.size());
    if (word == kOption && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return {};
}

}  // namespace

FailureDocument sanitize_failure_document(std::span<char* const> arguments) {
  const std::string format(format_among(arguments));
  if (format != "sarif" && format != "html") return nullptr;
  return [format, what = what_among(arguments)](const std::vector<Diagnostic>& diagnostics) {
    return format_report({.what = what, .ok = false, .failure = diagnostics}, format);
  };
}

void add_sanitize(Tool& tool) {
  tool.command<SanitizeFlags>(
      "sanitize", "run a kernel in the executor and report races, missing fences and waits, and other misuse",
      [](CLI::App& app, SanitizeFlags& flags) {
        add_launch_options(app, flags.run);
        app.add_option("--allow", flags.allow,
                       "do not report this code, or this code at this line of the PTX (repeatable)")
            ->allow_extra_args(false)
            ->type_name("CODE[:LINE]");
        app.add_option("--suppressions", flags.suppressions,
                       "a file with a CODE[:LINE] in each line; # begins a comment (repeatable)")
            ->allow_extra_args(false)
            ->type_name("FILE");
        app.add_option("--fail-on", flags.fail_on,
                       "which findings make the exit code 1: any (default), none, or these codes")
            ->type_name("any|none|CODE,...");
        add_number(
            app, "--schedules", flags.schedules, 1, 1'000'000,
            "run the kernel this often, each time with another order of warps and thread blocks: random "
            "ones, and ones that reverse what only the order of an earlier run made the first; --seed "
            "repeats them");
        app.add_flag("--arithmetic", flags.run.arithmetic,
                     "also report where NaN, infinities, overflow in conversions and underflow begin");
        app.add_option_function<std::string>(
               "--schedule",
               [&flags](const std::string& text) { flags.schedule = exec::parse_schedule(text); },
               "run it once, in this order, which a finding names; needs the same --seed")
            ->type_name("X")
            ->excludes("--schedules");
        app.add_option(
               "--format", flags.format,
               "text (default), json (docs/json/sanitize.json), sarif, or html: a page with the source lines")
            ->check(CLI::IsMember({"text", "json", "sarif", "html"}).description(""))
            ->type_name("text|json|sarif|html");
        app.add_option(
               "--docs-url", flags.docs_url,
               "where docs/findings.md is published: the rules of sarif and the codes of html link there")
            ->type_name("URL");
      },
      run_sanitize);
}

}  // namespace ptxloom::cli
