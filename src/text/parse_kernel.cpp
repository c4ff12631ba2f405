// SPDX-License-Identifier: Apache-2.0
#include "text/parse_kernel.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "ir/fit.hpp"
#include "text/constant.hpp"
#include "text/declarations.hpp"
#include "text/read_operands.hpp"
#include "text/scopes.hpp"

namespace ptxloom::text {
namespace {

constexpr std::size_t kDeepestScope = 64;

class KernelParser {
 public:
  KernelParser(TokenStream& in, const Surroundings& around, ir::Kernel& kernel, Report& report)
      : in_(in), around_(around), kernel_(kernel), report_(report), scopes_(kernel, around.globals) {}

  void run() {
    kernel_.name = in_.expect_word("a kernel's name").text;
    if (in_.accept("(")) parameters();
    while (!in_.peek().is("{")) directive();
    in_.next();
    const auto& comments = around_.comments;
    comment_ = std::lower_bound(comments.begin(), comments.end(), in_.position(),
                                [](const Comment& comment, std::size_t at) { return comment.before < at; });
    body();
  }

 private:
  // ---- header ----

  void parameters() {
    if (in_.accept(")")) return;
    do {
      ParameterToken read = read_parameter(in_);
      scopes_.declare_symbol(read.name);
      kernel_.parameters.push_back(std::move(read.parameter));
    } while (in_.accept(","));
    in_.expect(")");
  }

  std::uint32_t positive() {
    const Token& at = in_.peek();
    const std::int64_t value = read_integer(in_);
    if (value <= 0 || value > INT32_MAX)
      fail(at, "syntax", "expected a positive number, found " + quoted(at));
    return static_cast<std::uint32_t>(value);
  }

  std::array<std::uint32_t, 3> triple() {
    std::array<std::uint32_t, 3> n{1, 1, 1};
    n[0] = positive();
    if (in_.accept(",")) n[1] = positive();
    if (in_.accept(",")) n[2] = positive();
    return n;
  }

  void directive() {
    if (skip_debug(in_)) return;
    const Token& token = in_.expect_word("'{' or a directive of the kernel");
    if (token.is(".maxntid")) {
      kernel_.maxntid = triple();
    } else if (token.is(".reqntid")) {
      kernel_.reqntid = triple();
    } else if (token.is(".reqnctapercluster")) {
      kernel_.reqnctapercluster = triple();
    } else if (token.is(".minnctapersm")) {
      kernel_.minnctapersm = positive();
    } else if (token.is(".maxnreg")) {
      kernel_.maxnreg = positive();
    } else if (token.is(".maxclusterrank")) {
      kernel_.maxclusterrank = positive();
    } else if (token.is(".explicitcluster")) {
      kernel_.explicitcluster = true;
    } else {
      fail(
          token, "unsupported", "the directive " + std::string(token.text) + " is not supported",
          ".maxntid .reqntid .minnctapersm .maxnreg .reqnctapercluster .maxclusterrank .explicitcluster are");
    }
  }

  // ---- body ----

  void body() {
    open_scope();
    while (!in_.at_end() && !report_.full()) {
      take_comments();
      const std::size_t start = in_.position();
      if (in_.accept(";")) continue;
      if (in_.accept("}")) {
        scopes_.close();
        if (scopes_.depth() == 1) return;
        continue;
      }
      try {
        if (in_.accept("{")) {
          open_scope();
        } else {
          statement();
        }
      } catch (SyntaxError& error) {
        report_.add(std::move(error.diagnostic));
        recover(in_, start);
      }
    }
    if (!report_.full()) fail(in_.peek(), "syntax", "expected '}' to close the kernel " + kernel_.name);
  }

  // Labels may be used before they stand, so a scope's are declared when it opens.
  void open_scope() {
    if (scopes_.depth() > kDeepestScope) fail(in_.peek(), "syntax", "scopes are nested too deeply");
    scopes_.open();
    int depth = 0;
    for (std::size_t i = 0; in_.peek(i).kind != Token::Kind::end && depth >= 0 && !report_.full(); ++i) {
      if (in_.peek(i).is("{")) ++depth;
      if (in_.peek(i).is("}")) --depth;
      if (depth == 0 && is_label(i)) declare_label(in_.peek(i));
    }
  }

  void declare_label(const Token& token) {
    try {
      scopes_.declare_label(token);
    } catch (SyntaxError& error) {
      report_.add(std::move(error.diagnostic));
    }
  }

  bool is_label(std::size_t ahead) const {
    const Token& token = in_.peek(ahead);
    return token.is_word() && in_.peek(ahead + 1).is(":") && !token.text.starts_with('.');
  }

  void take_comments() {
    for (; comment_ != around_.comments.end() && comment_->before <= in_.position(); ++comment_) {
      kernel_.body.push_back(
          {ir::Statement::Kind::comment, static_cast<std::uint32_t>(kernel_.comments.size())});
      kernel_.comments.emplace_back(comment_->text);
    }
  }

