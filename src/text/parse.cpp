// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ptxloom/ptx.hpp"
#include "text/constant.hpp"
#include "text/debug.hpp"
#include "text/declarations.hpp"
#include "text/interface.hpp"
#include "text/parse_function.hpp"

namespace ptxloom {
namespace text {
namespace {

constexpr std::array<std::string_view, 3> kModes{"debug", "texmode_unified", "texmode_independent"};

// No text that uses its registers declares more than this.
std::size_t most_registers(std::string_view ptx) { return (std::size_t{1} << 20) + ptx.size() / 4; }

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A byte order mark is reported once, and then the rest is read as if it were not there.
std::string_view after_mark(std::string_view ptx) {
  return ptx.substr(ptx.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

class ModuleParser {
 public:
  ModuleParser(std::string_view ptx, std::shared_ptr<const Specs> specs, std::string_view target)
      : ptx_(ptx),
        lexer_(after_mark(ptx)),
        in_(tokens_.tokens),
        wanted_target_(target),
        registers_left_(most_registers(ptx)) {
    module_.specs = std::move(specs);
    if (!target.empty()) module_.target = target;
  }

  ParseResult run() {
    bool more = lexer_.next(tokens_);
    take_comments(0);
    module_.header = std::move(comments_);
    refuse_foreign_characters();
    expect_first(".version", 0);
    expect_first(".target", 2);
    for (; more; more = lexer_.next(tokens_)) directives();
    module_.footer = std::move(comments_);
    return {.module = std::move(module_), .diagnostics = report_.take()};
  }

 private:
  // Not even in comments and strings.
  void refuse_foreign_characters() {
    const auto found = std::find_if(ptx_.begin(), ptx_.end(), [](char c) { return (c & 0x80) != 0; });
    if (found == ptx_.end()) return;
    if (ptx_.starts_with(kByteOrderMark))
      return report_.add({.code = "syntax",
                          .message = "the text begins with a byte order mark (BOM)",
                          .hint = "save it without one: PTX is ASCII text",
                          .line = 1,
                          .column = 1});
    const std::string_view before(ptx_.data(), static_cast<std::size_t>(found - ptx_.begin()));
    report_.add({.code = "syntax",
                 .message = "this character is not ASCII",
                 .hint = "remove it: PTX is ASCII text, in comments and file names too",
                 .line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
                 .column = static_cast<int>(before.size() - (before.rfind('\n') + 1)) + 1});
  }

  // A module starts with .version and its number, followed by .target.
  void expect_first(std::string_view word, std::size_t at) {
    const Token& token = in_.peek(at);
    const bool started = in_.peek().is(".version");
    if (token.is(word) || (at != 0 && !started)) return;
    report_.add(
        {.code = "syntax",
         .message = "expected " + std::string(word) + (at == 0 ? " first" : "") + ", found " + quoted(token),
         .hint = "a module starts with .version " + to_string(default_ptx_version()) +
                 ", .target sm_90a and .address_size 64",
         .line = token.line,
         .column = token.column});
  }

  void directives() {
    in_.seek(0);
    while (!in_.at_end() && !report_.full()) {
      const std::size_t start = in_.position();
      take_comments(start);
      try {
        directive();
      } catch (SyntaxError& error) {
        report_.add(std::move(error.diagnostic));
        recover(in_, start);
        if (in_.position() == start) in_.next();
      }
    }
    take_comments(in_.position());
    next_comment_ = 0;
  }

  // Comments belong to the function or variable that follows them.
  void take_comments(std::size_t before) {
    for (; next_comment_ < tokens_.comments.size() && tokens_.comments[next_comment_].before <= before;
         ++next_comment_)
      comments_.emplace_back(tokens_.comments[next_comment_].text);
  }

  // Skips comments inside an item that has been read.
  void skip_comments() {
    while (next_comment_ < tokens_.comments.size() && tokens_.comments[next_comment_].before < in_.position())
      ++next_comment_;
  }

  void directive() {
    const Token& token = in_.peek();
    refuse_old_debug(in_);
    const bool after_target = std::exchange(after_target_, false);
    if (in_.accept(".version")) return version(token);
    if (in_.accept(".target")) return target();
    if (after_target && in_.accept(".address_size")) return address_size();
    if (in_.accept(".alias")) return alias();
    if (in_.accept(".pragma")) return pragma();
    if (token.is(".file")) return file(token);
    if (token.is(".section")) return section();
    const ir::Linkage linkage = read_linkage(in_);
    if (in_.peek().is(".entry") || in_.peek().is(".func")) {
      if (linkage == ir::Linkage::common)
        fail(in_.peek(), "syntax", "a function cannot be .common", "only a .global variable can");
      return function(linkage);
    }
    if (starts_variable(in_.peek())) return variables(linkage);
    fail(token, "syntax", "expected a directive of a module, found " + quoted(token),
         ".version .target .address_size .entry .func .global .const .shared .alias .pragma .file .section");
  }

  void file(const Token& at) {
    module_.files.push_back(read_file(in_));
    if (!file_indices_.insert(module_.files.back().index).second)
      fail(at, "duplicate-name",
           "two .file directives have the number " + std::to_string(module_.files.back().index));
  }

  void section() {
    module_.sections.push_back(read_section(in_));
    skip_comments();
  }

  void version(const Token& at) {
    const Token& number = in_.next();
    if (std::exchange(has_version_, true)) fail(at, "syntax", ".version is given twice");
    try {
      module_.version = parse_version(number.text);
    } catch (const Error&) {
      fail(number, "syntax", "expected a version of PTX, found " + quoted(number),
           "such as " + to_string(default_ptx_version()));
    }
  }

  void target() {
    const Token& name = in_.expect_word("a target");
    if (wanted_target_.empty()) module_.target = name.text;
    opcodes_.reset();
    while (in_.accept(",")) {
      const Token& mode = in_.expect_word("a mode of .target");
      if (std::find(kModes.begin(), kModes.end(), mode.text) == kModes.end())
        fail(mode, "syntax", "there is no mode " + quoted(mode) + " of .target",
             "debug, texmode_unified, texmode_independent");
      module_.modes.emplace_back(mode.text);
    }
    after_target_ = true;
  }

  void address_size() {
    const Token& at = in_.peek();
    if (read_count(in_) != 64) fail(at, "unsupported", "only .address_size 64 is supported");
  }

  void pragma() {
    module_.pragmas.push_back(read_pragmas(in_));
    in_.expect(";");
  }

  void alias() {
    ir::Alias alias{.name = known_function(), .of = {}};
    in_.expect(",");
    alias.of = known_function();
    in_.expect(";");
    module_.aliases.push_back(std::move(alias));
  }

  std::string known_function() {
    const Token& name = in_.expect_name("a function");
    const auto found = globals_.find(name.text);
    if (found == globals_.end() || found->second.space != ir::Space::code)
      fail(name, "undefined-name", "there is no function " + std::string(name.text),
           "declare both functions before .alias");
    return std::string(name.text);
  }

  void variables(ir::Linkage linkage) {
    const Token& space = in_.peek();
    if (space.is(".param") || space.is(".local"))
      fail(space, "syntax", std::string(space.text) + " variables must be declared in a function");
    const std::size_t first = module_.variables.size();
    std::vector<Token> again;
    const VariableReader reader{
        .globals = globals_, .made = made_, .declare = [&](const Token& name, Place place) {
          if (!globals_.emplace(name.text, place).second) {
            redeclare(name, linkage);
            again.push_back(name);
          }
          return std::string(name.text);
        }};
    read_variables(in_, linkage, reader, module_.variables);
    for (const Token& name : again) check_alike(name, first);
    if (first < module_.variables.size()) module_.variables[first].header = std::exchange(comments_, {});
    for (std::size_t i = first; i < module_.variables.size(); ++i)
      for (const ir::AddressValue& value : module_.variables[i].addresses) forward(value.name);
  }

  // An .extern variable may be declared again, and be defined for others before or after.
  void redeclare(const Token& name, ir::Linkage linkage) const {
    const auto known = find_variable(name.text, 0);
    const bool variable = known != module_.variables.end();
    const bool external = variable && known->linkage == ir::Linkage::external;
    if (linkage == ir::Linkage::external ? !variable : !external || linkage == ir::Linkage::none)
      fail_duplicate(name);
  }

  // Compares the first declaration with the one among those from `index` on.
  void check_alike(const Token& name, std::size_t index) const {
    const auto known = find_variable(name.text, 0), variable = find_variable(name.text, index);
    if (known->space == variable->space && known->type == variable->type && known->count == variable->count)
      return;
    fail(name, "mismatched-declaration", std::string(name.text) + " was declared differently before",
         "make the declarations equal");
  }

  std::vector<ir::Variable>::const_iterator find_variable(std::string_view name, std::size_t first) const {
    return std::find_if(module_.variables.begin() + static_cast<std::ptrdiff_t>(first),
                        module_.variables.end(),
                        [&](const ir::Variable& variable) { return variable.name == name; });
  }

  [[noreturn]] static void fail_duplicate(const Token& name) {
    fail(name, "duplicate-name", std::string(name.text) + " is declared twice",
         "give one of them another name");
  }

  // Variables are printed before functions, so a function whose address a variable holds must be declared.
  void forward(const std::string& name) {
    const auto declares = [&](const ir::Function& function) { return function.name == name; };
    const auto found = std::find_if(module_.functions.begin(), module_.functions.end(), declares);
    if (found == module_.functions.end() || !found->defined) return;
    ir::Function declaration;
    static_cast<ir::Interface&>(declaration) = *found;
    declaration.name = found->name;
    declaration.entry = found->entry;
    declaration.defined = false;
    declaration.linkage = found->linkage;
    declaration.unified = found->unified;
    module_.functions.insert(found, std::move(declaration));
  }

  void function(ir::Linkage linkage) {
    ir::Function function;
    function.entry = in_.next().is(".entry");
    function.linkage = linkage;
    Token name;
    if (!opcodes_) opcodes_.emplace(*module_.specs, known_target(), module_.modes);
    const Surroundings around{.opcodes = *opcodes_,
                              .tokens = tokens_,
                              .globals = globals_,
                              .made = made_,
                              .registers_left = registers_left_,
                              .declare = [&](const Token& token) {
                                name = token;
                                const auto [known, added] =
                                    globals_.emplace(token.text, Place{ir::Space::code});
                                if (!added && known->second.space != ir::Space::code) fail_duplicate(token);
                              }};
    function.header = std::exchange(comments_, {});
    parse_function(in_, around, function, report_);
    skip_comments();
    try {
      check_again(name, function);
    } catch (SyntaxError& error) {
      report_.add(std::move(error.diagnostic));
    }
    declared_[name.text] = {function.linkage, function.defined};
    module_.functions.push_back(std::move(function));
  }

  // A function is declared with one linkage, which later declarations may omit, and only the last one has the
  // body. An .extern function has none.
  void check_again(const Token& name, const ir::Function& function) const {
    const std::string text(name.text);
    if (function.defined && function.linkage == ir::Linkage::external)
      fail(name, "mismatched-declaration", text + " is .extern, but has a body", "leave out .extern");
    const auto known = declared_.find(name.text);
    if (known == declared_.end()) return;
    const auto [linkage, defined] = known->second;
    if (defined) fail_duplicate(name);
    const bool external = linkage == ir::Linkage::external;
    if (function.linkage == linkage ? external && function.defined
                                    : external || function.linkage != ir::Linkage::none)
      fail(name, "mismatched-declaration", text + " was declared with another linkage before",
           "make the declarations equal");
  }

  std::optional<Target> known_target() const {
    try {
      return module_.specs->target(module_.target);
    } catch (const Error&) {
      return std::nullopt;  // reported by check()
    }
  }

  std::string_view ptx_;
  Lexer lexer_;
  Tokens tokens_;
  TokenStream in_;
  std::size_t next_comment_ = 0;       // index among the tokens' comments
  std::vector<std::string> comments_;  // for the next item
  std::string_view wanted_target_;
  ir::Module module_;
  Report report_;
  Globals globals_;
  std::deque<std::string> made_;    // names that do not occur in the text
  std::optional<Opcodes> opcodes_;  // for the target
  struct Declared {
    ir::Linkage linkage;
    bool defined;
  };
  std::unordered_map<std::string_view, Declared> declared_;  // functions, in their latest declaration
  std::unordered_set<std::uint32_t> file_indices_;
  bool has_version_ = false, after_target_ = false;
  std::size_t registers_left_;
};

}  // namespace
}  // namespace text

bool ParseResult::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::error; });
}

ParseResult parse(std::string_view ptx, std::shared_ptr<const Specs> specs, std::string_view target) {
  if (!specs) throw Error(ErrorKind::usage, "no-specs", "parse needs instruction specs");
  return text::ModuleParser(ptx, std::move(specs), target).run();
}

}  // namespace ptxloom
