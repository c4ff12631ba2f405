// SPDX-License-Identifier: Apache-2.0
// What the documentation says is what is there.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "cli/tool.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/space.hpp"
#include "support/folders.hpp"

using namespace ptxloom;
using namespace ptxloom::test;
namespace fs = std::filesystem;

namespace {

const fs::path kRoot = source_folder();

std::vector<fs::path> sources(const std::vector<std::string>& folders) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp")
        files.push_back(entry.path());
    }
  }
  return files;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Lines without the indentation that all of them share.
std::string unindented(const std::vector<std::string>& lines) {
  std::size_t indent = std::string::npos;
  for (const std::string& line : lines)
    indent = std::min(indent, std::max(line.find_first_not_of(' '), std::size_t{0}));
  std::string text;
  for (const std::string& line : lines) text += (line.empty() ? "" : line.substr(indent)) + "\n";
  return text;
}

/// What stands in a sample between "// README <part> {" or "// guide <part> {" and "// }".
std::string quoted_part(const std::string& file, const std::string& part) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const std::string& line : lines_of(read_text(kRoot / "samples" / file))) {
    const std::string bare = std::regex_replace(line, std::regex("^ +"), "");
    if (inside && bare == "// }") return unindented(lines);
    if (inside) lines.push_back(line);
    if (bare == "// README " + part + " {" || bare == "// guide " + part + " {") inside = true;
  }
  return "";
}

/// How many quotes a document has: each begins with "<!-- samples/<file> [<part>] -->", and the part's
/// default is the file's stem. They are in the samples as they stand here, and no other block is of C++.
int check_quotes(const std::string& document) {
  const std::string text = read_text(kRoot / document);
  const std::regex quote(
      "<!-- samples/((?:cuda/)?(\\w+)\\.cp?p?u?)(?: (\\w+))? -->\n```(cpp|cuda)\n([^`]*)```\n");
  int count = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), quote), end; match != end; ++match, ++count) {
    const std::string file = (*match)[1], part = (*match)[3].matched ? (*match)[3] : (*match)[2];
    CAPTURE(document, file, part);
    const std::string standing = quoted_part(file, part);
    CHECK(standing.size() > 50);
    CHECK((*match)[5] == standing);
  }
  int blocks = 0;
  for (const std::string& line : lines_of(text)) blocks += line == "```cpp" || line == "```cuda" ? 1 : 0;
  CAPTURE(document);
  CHECK(blocks == count);
  return count;
}

}  // namespace

TEST_CASE("README and the builder's guide quote the samples as they are") {
  CHECK(check_quotes("README.md") == 4);
  CHECK(check_quotes("docs/builder.md") == 11);
}

TEST_CASE("the README's table of targets is what the templates admit") {
  const std::string readme = read_text(kRoot / "README.md");
  const auto specs = std::make_shared<const Specs>();
  const std::regex row(R"(\| (sm_[^|]+) \| ([^|]+) \|)");
  std::map<std::string, std::string> table;
  for (std::sregex_iterator match(readme.begin(), readme.end(), row), end; match != end; ++match) {
    std::istringstream targets((*match)[1]);
    for (std::string target; targets >> target;) table[target] = (*match)[2];
  }
  for (const TargetInfo& target : targets()) {
    std::string types;
    for (const char* a : {"f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8", "u8"}) {
      try {
        const Settings problem = gemm_template().problem({{"m", "65"}, {"n", "33"}, {"k", "47"}, {"a", a}});
        gemm_template().emit(specs, Target(target), problem,
                             gemm_template().config(*specs, Target(target), problem, {}));
        types += (types.empty() ? "" : " ") + std::string(a);
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::refused);
      }
    }
    CAPTURE(target.name);
    CHECK(table[std::string(target.name)] == types);
  }
}

