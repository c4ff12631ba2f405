// SPDX-License-Identifier: Apache-2.0
#include "text/debug.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

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

// Reads the data of a section.
class SectionReader {
 public:
  SectionReader(TokenStream& in, ir::Section& section) : in_(in), section_(section) {}

  // `.b8 1, 2`, `.b32 label+8` or `label:`
  void line() {
    const Token& first = in_.expect_word("a label, or data of a section");
    if (!first.is_directive()) return label(first);
    const auto size = std::find(kSizes.begin(), kSizes.end(), first.text);
    if (size == kSizes.end())
      fail(first, "syntax", "expected data of a section, found " + quoted(first), ".b8, .b16, .b32 or .b64");
    const int bits = 8 << (size - kSizes.begin());
    if (in_.peek().is_word()) return address(bits);
    do number(bits);
    while (in_.accept(","));
  }

 private:
  static constexpr std::array<std::string_view, 4> kSizes{".b8", ".b16", ".b32", ".b64"};

  void label(const Token& name) {
    section_.labels = true;
    if (!labels_.insert(name.text).second)
      fail(name, "duplicate-name", "the section has the label " + quoted(name) + " twice");
    in_.expect(":");
  }

  // `a`, `a+8`, `a-b`: the only value of its line.
  void address(int bits) {
    const Token& name = in_.next();
    if (bits < 32) fail(name, "bad-size", "a label or a distance of labels needs .b32 or .b64");
    if (in_.accept("+")) {
      read_count(in_);
    } else if (in_.accept("-")) {
      in_.expect_word("a label, for a distance ends at one");
      section_.distances = true;
    }
    if (in_.peek().is(","))
      fail(in_.peek(), "syntax", "a label stands alone: expected the end of the line, found ','",
           "write each label in a line with its own type");
  }

  // ptxas truncates what is too large for .b32, and refuses it for .b8 and .b16; -0 it refuses for all.
  void number(int bits) {
    const Token& at = in_.peek();
    const bool negative = in_.accept("-");
    if (negative) section_.negatives = true;
    const auto value = static_cast<std::uint64_t>(read_count(in_));
    const bool fits = negative ? value != 0 && value <= std::uint64_t{1} << (bits - 1)
                               : bits >= 32 || value < std::uint64_t{1} << bits;
    if (!fits) fail(at, "bad-size", "the number does not fit .b" + std::to_string(bits));
  }

  TokenStream& in_;
  ir::Section& section_;
  std::unordered_set<std::string_view> labels_;
};

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
  if (in.accept(",")) (*file.stamp)[1] = static_cast<std::uint64_t>(read_count(in));
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
  const Token& name = in.expect_word("the name of a section");
  if (!name.is_directive())
    fail(name, "syntax", "expected the name of a section, found " + quoted(name), "such as .debug_info");
  ir::Section section{.name = std::string(name.text), .body = {}};
  SectionReader reader(in, section);
  const Token& open = in.peek();
  in.expect("{");
  const char* const begin = open.text.data() + 1;
  while (!in.peek().is("}")) reader.line();
  std::string_view body(begin, static_cast<std::size_t>(in.next().text.data() - begin));
  const std::size_t first = body.find_first_not_of(kBlanks);
  if (first != body.npos) section.body = body.substr(first, body.find_last_not_of(kBlanks) - first + 1);
  return section;
}

}  // namespace ptxloom::text
