// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
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

/// Why something was refused.
enum class ErrorKind {
  refused = 1,       ///< the answer is no for a reason of its own: a wrong result, no configuration that fits
  usage = 2,         ///< bad usage or input: an unreadable file, an unknown name, a shape of zero
  missing = 3,       ///< a component is missing: no driver, no nvJitLink
  illegal_ptx = 4,   ///< PTX that no target has, or not this one
  link_failure = 5,  ///< nvJitLink or NVRTC failed, or the driver refuses the machine code
  out_of_memory = 6,  ///< of the device or of the host
  device_fault = 7,   ///< a kernel did it: an illegal address, a race that the executor found
};

/// What a program should exit with, as the command line tool does: 2 for usage, 3 for missing, else 1.
constexpr int exit_code(ErrorKind kind) {
  return kind == ErrorKind::usage || kind == ErrorKind::missing ? static_cast<int>(kind) : 1;
}

class Error : public std::exception {
 public:
  /// There is at least one.
  Error(ErrorKind kind, std::vector<Diagnostic> diagnostics);
  Error(ErrorKind kind, std::string code, std::string message, std::string hint = {});

  ErrorKind kind() const noexcept { return kind_; }
  /// The code of the first diagnostic, such as "device-fault".
  const std::string& code() const noexcept { return diagnostics_.front().code; }
  const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }
  /// The CUresult of the driver call that failed, where one did.
  std::optional<int> cuda_result() const noexcept { return cuda_result_; }
  Error&& with_cuda_result(int result) && {
    cuda_result_ = result;
    return std::move(*this);
  }
  /// All diagnostics, as to_string prints them.
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorKind kind_;
  std::vector<Diagnostic> diagnostics_;
  std::string what_;
  std::optional<int> cuda_result_;
};

/// "line:column: error: message [code]\n  hint", without the parts that are empty.
std::string to_string(const Diagnostic& diagnostic);

}  // namespace ptxloom
