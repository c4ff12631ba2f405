// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// The format strings of printf in device code (CUDA programming guide, "Formatted Output"):
// %[flags][width][.precision][size]type. The host's printf converts each value.
namespace ptxloom::exec {

/// What a conversion takes from the argument buffer.
enum class PrintType : std::uint8_t { word, wide, floating, text };

/// The source of arguments, in the order in which the format names them.
struct PrintArguments {
  /// The next argument's bits: a word of four bytes, or eight.
  std::function<std::uint64_t(PrintType type)> next;
  /// The string at an address, of at most `most` characters.
  std::function<std::string(std::uint64_t address, std::size_t most)> text;
};

struct Formatted {
  std::string text;
  int arguments = 0;
};
Formatted format_print(std::string_view format, const PrintArguments& arguments);

}  // namespace ptxloom::exec
