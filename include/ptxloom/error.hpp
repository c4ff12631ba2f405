// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <vector>

// Checking returns diagnostics as values; constructing and running throw an Error that holds them.
// Every diagnostic has a stable code (listed in docs/diagnostics.md), says what is wrong, and hints at
// what would be legal or what to do.
namespace [[gnu::visibility("default")]] ptxloom {

enum class Severity { warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;     ///< stable, lower-case words joined by dashes: "unknown-target"
  std::string message;  ///< what is wrong, and where
  std::string hint;     ///< what would be legal instead, or the command that mends it; may be empty
  int line = 0;         ///< from 1 in the text at hand; 0 where there is no text
  int column = 0;
};

/// Why something was refused. The values are the exit codes of the command line tool.
enum class ErrorKind {
  refused = 1,  ///< the answer is no: illegal PTX, a wrong result, a fault on the device
  usage = 2,    ///< bad usage or input: an unreadable file, an unknown name, a shape of zero
  missing = 3,  ///< a component is missing: no driver, no nvJitLink
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::vector<Diagnostic> diagnostics);
  Error(ErrorKind kind, std::string code, std::string message, std::string hint = {});

  ErrorKind kind() const noexcept { return kind_; }
  const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }
  /// All diagnostics, as to_string prints them.
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorKind kind_;
  std::vector<Diagnostic> diagnostics_;
  std::string what_;
};

/// "line:column: error: message [code]\n  hint", without the parts that are empty.
std::string to_string(const Diagnostic& diagnostic);

}  // namespace ptxloom
