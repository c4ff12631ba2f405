// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "ptxloom/ptx.hpp"
#include "text/constant.hpp"
#include "text/declarations.hpp"
#include "text/parse_kernel.hpp"

namespace ptxloom {
namespace text {
namespace {

class ModuleParser {
 public:
  ModuleParser(const Tokens& tokens, std::shared_ptr<const Specs> specs, std::string_view target)
      : comments_(tokens.comments), in_(tokens.tokens), wanted_target_(target) {
    module_.specs = std::move(specs);
    if (!target.empty()) module_.target = target;
  }

  ParseResult run() {
    for (const Comment& comment : comments_)
      if (comment.before == 0) module_.header.emplace_back(comment.text);
    if (!in_.peek().is(".version"))
      report_.add({.code = "syntax",
                   .message = "expected .version first, found " + quoted(in_.peek()),
                   .hint = "a module starts with .version 9.0, .target sm_90a and .address_size 64",
                   .line = in_.peek().line,
                   .column = in_.peek().column});
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
    return {.module = std::move(module_), .diagnostics = report_.take()};
  }

 private:
  void directive() {
    if (skip_debug(in_)) return;
    const Token& token = in_.peek();
    if (token.is(".version")) return version();
    if (token.is(".target")) return target();
    if (token.is(".address_size")) return address_size();
    if (declares(".entry")) return entry();
    if (declares(".func"))
      fail(token, "unsupported", "functions (.func) are not supported",
           "inline them into the kernels that call them");
    if (starts_variable(token))
      return read_variables(in_, [&](const Token& name) { return global(name); }, module_.variables);
    fail(token, "syntax", "expected a directive of a module, found " + quoted(token),
         ".version .target .address_size .entry .global .shared .const");
  }

  // `.visible .entry`: the directive after what says how it is linked.
  bool declares(std::string_view what) {
    std::size_t ahead = 0;
    while (in_.peek(ahead).is(".visible") || in_.peek(ahead).is(".weak") || in_.peek(ahead).is(".extern"))
      ++ahead;
    return in_.peek(ahead).is(what);
  }

  void version() {
    in_.next();
    const Token& number = in_.next();
    try {
      module_.version = parse_version(number.text);
    } catch (const Error&) {
      fail(number, "syntax", "expected a version of PTX, found " + quoted(number), "such as 9.0");
    }
  }

  void target() {
    in_.next();
    const Token& name = in_.expect_word("a target");
    if (wanted_target_.empty()) module_.target = name.text;
    while (in_.accept(",")) {
      const Token& mode = in_.expect_word("a mode of .target");
      if (mode.is("texmode_independent")) fail(mode, "unsupported", "texmode_independent is not supported");
    }
  }

  void address_size() {
    in_.next();
    const Token& at = in_.peek();
    if (read_integer(in_) != 64) fail(at, "unsupported", "only .address_size 64 is supported");
  }

  std::string global(const Token& name) {
    if (!globals_.insert(name.text).second)
      fail(name, "duplicate-name", std::string(name.text) + " is declared twice",
           "give one of them another name");
    return std::string(name.text);
  }

  void entry() {
    while (!in_.accept(".entry")) in_.next();
    ir::Kernel kernel;
    const Surroundings around{
        .specs = *module_.specs, .target = known_target(), .globals = globals_, .comments = comments_};
    parse_kernel(in_, around, kernel, report_);
    module_.kernels.push_back(std::move(kernel));
  }

  std::optional<Target> known_target() const {
    try {
      return module_.specs->target(module_.target);
    } catch (const Error&) {
      return std::nullopt;  // check() says so
    }
  }

  const std::vector<Comment>& comments_;
  TokenStream in_;
  std::string_view wanted_target_;
  ir::Module module_;
  Report report_;
  std::unordered_set<std::string_view> globals_;
};

}  // namespace
}  // namespace text

bool ParseResult::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::error; });
}

ParseResult parse(std::string_view ptx, std::shared_ptr<const Specs> specs, std::string_view target) {
  if (!specs) throw Error(ErrorKind::usage, "no-specs", "parse needs the specs to read instructions with");
  const text::Tokens tokens = text::tokenize(ptx);
  return text::ModuleParser(tokens, std::move(specs), target).run();
}

}  // namespace ptxloom
