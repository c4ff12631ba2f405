// SPDX-License-Identifier: Apache-2.0
#include "text/debug.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "text/constant.hpp"

namespace ptxloom::text {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

std::uint32_t read_number(TokenStream& in) {
  const Token& at = in.peek();
  const std::int64_t value = read_integer(in);
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max())
    fail(at, "syntax", "expected a number of 32 bits, found " + quoted(at));
  return static_cast<std::uint32_t>(value);
}

ir::Location::Place read_place(TokenStream& in) {
  ir::Location::Place place;
  place.file = read_number(in);
  place.line = read_number(in);
  place.column = read_number(in);
  return place;
}

// `a`, `a+8`, `a-b`, `-3`: a number, or labels and the distances between them.
void read_value(TokenStream& in) {
  if (starts_constant(in.peek())) {
    read_integer(in);
    return;
  }
  in.expect_word("a value or a label");
  if (in.accept("+")) {
    read_integer(in);
  } else if (in.accept("-")) {
    if (in.peek().is_word()) {
      in.next();
    } else {
      read_integer(in);
    }
  }
}

// `.b8 1, 2` or `label:`
void read_line(TokenStream& in) {
  static constexpr std::array<std::string_view, 4> kSizes{".b8", ".b16", ".b32", ".b64"};
  const Token& first = in.expect_word("a label, or data of a section");
  if (!first.is_directive()) return in.expect(":");
  if (std::find(kSizes.begin(), kSizes.end(), first.text) == kSizes.end())
    fail(first, "syntax", "expected data of a section, found " + quoted(first), ".b8, .b16, .b32 or .b64");
  do read_value(in);
  while (in.accept(","));
}

}  // namespace

ir::File read_file(TokenStream& in) {
  in.expect(".file");
  ir::File file{.index = read_number(in), .name = {}};
  const Token& name = in.peek();
  if (name.kind != Token::Kind::string || name.text.size() < 2 || name.text.back() != '"')
    fail(name, "syntax", "expected the name of a file, found " + quoted(name), ".file 1 \"kernel.cu\"");
  file.name = in.next().text;
  if (!in.accept(",")) return file;
  file.stamp.emplace();
  (*file.stamp)[0] = static_cast<std::uint64_t>(read_integer(in));
  in.expect(",");
  (*file.stamp)[1] = static_cast<std::uint64_t>(read_integer(in));
  return file;
}

ir::Location read_location(TokenStream& in) {
  in.expect(".loc");
  ir::Location location{.place = read_place(in)};
  while (in.accept(",")) {
    if (in.accept("inlined_at")) {
      location.inlined_at = read_place(in);
      continue;
    }
    in.expect("function_name");
    location.function = in.expect_name("a label of .debug_str").text;
    if (in.accept("+")) location.function += "+" + std::to_string(read_number(in));
  }
  return location;
}

ir::Section read_section(TokenStream& in) {
  in.expect(".section");
  ir::Section section{.name = std::string(in.expect_word("the name of a section").text), .body = {}};
  const Token& open = in.peek();
  in.expect("{");
  const char* const begin = open.text.data() + 1;
  while (!in.peek().is("}")) read_line(in);
  std::string_view body(begin, static_cast<std::size_t>(in.next().text.data() - begin));
  const std::size_t first = body.find_first_not_of(kBlanks);
  if (first != body.npos) section.body = body.substr(first, body.find_last_not_of(kBlanks) - first + 1);
  return section;
}

}  // namespace ptxloom::text
