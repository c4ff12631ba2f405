// SPDX-License-Identifier: Apache-2.0
#include "cli/common/failure.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/common/say.hpp"
#include "cli/common/tool_words.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Diagnostic& diagnostic) {
  Json json = {{"code", diagnostic.code}, {"message", diagnostic.message}, {"hint", diagnostic.hint}};
  if (diagnostic.line > 0) json["line"] = diagnostic.line;
  if (diagnostic.line > 0 && diagnostic.column > 0) json["column"] = diagnostic.column;
  return json;
}

Diagnostic out_of_memory() {
  return {.code = "out-of-memory",
          .message = "out of memory",
          .hint = "use smaller sizes, or a machine with more memory"};
}

Diagnostic system_failure(const std::system_error& error) {
  return {.code = "system-error",
          .message = "the system refused a request: " + error.code().message(),
          .hint = "check whether processes, threads, files or disk space have run out"};
}

Diagnostic internal_error() {
  return {.code = "internal-error",
          .message = "ptxloom failed without a diagnostic, which is a bug in ptxloom",
          .hint = "report it, with the command that you ran"};
}

/// Describes the exception that is being handled.
Diagnostic describe_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return error.diagnostics().front();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {  // a container larger than any memory
    return out_of_memory();
  } catch (const std::system_error& error) {
    return system_failure(error);
  } catch (...) {
    return internal_error();
  }
}

[[noreturn]] void end_uncaught() {
  if (std::current_exception()) say("{}\n", to_string(describe_exception()));
  std::_Exit(exit_code(ErrorKind::refused));
}

}  // namespace

bool wants_json(std::span<char* const> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--json" || word == "--jsonl" || word == "--format=json") return true;
    if (word == "--format" && i + 1 < arguments.size() && std::string_view(arguments[i + 1]) == "json")
      return true;
  }
  return false;
}

std::string error_json(const std::vector<Diagnostic>& diagnostics) {
  Json json = {{"schema", 1}, {"error", json_of(diagnostics.front())}};
  if (diagnostics.size() > 1) {
    Json& others = json["others"] = Json::array();
    for (const Diagnostic& diagnostic : std::span(diagnostics).subspan(1))
      others.push_back(json_of(diagnostic));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

int report_failure(ErrorKind kind, std::vector<Diagnostic> diagnostics, const FailureDocument& document) {
  for (Diagnostic& diagnostic : diagnostics) {
    diagnostic.hint = in_tool_words(std::move(diagnostic.hint));
    say("{}\n", to_string(diagnostic));
  }
  if (document) {
    const std::string text = document(diagnostics);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return exit_code(kind);
}

int guarded(const FailureDocument& document, int (*work)(int argc, char** argv), int argc, char** argv) {
  try {
    return work(argc, argv);
  } catch (const Error& error) {
    return report_failure(error.kind(), error.diagnostics(), document);
  } catch (...) {
    // A failed write to stdout is reported once, at the end.
    if (std::ferror(stdout) != 0) return exit_code(ErrorKind::usage);
    return report_failure(ErrorKind::usage, {describe_exception()}, document);
  }
}

void tell_of_uncaught() { std::set_terminate(end_uncaught); }

}  // namespace ptxloom::cli
