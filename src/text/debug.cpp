// SPDX-License-Identifier: Apache-2.0
#include "text/debug.hpp"

#include <algorithm>
#include <array>

#include "text/constant.hpp"

namespace ptxloom::text {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

ir::Location::Place read_place(TokenStream& in) {
  ir::Location::Place place;
  place.file = read_u32(in);
  place.line = read_u32(in);
  place.column = read_u32(in);
  return place;
}

// `a`, `a+8`, `a-b`, `-3`: a number, or labels and distances between them.
void read_value(TokenStream& in, ir::Section& section) {
  if (!in.peek().is_word()) {
    if (in.accept("-")) section.negatives = true;
    read_count(in);
    return;
  }
  in.next();
  if (in.accept("+")) {
    read_count(in);
  } else if (in.accept("-")) {
    in.expect_word("a label, for a distance ends at one");
    section.distances = true;
  }
}

// `.b8 1, 2` or `label:`
void read_line(TokenStream& in, ir::Section& section) {
  static constexpr std::array<std::string_view, 4> kSizes{".b8", ".b16", ".b32", ".b64"};
  const Token& first = in.expect_word("a label, or data of a section");
  if (!first.is_directive()) {
    section.labels = true;
    return in.expect(":");
  }
  if (std::find(kSizes.begin(), kSizes.end(), first.text) == kSizes.end())
    fail(first, "syntax", "expected data of a section, found " + quoted(first), ".b8, .b16, .b32 or .b64");
  do read_value(in, section);
  while (in.accept(","));
}

}  // namespace

void refuse_old_debug(const TokenStream& in) {
  if (in.peek().is("@") && in.peek(1).is("@") && in.peek(2).text.starts_with("DWARF"))
    fail(in.peek(), "unsupported", "@@DWARF is not supported since PTX 2.0",
         "leave it out, or put the data in a .section");
}

ir::File read_file(TokenStream& in) {
  in.expect(".file");
  ir::File file{.index = read_u32(in), .name = {}};
  const Token& name = in.peek();
  if (name.kind != Token::Kind::string || name.text.size() < 2 || name.text.back() != '"')
    fail(name, "syntax", "expected the name of a file, found " + quoted(name), ".file 1 \"kernel.cu\"");
  file.name = in.next().text;
  if (!in.accept(",")) return file;
  file.stamp.emplace();
  (*file.stamp)[0] = static_cast<std::uint64_t>(read_count(in));
  in.expect(",");
  (*file.stamp)[1] = static_cast<std::uint64_t>(read_count(in));
  return file;
}

ir::Location read_location(TokenStream& in) {
  ir::Location location{.intermediate = in.accept(".loc_intermediate")};
  if (!location.intermediate) in.expect(".loc");
  location.place = read_place(in);
  if (location.intermediate || !in.accept(",")) return location;
  in.expect("function_name");
  location.function = in.expect_name("a label of .debug_str").text;
  if (in.accept("+")) location.function += "+" + std::to_string(read_u32(in));
  in.expect(",");
  in.expect("inlined_at");
  location.inlined_at = read_place(in);
  return location;
}

ir::Section read_section(TokenStream& in) {
  in.expect(".section");
  ir::Section section{.name = std::string(in.expect_word("the name of a section").text), .body = {}};
  const Token& open = in.peek();
  in.expect("{");
  const char* const begin = open.text.data() + 1;
  while (!in.peek().is("}")) read_line(in, section);
  std::string_view body(begin, static_cast<std::size_t>(in.next().text.data() - begin));
  const std::size_t first = body.find_first_not_of(kBlanks);
  if (first != body.npos) section.body = body.substr(first, body.find_last_not_of(kBlanks) - first + 1);
  return section;
}

}  // namespace ptxloom::text
