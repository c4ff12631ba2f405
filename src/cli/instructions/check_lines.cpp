// SPDX-License-Identifier: Apache-2.0
#include "cli/instructions/check_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json_depth.hpp"
#include "ptxloom/check.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

/// An error in an input line itself, independent of its statements.
Diagnostic bad_line(std::string code, std::string message) {
  return {.code = std::move(code),
          .message = std::move(message),
          .hint = R"(a line is {"id": ..., "ptx": "...", "decls": "...", "target": "sm_90a", "version": ")" +
                  to_string(default_ptx_version()) + "\"}"};
}

/// A text field of a line; `otherwise` if the line lacks it. Throws Error if it is not text, or is required
/// and missing.
std::string_view text_field(const Json& line, const char* name, std::optional<std::string_view> otherwise) {
  const auto field = line.find(name);
  if (field == line.end() && otherwise) return *otherwise;
  if (field == line.end())
    throw Error(ErrorKind::usage,
                {bad_line("missing-field", std::string("the line has no \"") + name + '"')});
  if (!field->is_string())
    throw Error(ErrorKind::usage, {bad_line("bad-field", std::string("\"") + name + "\" is not a string")});
  return field->get_ref<const std::string&>();
}

std::vector<Diagnostic> judge(const Json& line, const std::shared_ptr<const Specs>& specs,
                              const std::string& target) {
  try {
    if (!line.is_object()) return {bad_line("bad-json", "the line is JSON, but not an object")};
    std::optional<std::string_view> default_target;
    if (!target.empty()) default_target = target;
    Snippet snippet{.ptx = text_field(line, "ptx", std::nullopt),
                    .declarations = text_field(line, "decls", ""),
                    .target = text_field(line, "target", default_target)};
    if (line.contains("version")) snippet.version = parse_version(text_field(line, "version", std::nullopt));
    return check(snippet, specs);
  } catch (const Error& error) {
    return error.diagnostics();
  }
}

/// Writes strings of any bytes as JSON strings; most need no escapes.
void append_text(std::string& out, const std::string& text) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, plain)) {
    out.append("\"").append(text).append("\"");
    return;
  }
  out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_list(std::string& out, const std::vector<Diagnostic>& diagnostics, Severity severity) {
  out += '[';
  bool first = true;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != severity) continue;
    out.append(first ? "" : ",").append("{\"line\":").append(std::to_string(diagnostic.line));
    out.append(",\"column\":").append(std::to_string(diagnostic.column)).append(",\"code\":");
    append_text(out, diagnostic.code);
    append_text(out += ",\"message\":", diagnostic.message);
    append_text(out += ",\"hint\":", diagnostic.hint);
    out += '}';
    first = false;
  }
  out += ']';
}

/// Appends the verdict on one line; true if its statements are legal.
bool check_line(const std::string& text, const std::shared_ptr<const Specs>& specs, const std::string& target,
                std::string& out) {
  const Json line =
      is_nested_too_deeply(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
  const std::vector<Diagnostic> found = line.is_discarded()
                                            ? std::vector{bad_line("bad-json", "the line is not JSON")}
                                            : judge(line, specs, target);
  const bool ok =
      std::ranges::none_of(found, [](const Diagnostic& d) { return d.severity == Severity::error; });
  const bool has_id = line.is_object() && line.contains("id");
  out += "{\"id\":";
  out += has_id ? line["id"].dump(-1, ' ', false, Json::error_handler_t::replace) : "null";
  out.append(",\"ok\":").append(ok ? "true" : "false").append(",\"errors\":");
  append_list(out, found, Severity::error);
  append_list(out += ",\"warnings\":", found, Severity::warning);
  out += "}\n";
  return ok;
}

constexpr std::size_t kMostLine = std::size_t{16} << 20;

/// A part of the input, and the output for it.
struct Batch {
  std::vector<std::string> lines, verdicts;
  std::vector<char> buffer = std::vector<char>(kMostLine + 1);  ///< holds a line and its end
  std::atomic<bool> all_legal = true;
  bool too_long = false;  ///< the line after these has more than kMostLine bytes
};

/// Appends the next line; false if there is none, or if it is too long.
bool read_line(std::istream& in, Batch& batch) {
  if (!in.getline(batch.buffer.data(), static_cast<std::streamsize>(batch.buffer.size()))) {
    batch.too_long = !in.eof() && !in.bad();
    return false;
  }
  const auto size = static_cast<std::size_t>(in.gcount()) - (in.eof() ? 0 : 1);  // without the line break
  batch.lines.emplace_back(batch.buffer.data(), size);
  return true;
}

/// Reads as many lines as are available at once: whoever waits for an answer before sending the next line
/// gets it.
bool read(std::istream& in, Batch& batch) {
  constexpr std::size_t kLines = 1024, kBytes = 1 << 22;
  batch.lines.clear();
  std::size_t bytes = 0;
  while (batch.lines.size() < kLines && bytes < kBytes && read_line(in, batch)) {
    bytes += batch.lines.back().size();
    if (in.rdbuf()->in_avail() <= 0) break;
  }
  batch.verdicts.assign(batch.lines.size(), {});
  return !batch.lines.empty();
}

void judge(Batch& batch, const std::shared_ptr<const Specs>& specs, const std::string& target) {
  constexpr std::size_t kAtOnce = 32;  // fewer are not worth a thread
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t begin = next.fetch_add(kAtOnce); begin < batch.lines.size();
         begin = next.fetch_add(kAtOnce))
      for (std::size_t i = begin; i < std::min(begin + kAtOnce, batch.lines.size()); ++i)
        if (!check_line(batch.lines[i], specs, target, batch.verdicts[i])) batch.all_legal = false;
  };
  const std::size_t pieces = (batch.lines.size() + kAtOnce - 1) / kAtOnce;
  const std::size_t threads = std::min<std::size_t>(pieces, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
}

}  // namespace

int check_lines(const std::shared_ptr<const Specs>& specs, const CheckLines& options) {
  std::ios::sync_with_stdio(false);
  std::ifstream file;
  if (options.file != "-") {
    file.open(options.file, std::ios::binary);
    if (!file)
      throw Error(ErrorKind::usage, "unreadable-file", options.file.string() + " cannot be read",
                  "name a file of JSON lines, or - for stdin");
  }
  std::istream& in = options.file == "-" ? std::cin : file;
  Batch batch;
  while (read(in, batch)) {
    judge(batch, specs, options.target);
    for (const std::string& verdict : batch.verdicts) std::fwrite(verdict.data(), 1, verdict.size(), stdout);
    if (std::fflush(stdout) != 0) break;  // reported at the end
  }
  const std::string name = options.file == "-" ? "stdin" : options.file.string();
  if (batch.too_long)
    throw Error(ErrorKind::usage, "input-too-large",
                fmt::format("a line of {} has more than {} MiB", name, kMostLine >> 20),
                "split its statements among several lines of JSON");
  if (in.bad())
    throw Error(ErrorKind::usage, "unreadable-file", name + " cannot be read",
                "name a file of JSON lines, or pipe them in");
  return batch.all_legal ? 0 : 1;
}

}  // namespace ptxloom::cli