TEST_CASE("every code that the sources use is documented") {
  const std::string documented = read_text(kRoot / "docs/diagnostics.md");
  // A code is the word after a kind of error, the value of a diagnostic's code, and the first word with a
  // dash that the small functions which throw are called with.
  const std::regex patterns[] = {
      std::regex(R"((?:ErrorKind::\w+,\s*|\.code\s*=\s*)\"([a-z]+(?:-[a-z]+)*)\")"),
      std::regex(R"((?:fail|refuse|fault)\([^";]*\"([a-z]+(?:-[a-z]+)+)\")")};
  std::set<std::string> used;
  for (const fs::path& file : sources({"src", "templates"})) {
    if (file.string().find("gen/") != std::string::npos) continue;  // the build's own tools
    const std::string text = read_text(file);
    for (const std::regex& code : patterns) {
      for (std::sregex_iterator match(text.begin(), text.end(), code), end; match != end; ++match)
        used.insert((*match)[1]);
    }
  }
  CHECK(used.size() > 90);
  for (const std::string& one : used) {
    CAPTURE(one);
    CHECK(documented.find("| `" + one + "` |") != std::string::npos);
  }
}

TEST_CASE("no documented code is made up") {
  std::string all;
  for (const fs::path& file : sources({"src", "templates", "include"})) all += read_text(file);
  const std::string documented = read_text(kRoot / "docs/diagnostics.md");
  const std::regex row(R"(\| `([a-z-]+)` \|)");
  for (std::sregex_iterator match(documented.begin(), documented.end(), row), end; match != end; ++match) {
    CAPTURE((*match)[1].str());
    CHECK(all.find('"' + (*match)[1].str() + '"') != std::string::npos);
  }
}

TEST_CASE("nothing but say() and the worker writes to stderr") {
  // What fmt and the standard library throw, or print, where stderr is closed would cost the work.
  const std::regex direct(R"(\(\s*stderr\b|,\s*stderr\s*\)|std::cerr|std::clog|perror\()");
  for (const fs::path& file : sources({"src", "templates"})) {
    const std::string path = file.string();
    if (path.find("gen/") != std::string::npos || path.find("src/worker/") != std::string::npos) continue;
    CAPTURE(path);
    CHECK(!std::regex_search(read_text(file), direct));
  }
}

TEST_CASE("what the tool says in its own words is said by the library in others") {
  const std::string table = read_text(kRoot / "src/cli/tool_words.cpp");
  std::string library;
  for (const fs::path& file : sources({"src", "templates"})) {
    if (file.filename() != "tool_words.cpp") library += read_text(file);
  }
  // Hints are broken over lines as they are formatted.
  library = std::regex_replace(library, std::regex(R"("\s*\n\s*")"), "");
  const std::regex row(R"re(\n    \{"([^"]+)",)re");
  int rows = 0;
  for (std::sregex_iterator match(table.begin(), table.end(), row), end; match != end; ++match, ++rows) {
    CAPTURE((*match)[1].str());
    CHECK(library.find((*match)[1].str()) != std::string::npos);
  }
  CHECK(rows >= 8);
}

TEST_CASE("docs/gemm.md names every word of the space, and its types") {
  const std::string text = read_text(kRoot / "docs/gemm.md");
  const ParameterSpace words(gemm_template().space());
  for (const auto* part : {&words.problem(), &words.config()}) {
    for (const TemplateParameter& parameter : *part) {
      CAPTURE(parameter.name);
      CHECK(std::regex_search(text, std::regex("[` ]" + parameter.name + "[` ]")));
    }
  }
  for (std::size_t i = 1; i < words.types().size(); ++i) {
    std::string row;
    for (const std::string& cell : words.types()[i])
      row += "| " + std::regex_replace(cell, std::regex("\\|"), ", ") + " ";
    CAPTURE(row);
    CHECK(text.find(row + "|") != std::string::npos);
  }
}

TEST_CASE("the --help text names every subcommand of the README") {
  const std::string help = run_tool({"--help"}).out;
  for (const char* command :
       {"doctor", "list", "show", "check", "emit", "compile", "layout", "run", "tune", "bench", "cache"}) {
    CHECK(help.find(command) != std::string::npos);
    CHECK(read_text(kRoot / "README.md").find("ptxloom " + std::string(command)) != std::string::npos);
  }
}
