// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Checking returns diagnostics as values; constructing and running throw an Error that holds them. Every
/// diagnostic has a stable code (docs/diagnostics.md lists them all), says what is wrong, and hints at what
/// would be legal or what to do.
///
/// Comments in these headers write `Error(usage, "out-of-range")` for an Error with this ErrorKind and this
/// code.
namespace [[gnu::visibility("default")]] ptxloom {

/// A warning does not make anything illegal.
enum class Severity {
  warning,  ///< worth knowing: undocumented, slow, or a part of the library that cannot be used
  error,    ///< illegal or failed
};

/// One thing that is wrong.
struct Diagnostic {
  Severity severity = Severity::error;  ///< error or warning
  std::string code;                     ///< stable; lower-case words joined by dashes: "unknown-target"
  std::string message;                  ///< what is wrong, and where
  std::string hint;                     ///< what would be legal instead, or what to do; may be empty
  int line = 0;                         ///< in the text that was read, from 1; 0 if there is none
  int column = 0;                       ///< in the line, from 1; 0 if there is no text
};

/// The kind of a failure, for a program to react to.
enum class ErrorKind {
  refused = 1,       ///< the answer is no for another reason: a wrong result, no configuration that fits
  usage = 2,         ///< bad usage or input: an unreadable file, an unknown name, a shape of zero
  missing = 3,       ///< a component is missing, such as the driver or nvJitLink; the hint says how to get it
  illegal_ptx = 4,   ///< PTX that no target has, or that this target does not have
  link_failure = 5,  ///< nvJitLink or NVRTC failed, or the driver refuses the machine code
  out_of_memory = 6,  ///< the device or the host has no memory left
  device_fault = 7,   ///< a kernel is wrong: an illegal address, or a race that the executor found
};

/// The exit code of a program that ends with this error, as the command line tool has it: 2 for usage, 3 for
/// missing, else 1.
constexpr int exit_code(ErrorKind kind) {
  return kind == ErrorKind::usage || kind == ErrorKind::missing ? static_cast<int>(kind) : 1;
}

/// What the library throws. It has at least one diagnostic.
class Error : public std::exception {
 public:
  /// With these diagnostics, which must not be empty; or with one.
  ///@{
  Error(ErrorKind kind, std::vector<Diagnostic> diagnostics);
  Error(ErrorKind kind, std::string code, std::string message, std::string hint = {});

  ///@}

  ErrorKind kind() const noexcept { return kind_; }  ///< the kind
  /// The code of the first diagnostic, such as "device-fault".
  const std::string& code() const noexcept { return diagnostics_.front().code; }
  /// All diagnostics, the most important first.
  const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }
  /// The CUresult of the driver call that failed; nullopt if none did.
  std::optional<int> cuda_result() const noexcept { return cuda_result_; }
  /// The same error with a CUresult.
  Error&& with_cuda_result(int result) && {
    cuda_result_ = result;
    return std::move(*this);
  }
  /// All diagnostics as text, each as to_string prints it.
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorKind kind_;
  std::vector<Diagnostic> diagnostics_;
  std::string what_;
  std::optional<int> cuda_result_;
};

/// The text "line:column: error: message [code]\n  hint", without the parts that are empty.
std::string to_string(const Diagnostic& diagnostic);

}  // namespace ptxloom