  void statement() {
    const Token& token = in_.peek();
    if (is_label(0)) {
      const std::optional<Name> label = scopes_.find(token.text);
      in_.next();
      in_.next();
      if (label && label->kind == Name::Kind::label)
        kernel_.body.push_back({ir::Statement::Kind::label, label->index});
      return;
    }
    if (token.is(".reg")) {
      in_.next();
      return read_registers(in_, scopes_);
    }
    if (starts_variable(token))
      return read_variables(
          in_, [&](const Token& name) { return scopes_.declare_symbol(name); }, kernel_.variables);
    if (token.is(".pragma")) return pragma();
    if (skip_debug(in_)) return;
    if (token.text.starts_with('.'))
      fail(token, "unsupported", "the directive " + std::string(token.text) + " is not supported here");
    instruction();
  }

  // ptxas heeds some of them ("nounroll") where they stand.
  void pragma() {
    in_.next();
    std::string text;
    do {
      const Token& token = in_.next();
      if (token.kind != Token::Kind::string)
        fail(token, "syntax", "expected a string, found " + quoted(token));
      text += (text.empty() ? "" : ", ") + std::string(token.text);
    } while (in_.accept(","));
    in_.expect(";");
    kernel_.body.push_back({ir::Statement::Kind::pragma, static_cast<std::uint32_t>(kernel_.pragmas.size())});
    kernel_.pragmas.push_back(std::move(text));
  }

  // ---- instructions ----

  std::optional<ir::Guard> guard() {
    if (!in_.accept("@")) return std::nullopt;
    const bool negated = in_.accept("!");
    const Token& token = in_.expect_word("a predicate");
    const std::optional<Name> name = scopes_.find(token.text);
    if (!name || name->kind != Name::Kind::reg)
      fail(token, "undefined-name", "no predicate is called " + std::string(token.text),
           "declare it: .reg .pred " + std::string(token.text) + ";");
    return ir::Guard{.reg = {name->index}, .negated = negated};
  }

  void instruction() {
    const Token& start = in_.peek();
    const std::optional<ir::Guard> by = guard();
    const Token& opcode = in_.expect_word("an instruction");
    const std::span<const Variant> candidates = around_.specs.match(opcode.text);
    if (candidates.empty()) unknown(opcode);
    const std::uint32_t count = read_operands(candidates);
    const auto first = static_cast<std::uint32_t>(kernel_.operands.size()) - count;
    kernel_.body.push_back(
        {ir::Statement::Kind::instruction, static_cast<std::uint32_t>(kernel_.instructions.size())});
    kernel_.instructions.push_back({.variant = chosen_,
                                    .first_operand = first,
                                    .operand_count = count,
                                    .guard = by,
                                    .line = static_cast<std::uint32_t>(start.line),
                                    .column = static_cast<std::uint32_t>(start.column)});
    in_.expect(";");
  }

  [[noreturn]] void unknown(const Token& opcode) const {
    if (opcode.text == "call" || opcode.text.starts_with("call."))
      fail(opcode, "unsupported", "calls of functions are not supported", "inline the function");
    if (!around_.target) fail(opcode, "unknown-opcode", "no form has the opcode " + std::string(opcode.text));
    Diagnostic diagnostic = around_.specs.explain(opcode.text, *around_.target);
    diagnostic.line = opcode.line;
    diagnostic.column = opcode.column;
    throw SyntaxError{std::move(diagnostic)};
  }

  // Chooses the variant that reads the operands best: they fit, it is on the target, it is documented; else
  // the one whose operands fit furthest, for check() to say what is wrong. Returns how many operands it has.
  std::uint32_t read_operands(std::span<const Variant> candidates) {
    using Rank = std::tuple<bool, bool, bool, std::uint32_t>;
    OperandReader reader(kernel_, scopes_, in_);
    Rank best{};
    chosen_ = {};
    Variant in_place;  // whose operands are in the pool
    for (const Variant variant : candidates) {
      in_place = reader.read(variant) ? variant : Variant();
      if (!in_place) continue;
      const ir::Mismatch mismatch = ir::find_mismatch(kernel_, variant.operands(), reader.operands());
      const bool here = !around_.target || variant.since(*around_.target);
      const Rank rank{!mismatch, here, !variant.undocumented(), mismatch.operand};
      if (!chosen_ || rank > best) {
        chosen_ = variant;
        best = rank;
      }
      if (rank == Rank{true, true, true, 0}) break;
    }
    if (!chosen_) reader.fail_at_furthest();
    if (chosen_ != in_place) reader.read(chosen_);
    return static_cast<std::uint32_t>(reader.operands().size());
  }

  TokenStream& in_;
  const Surroundings& around_;
  ir::Kernel& kernel_;
  Report& report_;
  Scopes scopes_;
  std::vector<Comment>::const_iterator comment_;
  Variant chosen_;
};

}  // namespace

void parse_kernel(TokenStream& in, const Surroundings& around, ir::Kernel& kernel, Report& report) {
  KernelParser(in, around, kernel, report).run();
}

}  // namespace ptxloom::text
