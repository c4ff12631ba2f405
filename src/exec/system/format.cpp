// SPDX-License-Identifier: Apache-2.0
#include "exec/system/format.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

namespace ptxloom::exec {
namespace {

constexpr int kMostArguments = 32;   // later conversions are printed as they are
constexpr int kMostWidth = 1 << 20;  // the buffer of a GPU has 1 MiB by default

struct Conversion {
  std::string flags;
  bool width_given = false, precision_given = false;  // as `*`
  int width = -1, precision = -1;
  std::string size;
  char type = 0;
  std::size_t length = 0;  // of its text
};

int number_at(std::string_view text, std::size_t& at) {
  int number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    number = std::min(number * 10 + (text[at] - '0'), kMostWidth);
  return number;
}

bool is_one_of(char c, std::string_view all) { return all.find(c) != std::string_view::npos; }

// The conversion at the beginning of the text, if it is one.
std::optional<Conversion> parse(std::string_view text) {
  Conversion found;
  std::size_t at = 1;
  while (at < text.size() && is_one_of(text[at], "-+ #0")) found.flags += text[at++];
  if (at < text.size() && text[at] == '*')
    found.width_given = true, ++at;
  else if (at < text.size() && is_one_of(text[at], "123456789"))
    found.width = number_at(text, at);
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (at < text.size() && text[at] == '*')
      found.precision_given = true, ++at;
    else
      found.precision = number_at(text, at);
  }
  while (at < text.size() && is_one_of(text[at], "hlLjzt")) found.size += text[at++];
  if (at == text.size() || !is_one_of(text[at], "diouxXcspeEfFgGaA%")) return std::nullopt;
  found.type = text[at];
  found.length = at + 1;
  return found;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
template <class T>
std::string convert(const Conversion& conversion, const char* size, T value) {
  const std::string format = "%" + conversion.flags + "*.*" + size + conversion.type;
  const int width = std::max(conversion.width, 0);
  const int length = std::snprintf(nullptr, 0, format.c_str(), width, conversion.precision, value);
  std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), width, conversion.precision, value);
  text.pop_back();
  return text;
}
// Without a precision: these have none.
template <class T>
std::string convert_plain(const Conversion& conversion, T value) {
  const std::string format = "%" + conversion.flags + "*" + conversion.type;
  const int width = std::max(conversion.width, 0);
  const int length = std::snprintf(nullptr, 0, format.c_str(), width, value);
  std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), width, value);
  text.pop_back();
  return text;
}
#pragma GCC diagnostic pop

std::string convert_integer(const Conversion& conversion, const PrintArguments& arguments) {
  const bool wide = is_one_of(conversion.size.empty() ? 'h' : conversion.size[0], "ljzt");
  const std::uint64_t bits = arguments.next(wide ? PrintType::wide : PrintType::word);
  const bool is_signed = conversion.type == 'd' || conversion.type == 'i';
  if (wide) return convert(conversion, "ll", static_cast<long long>(bits));
  if (conversion.size == "hh")
    return convert(conversion, "",
                   is_signed ? int{static_cast<signed char>(bits)} : int{static_cast<unsigned char>(bits)});
  if (conversion.size == "h")
    return convert(conversion, "",
                   is_signed ? int{static_cast<short>(bits)} : int{static_cast<unsigned short>(bits)});
  return convert(conversion, "", static_cast<int>(bits));
}

std::string convert_text(const Conversion& conversion, const PrintArguments& arguments) {
  const std::uint64_t address = arguments.next(PrintType::text);
  const auto most =
      conversion.precision < 0 ? std::string::npos : static_cast<std::size_t>(conversion.precision);
  const std::string text = address == 0 ? "(null)" : arguments.text(address, most);
  return convert(conversion, "", text.c_str());
}

std::string convert(const Conversion& conversion, const PrintArguments& arguments) {
  switch (conversion.type) {
    case 'c':
      return convert_plain(conversion, static_cast<int>(arguments.next(PrintType::word)));
    case 's':
      return convert_text(conversion, arguments);
    case 'p':
      return convert_plain(conversion, reinterpret_cast<void*>(arguments.next(PrintType::wide)));
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      return convert_integer(conversion, arguments);
    default:
      return convert(conversion, "", std::bit_cast<double>(arguments.next(PrintType::floating)));
  }
}

int given(const PrintArguments& arguments) {
  const int value = static_cast<int>(arguments.next(PrintType::word));
  return std::clamp(value, -kMostWidth, kMostWidth);
}

}  // namespace

Formatted format_print(std::string_view format, const PrintArguments& arguments) {
  Formatted done;
  while (!format.empty()) {
    const std::size_t plain = std::min(format.find('%'), format.size());
    done.text += format.substr(0, plain);
    format.remove_prefix(plain);
    if (format.empty()) break;
    std::optional<Conversion> conversion = parse(format);
    const int takes = conversion ? 1 + int{conversion->width_given} + int{conversion->precision_given} : 0;
    if (!conversion || done.arguments + (conversion->type == '%' ? 0 : takes) > kMostArguments) {
      done.text += format[0];
      format.remove_prefix(1);
      continue;
    }
    format.remove_prefix(conversion->length);
    if (conversion->type == '%') {
      done.text += '%';
      continue;
    }
    done.arguments += takes;
    if (conversion->width_given) conversion->width = given(arguments);
    if (conversion->width < 0 && conversion->width_given) {
      conversion->flags += '-';
      conversion->width = -conversion->width;
    }
    if (conversion->precision_given) conversion->precision = given(arguments);
    done.text += convert(*conversion, arguments);
  }
  return done;
}

}  // namespace ptxloom::exec
