// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "ptxloom/ptx.hpp"
#include "text/constant.hpp"
#include "text/debug.hpp"
#include "text/declarations.hpp"
#include "text/interface.hpp"
#include "text/parse_function.hpp"

namespace ptxloom {
namespace text {
namespace {

// No text that has a use for its registers declares more of them.
std::size_t most_registers(std::string_view ptx) { return (std::size_t{1} << 20) + ptx.size() / 4; }

class ModuleParser {
 public:
  ModuleParser(std::string_view ptx, std::shared_ptr<const Specs> specs, std::string_view target)
      : lexer_(ptx), in_(tokens_.tokens), wanted_target_(target), registers_left_(most_registers(ptx)) {
    module_.specs = std::move(specs);
    if (!target.empty()) module_.target = target;
  }

  ParseResult run() {
    bool more = lexer_.next(tokens_);
    for (const Comment& comment : tokens_.comments)
      if (comment.before == 0) module_.header.emplace_back(comment.text);
    if (!in_.peek().is(".version"))
      report_.add({.code = "syntax",
                   .message = "expected .version first, found " + quoted(in_.peek()),
                   .hint = "a module starts with .version 9.0, .target sm_90a and .address_size 64",
                   .line = in_.peek().line,
                   .column = in_.peek().column});
    for (; more; more = lexer_.next(tokens_)) directives();
    return {.module = std::move(module_), .diagnostics = report_.take()};
  }

 private:
  void directives() {
    in_.seek(0);
    while (!in_.at_end() && !report_.full()) {
      const std::size_t start = in_.position();
      try {
        directive();
      } catch (SyntaxError& error) {
        report_.add(std::move(error.diagnostic));
        recover(in_, start);
        if (in_.position() == start) in_.next();
      }
    }
  }

  void directive() {
    const Token& token = in_.peek();
    if (in_.accept(".version")) return version();
    if (in_.accept(".target")) return target();
    if (in_.accept(".address_size")) return address_size();
    if (in_.accept(".alias")) return alias();
    if (in_.accept(".pragma")) return pragma();
    if (token.is(".file")) return module_.files.push_back(read_file(in_));
    if (token.is(".section")) return module_.sections.push_back(read_section(in_));
    const ir::Linkage linkage = read_linkage(in_);
    if (in_.peek().is(".entry") || in_.peek().is(".func")) return function(linkage);
    if (starts_variable(in_.peek())) return variables(linkage);
    fail(token, "syntax", "expected a directive of a module, found " + quoted(token),
         ".version .target .address_size .entry .func .global .const .shared .alias .pragma .file .section");
  }

  void version() {
    const Token& number = in_.next();
    try {
      module_.version = parse_version(number.text);
    } catch (const Error&) {
      fail(number, "syntax", "expected a version of PTX, found " + quoted(number), "such as 9.0");
    }
  }

  void target() {
    const Token& name = in_.expect_word("a target");
    if (wanted_target_.empty()) module_.target = name.text;
    opcodes_.reset();
    while (in_.accept(",")) module_.modes.emplace_back(in_.expect_word("a mode of .target").text);
  }

  void address_size() {
    const Token& at = in_.peek();
    if (read_integer(in_) != 64) fail(at, "unsupported", "only .address_size 64 is supported");
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
      fail(name, "undefined-name", "no function is called " + std::string(name.text),
           "declare both functions before .alias");
    return std::string(name.text);
  }

  void variables(ir::Linkage linkage) {
    const Token& space = in_.peek();
    if (space.is(".param") || space.is(".local"))
      fail(space, "syntax", std::string(space.text) + " variables belong into functions");
    const std::size_t first = module_.variables.size();
    const VariableReader reader{.globals = globals_, .declare = [&](const Token& name, Place place) {
                                  return declare_variable(name, place);
                                }};
    read_variables(in_, linkage, reader, module_.variables);
    for (std::size_t i = first; i < module_.variables.size(); ++i)
      for (const ir::AddressValue& value : module_.variables[i].addresses) forward(value.name);
  }

  std::string declare_variable(const Token& name, Place place) {
    if (!globals_.emplace(name.text, place).second) fail_duplicate(name);
    return std::string(name.text);
  }

  [[noreturn]] static void fail_duplicate(const Token& name) {
    fail(name, "duplicate-name", std::string(name.text) + " is declared twice",
         "give one of them another name");
  }

  // Variables are printed before functions, so that a function whose address one of them holds must be
  // declared.
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
    if (!opcodes_) opcodes_.emplace(*module_.specs, known_target());
    const Surroundings around{.opcodes = *opcodes_,
                              .tokens = tokens_,
                              .globals = globals_,
                              .registers_left = registers_left_,
                              .declare = [&](const Token& token) {
                                name = token;
                                const auto [known, added] =
                                    globals_.emplace(token.text, Place{ir::Space::code});
                                if (!added && known->second.space != ir::Space::code) fail_duplicate(token);
                              }};
    parse_function(in_, around, function, report_);
    if (function.defined && !defined_.insert(name.text).second) report_duplicate(name);
    module_.functions.push_back(std::move(function));
  }

  void report_duplicate(const Token& name) {
    try {
      fail_duplicate(name);
    } catch (SyntaxError& error) {
      report_.add(std::move(error.diagnostic));
    }
  }

  std::optional<Target> known_target() const {
    try {
      return module_.specs->target(module_.target);
    } catch (const Error&) {
      return std::nullopt;  // check() says so
    }
  }

  Lexer lexer_;
  Tokens tokens_;
  TokenStream in_;
  std::string_view wanted_target_;
  ir::Module module_;
  Report report_;
  Globals globals_;
  std::optional<Opcodes> opcodes_;                // of the target
  std::unordered_set<std::string_view> defined_;  // functions with a body
  std::size_t registers_left_;
};

}  // namespace
}  // namespace text

bool ParseResult::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::error; });
}

ParseResult parse(std::string_view ptx, std::shared_ptr<const Specs> specs, std::string_view target) {
  if (!specs) throw Error(ErrorKind::usage, "no-specs", "parse needs the specs to read instructions with");
  return text::ModuleParser(ptx, std::move(specs), target).run();
}

}  // namespace ptxloom
