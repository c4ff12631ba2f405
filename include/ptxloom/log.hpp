// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string_view>

/// \file
/// The library's log. By default warnings and errors go to stderr; PTXLOOM_LOG sets another level: off,
/// error, warning, info or debug. A program can pass a callback of its own, or Log(), which is silent.
namespace [[gnu::visibility("default")]] ptxloom {

/// From the most important to the most detailed.
enum class LogLevel {
  error,    ///< something failed
  warning,  ///< it works, but not as it should
  info,     ///< what is done, such as a kernel that is loaded
  debug,    ///< everything
};
/// "error", "warning", "info" or "debug".
std::string_view name(LogLevel level);

/// Receives a message. Several threads may call it at once.
using LogCallback = std::function<void(LogLevel, std::string_view message)>;

/// A value that is cheap to copy. Thread-safe.
class Log {
 public:
  Log() = default;  ///< silent
  /// Passes on the messages of all levels up to `most`.
  explicit Log(LogCallback callback, LogLevel most = LogLevel::info);
  /// Writes to stderr, at the level that PTXLOOM_LOG names, else warnings and errors.
  static Log from_environment();

  /// Whether messages of the level are passed on.
  bool enabled(LogLevel level) const { return callback_ && level <= most_; }
  /// Logs a message.
  void operator()(LogLevel level, std::string_view message) const {
    if (enabled(level)) (*callback_)(level, message);
  }

 private:
  std::shared_ptr<const LogCallback> callback_;
  LogLevel most_ = LogLevel::error;
};

}  // namespace ptxloom
