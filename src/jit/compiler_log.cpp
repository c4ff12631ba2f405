// SPDX-License-Identifier: Apache-2.0
#include "jit/compiler_log.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace ptxloom::jit {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Consumes the text up to and including `end`; nullopt, and nothing consumed, if there is no `end`.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
  const auto at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}

template <typename Visit>
void for_each_line(std::string_view log, const Visit& visit) {
  while (!log.empty()) {
    std::string_view rest = log;
    const auto line = take_until(rest, "\n");
    visit(line ? *line : log);
    log = line ? rest : std::string_view();
  }
}

/// The number at the front of the text; 0 if there is none.
int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The number before `unit` in "Used 8 registers, used 1 barriers, 1024 bytes smem".
int number_before(std::string_view text, std::string_view unit) {
  const auto at = text.find(unit);
  if (at == std::string_view::npos) return 0;
  const std::string_view before = trim(text.substr(0, at));
  const auto start = before.find_last_not_of("0123456789");
  return leading_number(before.substr(start == std::string_view::npos ? 0 : start + 1));
}

/// Removes the number from "(C7510) Potential ..." and returns it: "C7510".
std::string take_number(std::string_view& message) {
  if (!message.starts_with('(')) return {};
  const auto end = message.find(')');
  const std::string_view number = message.substr(1, end == std::string_view::npos ? 0 : end - 1);
  if (number.size() < 2 || number.find_first_not_of("0123456789", 1) != std::string_view::npos) return {};
  message = trim(message.substr(end + 1));
  return std::string(number);
}

std::optional<Diagnostic> parse_link_line(std::string_view line) {
  Diagnostic diagnostic;
  std::string_view rest = line;
  auto head = take_until(rest, " : ");
  if (!head) {
    // Messages of nvJitLink itself: "ERROR 1: bad input: ...".
    if (!line.starts_with("ERROR ")) return std::nullopt;
    return Diagnostic{.code = "nvjitlink", .message = std::string(trim(line.substr(6))), .hint = {}};
  }
  const bool ptxas = head->starts_with("ptxas");
  if (ptxas) head->remove_prefix(5);
  std::string_view word = *head;
  if (const auto place = take_until(word, ";")) {
    const auto at = place->rfind("line ");
    if (at != std::string_view::npos) diagnostic.line = leading_number(place->substr(at + 5));
  }
  word = trim(word);
  rest = trim(rest);
  const std::string number = take_number(rest);
  if (word != "error" && word != "fatal" && word != "warning" && (word != "info" || number.empty())) {
    return std::nullopt;
  }
  diagnostic.severity = word == "error" || word == "fatal" ? Severity::error : Severity::warning;
  diagnostic.code = ptxas ? "ptxas" : "nvjitlink";
  if (!number.empty()) diagnostic.code += '-' + number;
  diagnostic.message = rest;
  // Advisories give the position only in their text.
  constexpr std::string_view kAround = "around line ";
  if (const auto at = rest.find(kAround); at != std::string_view::npos && diagnostic.line == 0) {
    diagnostic.line = leading_number(rest.substr(at + kAround.size()));
  }
  return diagnostic;
}

/// Whether it repeats, less precisely, what another error says.
bool is_summary(const Diagnostic& diagnostic) {
  return diagnostic.message == "Ptx assembly aborted due to errors" ||
         diagnostic.message.starts_with("NVJITLINK_ERROR_PTX_COMPILE");
}

bool is_error(const Diagnostic& diagnostic) { return diagnostic.severity == Severity::error; }

Resources& resources_of(std::vector<Resources>& all, std::string_view kernel) {
  const auto found = std::ranges::find(all, kernel, &Resources::kernel);
  if (found != all.end()) return *found;
  return all.emplace_back(Resources{.kernel = std::string(kernel)});
}

/// The text between the first two quotes, or all after the last space.
std::string_view name_in(std::string_view text) {
  std::string_view rest = text;
  if (take_until(rest, "'")) return take_until(rest, "'").value_or(rest);
  return trim(text.substr(text.rfind(' ') + 1));
}

}  // namespace

