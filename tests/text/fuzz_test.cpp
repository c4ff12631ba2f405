// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <string>

#include "ptxloom/ptx.hpp"
#include "support/ptx_samples.hpp"

// Text that was damaged at random. Whatever it says, reading ends, errors have a place in the text, and what
// was read without an error prints to text that reads the same.
namespace {

using namespace ptxloom;

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::size_t n = 1 + below(4); n > 0; --n) once(text);
    return text;
  }

 private:
  std::size_t below(std::size_t n) {
    return n == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  void once(std::string& text) {
    static constexpr std::string_view kPieces[] = {"{",
                                                   "}",
                                                   "(",
                                                   ")",
                                                   "[",
                                                   "]",
                                                   ";",
                                                   ",",
                                                   "<",
                                                   ">",
                                                   "/*",
                                                   "//",
                                                   "\"",
                                                   "@!",
                                                   ".reg .b32 ",
                                                   "%r9999999",
                                                   "999999999999999999999",
                                                   "0f",
                                                   "_",
                                                   "::",
                                                   "|",
                                                   "=",
                                                   ".entry",
                                                   "\n",
                                                   "+-",
                                                   "1?1:",
                                                   "\xFF",
                                                   "-",
                                                   "!",
                                                   ":",
                                                   ".align",
                                                   ".section x {"};
    const std::size_t at = below(text.size()), length = below(12);
    switch (below(6)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        if (!text.empty()) text[at] = static_cast<char>(below(256));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), length * 8));
        break;
      case 4:
        text.resize(at);
        break;
      default:
        text.replace(at, length, kPieces[below(std::size(kPieces))]);
        break;
    }
  }

  std::mt19937_64 random_;
};

void check_reading(const std::string& text, const std::shared_ptr<const Specs>& specs) {
  const ParseResult result = parse(text, specs);
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  bool located = true;
  for (const Diagnostic& d : result.diagnostics)
    located &= d.line >= 1 && d.line <= lines && d.column >= 1 && !d.code.empty();
  REQUIRE(located);
  if (!result.ok()) return;
  const std::string printed = print(result.module);
  const ParseResult again = parse(printed, specs);
  for (const Diagnostic& d : again.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(again.ok());
  REQUIRE(print(again.module) == printed);
}

}  // namespace

TEST_CASE("damaged text is read to its end without harm") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const auto specs = std::make_shared<const Specs>();
  Mutator mutator(seed);
  int unharmed = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = mutator.mutate(std::string(kSamplePtx));
    INFO("text " << i << ":\n" << text);
    check_reading(text, specs);
    unharmed += parse(text, specs).ok() ? 1 : 0;
  }
  CHECK(unharmed > 50);
}

TEST_CASE("bytes that never were PTX are read without harm") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const auto specs = std::make_shared<const Specs>();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    std::string text(std::uniform_int_distribution<std::size_t>(0, 3000)(random), '\0');
    const bool printable = i % 2 == 0;
    for (char& c : text) c = static_cast<char>(printable ? 32 + random() % 95 : random() % 256);
    if (i % 3 == 0) text.insert(0, ".version 8.0\n.target sm_90a\n.entry k() {");
    check_reading(text, specs);
  }
}

TEST_CASE("reading takes time in proportion to the text") {
  const auto specs = std::make_shared<const Specs>();
  const std::string module = ".version 8.0\n.target sm_90a\n", start = module + ".entry k() {";
  const std::vector<std::pair<std::string, std::string>> cases{
      {start, "{"},
      {start, "}"},
      {start, "{;"},
      {start, "L:"},
      {start, ".reg"},
      {start, "/*"},
      {start, "add.s32 {"},
      {start, "\""},
      {start, "call ("},
      {start, ".loc 1 "},
      {start, "add .u32 "},
      {start + "add.u32 a, ", "("},
      {start + "add.u32 a, ", "-"},
      {start + "add.u32 a, 1", "+1"},
      {start + "L: .branchtargets L", ", L"},
      {module, ".section .x {"},
      {module, ".func f("},
      {module, ".entry k() { .reg .b32 r<100000>; }"},
      {module + ".global .u8 x[] = ", "{"},
      {module + ".global .u8 x[] = {1", ", 1"},
      {module + ".global .u8 x", "[1]"},
      {module + ".alias a", ".b"}};
  for (const auto& [before, piece] : cases) {
    std::string text = before;
    for (int i = 0; i < 50000; ++i) text += piece;
    const ParseResult result = parse(text, specs);
    INFO(before << " and many " << piece);
    CHECK_FALSE(result.ok());
    CHECK(result.diagnostics.size() <= 300);
  }
}

TEST_CASE("declarations in thousands of scopes take time in proportion, too") {
  const auto specs = std::make_shared<const Specs>();
  std::string text = ".version 8.0\n.target sm_90a\n.func f(.param .b32 x) { ret; }\n.entry k() {\n";
  for (int i = 0; i < 20000; ++i)
    text += "{ .reg .b32 t<4>, a; .reg .pred p; .param .b32 param0; L: call f, (param0); @p bra L; }\n";
  const ParseResult result = parse(text + "}\n", specs);
  for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(result.ok());
  CHECK(result.module.functions[1].registers.size() == 20000 * 6);
  const std::string printed = print(result.module);
  CHECK(print(parse(printed, specs).module) == printed);
}
