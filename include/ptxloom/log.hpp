// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string_view>

// Where the library says what it does and what it worked around. Warnings and errors go to stderr by default;
// PTXLOOM_LOG=off, error, warning, info or debug says otherwise; a program passes its own callback, or Log(),
// which is silent. A Log is a value, cheap to
// copy, and may be used from several threads at once (so the callback must be able to).
namespace [[gnu::visibility("default")]] ptxloom {

enum class LogLevel { error, warning, info, debug };
std::string_view name(LogLevel level);

using LogCallback = std::function<void(LogLevel, std::string_view message)>;

class Log {
 public:
  Log() = default;  ///< silent
  /// Passes on everything up to `most` in detail.
  explicit Log(LogCallback callback, LogLevel most = LogLevel::info);
  /// To stderr at the level that PTXLOOM_LOG names, else warnings and errors.
  static Log from_environment();

  bool enabled(LogLevel level) const { return callback_ && level <= most_; }
  void operator()(LogLevel level, std::string_view message) const {
    if (enabled(level)) (*callback_)(level, message);
  }

 private:
  std::shared_ptr<const LogCallback> callback_;
  LogLevel most_ = LogLevel::error;
};

}  // namespace ptxloom
