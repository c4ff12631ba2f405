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
#include "ptxloom/templates.hpp"
#include "support/folders.hpp"
#include "support/temporary_folder.hpp"

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

/// What stands in a file between "// README <part> {" or "// guide <part> {" and "// }", or the same behind
/// "#".
std::string quoted_part(const fs::path& file, const std::string& part) {
  std::vector<std::string> inside;
  bool begun = false;
  for (const std::string& line : lines_of(read_text(file))) {
    const std::string bare = std::regex_replace(line, std::regex("^ *(//|#) "), "");
    if (begun && bare == "}" && bare != line) return unindented(inside);
    if (begun) inside.push_back(line);
    if (bare == "README " + part + " {" || bare == "guide " + part + " {") begun = true;
  }
  return "";
}

/// The README and the guides.
std::vector<fs::path> pages() {
  std::vector<fs::path> all = {kRoot / "README.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  }
  return all;
}

/// A block of code in a page: what its fence says behind the backquotes, the line before the fence, its text.
struct CodeBlock {
  std::string language, mark, text;
};

std::vector<CodeBlock> code_blocks(const fs::path& page) {
  std::vector<CodeBlock> blocks;
  std::string before;
  bool inside = false;
  for (const std::string& line : lines_of(read_text(page))) {
    if (line.starts_with("```")) {
      if (!inside) blocks.push_back({.language = line.substr(3), .mark = before, .text = {}});
      inside = !inside;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
    before = line;
  }
  return blocks;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The working folder of this process while the object lives.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~WorkingFolder() { fs::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  fs::path before_;
};

/// The cells of the column "default" of a guide's tables, by the parameters that the first cell names.
std::map<std::string, std::string> default_cells(const std::string& guide) {
  const std::string header = "| parameter | values | default | |\n|---|---|---|---|\n";
  std::map<std::string, std::string> cells;
  for (std::size_t at = guide.find(header); at != std::string::npos; at = guide.find(header, at + 1)) {
    std::istringstream rows(guide.substr(at + header.size()));
    const std::regex row_form(R"(\| (.*?) \| (.*?) \| (.*?) \|.*)"), name_form("`(\\w+)`");
    std::smatch row;
    for (std::string line; std::getline(rows, line) && std::regex_match(line, row, row_form);) {
      const std::string names = row[1];
      for (std::sregex_iterator name(names.begin(), names.end(), name_form), end; name != end; ++name)
        cells[(*name)[1]] = row[3];
    }
  }
  return cells;
}

}  // namespace

// The mark before a block: <!-- samples/NAME.cpp --> quotes the part NAME of that file, <!-- FILE PART -->
// another.
TEST_CASE("the README and the guides quote samples and tests as they are") {
  const std::regex mark(R"(<!-- ((?:samples|tests)/[^ ]+)(?: ([a-z_]+))? -->)");
  int quotes = 0;
  for (const fs::path& page : pages()) {
    for (const CodeBlock& block : code_blocks(page)) {
      CAPTURE(page.string(), block.mark, block.text);
      std::smatch match;
      const bool quotes_a_file = std::regex_match(block.mark, match, mark);
      // Code that nothing compiles or runs goes wrong unseen.
      const std::set<std::string> code = {"cpp", "cuda", "cmake", "python"};
      if (code.contains(block.language)) CHECK(quotes_a_file);
      if (!quotes_a_file) continue;
      const fs::path file = kRoot / match[1].str();
      const std::string quote = quoted_part(file, match[2].matched ? match[2].str() : file.stem().string());
      CAPTURE(quote);
      CHECK(quote.size() > 50);
      CHECK(block.text == quote);
      ++quotes;
    }
  }
  CHECK(quotes >= 25);
}

// A block of the language "console" holds commands and lines that they print, to either stream.
TEST_CASE("the tool prints what the README and the guides say") {
  const TemporaryFolder folder;
  const WorkingFolder here(folder.path());
  fs::create_directory_symlink(kRoot / "samples", "samples");
  int commands = 0;
  for (const fs::path& page : pages()) {
    for (const CodeBlock& block : code_blocks(page)) {
      if (block.language != "console") continue;
      std::string printed;
      for (const std::string& line : lines_of(block.text)) {
        CAPTURE(page.string(), line, printed);
        if (line.starts_with("$ ptxloom ")) {
          std::vector<std::string> words = words_of(line);
          words.erase(words.begin(), words.begin() + 2);
          const ToolResult result = run_tool(words);
          printed = "\n" + result.out + result.err;
          ++commands;
        } else {
          CHECK(printed.find("\n" + line + "\n") != std::string::npos);
        }
      }
    }
  }
  CHECK(commands >= 3);
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
        CHECK((error.kind() == ErrorKind::refused || error.kind() == ErrorKind::illegal_ptx));
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

TEST_CASE("every code of a finding that the executor uses has an entry in findings.md") {
  // A fault's code is the first text that it is called with; a finding's is that of its Misuse.
  const std::regex code(R"re((?:\bfault\([^";]*|Misuse[^;"]*\.code = |\{\.code = )"([a-z]+(?:-[a-z]+)*)")re");
  const std::string documented = read_text(kRoot / "docs/findings.md");
  std::set<std::string> used;
  for (const fs::path& file : sources({"src/exec"})) {
    const std::string text = read_text(file);
    for (std::sregex_iterator match(text.begin(), text.end(), code), end; match != end; ++match)
      used.insert((*match)[1]);
  }
  CHECK(used.size() > 40);
  CHECK(used.contains("trap"));
  for (const std::string& one : used) {
    CAPTURE(one);
    CHECK(documented.find("### `" + one + "`\n") != std::string::npos);
  }
}

TEST_CASE("every documented code exists") {
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

TEST_CASE("the tool's own wording corresponds to the library's") {
  const std::string table = read_text(kRoot / "src/cli/common/tool_words.cpp");
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

TEST_CASE("the guide of a template names every parameter of its space, and its types") {
  const Templates known;
  for (const Templates::Entry& entry : known.all()) {
    const Template* const one = entry.value;
    const std::string text = read_text(kRoot / "docs" / (std::string(one->name()) + ".md"));
    const ParameterSpace words(one->space());
    for (const auto* part : {&words.problem(), &words.config()}) {
      for (const TemplateParameter& parameter : *part) {
        CAPTURE(one->name(), parameter.name);
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
}

TEST_CASE("the guide of a template says what the defaults of its problem are") {
  const Templates known;
  int defaults = 0;
  for (const Templates::Entry& entry : known.all()) {
    const std::string name(entry.value->name());
    const std::map<std::string, std::string> cells =
        default_cells(read_text(kRoot / "docs" / (name + ".md")));
    const ParameterSpace space(entry.value->space());
    for (const TemplateParameter& parameter : space.problem()) {
      if (parameter.fallback.empty()) continue;
      CAPTURE(name, parameter.name, parameter.fallback);
      const auto cell = cells.find(parameter.name);
      REQUIRE(cell != cells.end());
      const bool of_another = parameter.fallback.front() == '=';
      const std::string value = parameter.fallback.substr(of_another ? 1 : 0);
      const bool quoted = of_another || parameter.kind == "choice";
      CHECK(cell->second == (of_another ? "that of " : "") + (quoted ? "`" + value + "`" : value));
      ++defaults;
    }
  }
  CHECK(defaults >= 40);
}

TEST_CASE("the --help text names every subcommand of the README") {
  const std::string help = run_tool({"--help"}).out;
  for (const char* command :
       {"doctor", "list", "show", "check", "emit", "compile", "layout", "run", "tune", "bench", "cache"}) {
    CHECK(help.find(command) != std::string::npos);
    CHECK(read_text(kRoot / "README.md").find("ptxloom " + std::string(command)) != std::string::npos);
  }
}