std::vector<Diagnostic> parse_link_log(std::string_view log) {
  std::vector<Diagnostic> diagnostics;
  for_each_line(log, [&](std::string_view line) {
    if (auto diagnostic = parse_link_line(line)) diagnostics.push_back(std::move(*diagnostic));
  });
  const auto says_more = [](const Diagnostic& d) { return is_error(d) && !is_summary(d); };
  if (std::ranges::any_of(diagnostics, says_more)) std::erase_if(diagnostics, is_summary);
  return diagnostics;
}

std::vector<Resources> parse_resources(std::string_view log) {
  // ptxas reports first: an entry's "Used" line closes what "Compiling entry function" opened, with the
  // properties of each function in between. nvJitLink then reports only entries ("info    : "), whose stack
  // includes callees and whose shared memory includes what the system reserves.
  std::vector<Resources> all;
  std::string_view entry, function;
  for_each_line(log, [&](std::string_view line) {
    if (line.find("Compiling entry function") != std::string_view::npos) {
      entry = name_in(line);
      resources_of(all, entry);
    } else if (line.find("Function properties for") != std::string_view::npos) {
      function = name_in(line.ends_with(':') ? line.substr(0, line.size() - 1) : line);
    } else if (line.find("bytes stack frame") != std::string_view::npos && function == entry) {
      Resources& kernel = resources_of(all, entry);
      kernel.stack = number_before(line, " bytes stack frame");
      kernel.spill_stores = number_before(line, " bytes spill stores");
      kernel.spill_loads = number_before(line, " bytes spill loads");
    } else if (line.starts_with("ptxas info") && line.find(": Used ") != std::string_view::npos) {
      Resources& kernel = resources_of(all, entry);
      kernel.registers = number_before(line, " registers");
      kernel.barriers = number_before(line, " barriers");
      kernel.shared = number_before(line, " bytes smem");
      kernel.constant = number_before(line, " bytes cmem[0]");
    } else if (line.starts_with("info") && line.find(": used ") != std::string_view::npos) {
      Resources& kernel = resources_of(all, function);
      kernel.registers = number_before(line, " registers");
      kernel.stack = number_before(line, " stack");
      kernel.constant = number_before(line, " bytes cmem[0]");
    }
  });
  return all;
}

namespace {

/// "error", "warning #177-D", "catastrophic error", "remark #123": the severity and, after '#', a number.
std::optional<Diagnostic> nvrtc_heading(std::string_view word) {
  std::string_view number;
  if (const auto at = word.find('#'); at != std::string_view::npos) {
    number = word.substr(at + 1);
    word = trim(word.substr(0, at));
    number = number.substr(0, number.find_first_not_of("0123456789"));
  }
  const bool error = word == "error" || word == "catastrophic error" || word == "fatal error";
  if (!error && word != "warning" && word != "remark") return std::nullopt;
  Diagnostic diagnostic;
  diagnostic.severity = error ? Severity::error : Severity::warning;
  diagnostic.code = "nvrtc";
  if (!number.empty()) diagnostic.code.append("-").append(number);
  return diagnostic;
}

/// "kernel.cu(3): error: ...", or "nvrtc: error: ..." without a position.
std::optional<Diagnostic> parse_nvrtc_line(std::string_view line, std::string_view name) {
  std::string_view rest = line;
  const auto place = take_until(rest, ": ");
  const auto word = take_until(rest, ": ");
  if (!place || !word) return std::nullopt;
  auto diagnostic = nvrtc_heading(*word);
  if (!diagnostic) return std::nullopt;
  diagnostic->message = rest;
  if (place->starts_with(name) && place->substr(name.size()).starts_with('(')) {
    diagnostic->line = leading_number(place->substr(name.size() + 1));
  } else {
    diagnostic->message = std::string(*place) + ": " + diagnostic->message;
  }
  return diagnostic;
}

}  // namespace

std::vector<Diagnostic> parse_nvrtc_log(std::string_view log, std::string_view name) {
  std::vector<Diagnostic> diagnostics;
  for_each_line(log, [&](std::string_view line) {
    auto diagnostic = parse_nvrtc_line(line, name);
    // Inline assembly is checked by ptxas.
    if (!diagnostic && line.starts_with("ptxas")) diagnostic = parse_link_line(line);
    if (diagnostic) diagnostics.push_back(std::move(*diagnostic));
  });
  return diagnostics;
}

}  // namespace ptxloom::jit
