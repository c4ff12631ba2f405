// SPDX-License-Identifier: Apache-2.0
// The text of the pages of `tune --report` and `report`, whatever the results hold.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "cli/report/page.hpp"

using nlohmann::json;
using ptxloom::cli::kernel_page;
using ptxloom::cli::report_page;

namespace {

const std::string kBegin = "<script type=\"application/json\" class=\"result\">\n";

/// The results in a page, as a browser takes them: up to the first end of a script.
std::vector<json> results_of(const std::string& page) {
  std::vector<json> results;
  for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at + 1)) {
    const std::size_t begin = at + kBegin.size();
    results.push_back(json::parse(page.substr(begin, page.find("</", begin) - begin)));
  }
  return results;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// Words that end scripts, comments, strings and lines, and such that look like our own marks.
std::string hostile_text(std::mt19937_64& draw) {
  static const std::vector<std::string> kPieces = {"</script>", "<!--",
                                                   "-->",       "<!-- results -->\n",
                                                   "<script",   "\"",
                                                   "'",         "&",
                                                   "&lt;",      "\\",
                                                   "\\u003c",   "\n",
                                                   "\u2028",    "\u2029",
                                                   "\xC3\xBC",  "\xF0\x9F\x98\x80",
                                                   "]]>",       "${x}",
                                                   "`",         kBegin,
                                                   "x",         std::string(1, '\0')};
  std::string text;
  for (int i = 0; i < 12; ++i) text += kPieces[draw() % kPieces.size()];
  return text;
}

}  // namespace

TEST_CASE("the page holds the results as they are, and nothing in them ends its scripts") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 draw(seed);
  const std::string empty = report_page({});
  for (int round = 0; round < 200; ++round) {
    std::vector<json> results(1 + draw() % 3);
    std::vector<std::string> texts;
    for (json& result : results) {
      for (int i = 0; i < 4; ++i) result[hostile_text(draw)] = {hostile_text(draw), draw(), nullptr};
      texts.push_back(result.dump(1) + "\n");
    }
    const std::string page = report_page(texts);
    CHECK(results_of(page) == results);
    CHECK(count(page, "<") == count(empty, "<") + 2 * results.size());
    CHECK(count(page, "\u2028") + count(page, "\u2029") == 0);
  }
}

TEST_CASE("the page of a search that is not over holds no results, and is whole") {
  const std::string page = report_page({});
  CHECK(results_of(page).empty());
  CHECK(page.starts_with("<!doctype html>\n"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(count(page, "<script>") == count(page, "</script>"));
  CHECK(count(page, "<style>") == count(page, "</style>"));
}

TEST_CASE("the page of a kernel holds its data as it is") {
  std::mt19937_64 draw(std::random_device{}());
  for (int round = 0; round < 50; ++round) {
    json data = {{hostile_text(draw), hostile_text(draw)}, {"functions", json::array()}};
    const std::string page = kernel_page(data.dump(1) + "\n");
    CHECK(results_of(page) == std::vector<json>{data});
    CHECK(page.starts_with("<!doctype html>\n"));
    CHECK(page.ends_with("</html>\n"));
    CHECK(count(page, "<script>") == count(kernel_page("{}"), "<script>"));
  }
}

TEST_CASE("the pages load nothing") {
  const std::string page = GENERATE(report_page({}), kernel_page("{}"));
  CHECK(page.find("default-src 'none'") != std::string::npos);
  const std::regex loads(R"(\ssrc=|@import|url\(|<link|<iframe|fetch\(|XMLHttpRequest|import\()");
  std::smatch found;
  CHECK_FALSE(std::regex_search(page, found, loads));
  CAPTURE(found.str());
}
