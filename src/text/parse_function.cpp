// SPDX-License-Identifier: Apache-2.0
#include "text/parse_function.hpp"

#include <algorithm>

#include "text/debug.hpp"
#include "text/declarations.hpp"
#include "text/interface.hpp"
#include "text/read_call.hpp"

namespace ptxloom::text {
namespace {

constexpr std::size_t kDeepestScope = 64;

class FunctionParser {
 public:
  FunctionParser(TokenStream& in, const Surroundings& around, ir::Function& function, Report& report)
      : in_(in),
        around_(around),
        function_(function),
        report_(report),
        scopes_(function, around.globals, around.registers_left),
        instructions_(in, around.opcodes, function, scopes_) {}

  void run() {
    const auto& comments = around_.tokens.comments;
    comment_ = std::lower_bound(comments.begin(), comments.end(), in_.position(),
                                [](const Comment& comment, std::size_t at) { return comment.before < at; });
    head();
    if (!function_.entry) refuse_unnamed();
    read_directives(in_, function_);
    for (; comment_ != comments.end() && comment_->before <= in_.position(); ++comment_)
      function_.header.emplace_back(comment_->text);
    function_.defined = !in_.accept(";");
    if (!function_.defined) return;
    read_brace();  // the body is of the parameters' scope
    body();
  }

 private:
  void head() {
    const ir::Space space = function_.entry ? ir::Space::param : ir::Space::function;
    function_.unified = read_attributes(in_).unified;
    if (!function_.entry && in_.peek().is("(")) function_.results = read_results(in_, scopes_);
    const Token& name = in_.expect_new_name("a function's name");
    function_.name = name.text;
    around_.declare(name);
    if (in_.peek().is("(")) function_.parameters = read_parameters(in_, scopes_, space);
  }

  // A prototype and a kernel can have parameters called `_`.
  void refuse_unnamed() const {
    for (const auto* list : {&function_.results, &function_.parameters})
      for (const ir::Parameter& parameter : *list)
        if (parameter.name == "_")
          fail(in_.peek(), "syntax", "_ cannot be a parameter or result of a function", "write a name");
  }

  void body() {
    while (!in_.at_end() && !report_.full()) {
      take_comments();
      if (in_.accept("}")) {
        if (scopes_.depth() == 1) return;
        scopes_.close();
        continue;
      }
      const std::size_t start = in_.position();
      try {
        if (in_.peek().is("{")) {
          open_scope();
        } else {
          statement();
        }
      } catch (SyntaxError& error) {
        report_.add(std::move(error.diagnostic));
        recover(in_, start);
      }
    }
    if (!report_.full())
      fail(in_.peek(), "syntax", "expected '}' to close the function " + function_.name,
           "the end of the text is missing: is the file complete?");
  }

  void open_scope() {
    if (scopes_.depth() >= kDeepestScope) fail(in_.peek(), "syntax", "scopes are nested too deeply");
    scopes_.open();
    read_brace();
  }

  // Labels may be used before they are placed, so the labels of a scope are declared when it opens.
  void read_brace() {
    const auto& labels = around_.tokens.labels;
    const std::size_t scope = in_.position();
    in_.expect("{");
    auto label = std::lower_bound(labels.begin(), labels.end(), scope,
                                  [](const LabelSite& site, std::size_t at) { return site.scope < at; });
    for (; label != labels.end() && label->scope == scope; ++label) declare(around_.tokens.tokens[label->at]);
  }

  void declare(const Token& label) {
    if (label.text.find_first_of(".:") != label.text.npos) return;
    try {
      scopes_.declare_label(label);
    } catch (SyntaxError& error) {
      report_.add(std::move(error.diagnostic));
    }
  }

  void take_comments() {
    for (; comment_ != around_.tokens.comments.end() && comment_->before <= in_.position(); ++comment_)
      append(ir::Statement::Kind::comment, function_.comments, std::string(comment_->text));
  }

  template <class T>
  void append(ir::Statement::Kind kind, std::vector<T>& to, T what) {
    function_.body.push_back({kind, static_cast<std::uint32_t>(to.size())});
    to.push_back(std::move(what));
  }

  void statement() {
    const Token& token = in_.peek();
    refuse_old_debug(in_);
    if (token.is_directive()) return directive(token);
    if (token.is_word() && in_.peek(1).is(":")) return label();
    const std::optional<ir::Guard> guard = read_guard(in_, scopes_);
    if (!is_call(in_.peek())) return instructions_.read(token, guard);
    ir::Call call = read_call(in_, function_, scopes_);
    call.guard = guard;
    call.line = static_cast<std::uint32_t>(token.line);
    call.column = static_cast<std::uint32_t>(token.column);
    append(ir::Statement::Kind::call, function_.calls, std::move(call));
  }

  void label() {
    const Token& name = in_.expect_new_name("a label");
    in_.next();
    const std::optional<Name> label = scopes_.find(name.text);
    if (!label || label->kind != Name::Kind::label) return;  // reported where it was declared
    if (in_.accept(".callprototype")) {
      ir::Prototype prototype = read_prototype(in_);
      prototype.label = label->index;
      append(ir::Statement::Kind::prototype, function_.prototypes, std::move(prototype));
    } else if (in_.peek().is(".branchtargets") || in_.peek().is(".calltargets")) {
      append(ir::Statement::Kind::targets, function_.targets, read_targets(in_, scopes_, label->index));
    } else {
      function_.body.push_back({ir::Statement::Kind::label, label->index});
    }
  }

  void directive(const Token& token) {
    if (in_.accept(".reg")) {
      read_registers(in_, scopes_);
    } else if (token.is(".loc") || token.is(".loc_intermediate")) {
      append(ir::Statement::Kind::location, function_.locations, read_location(in_));
    } else if (in_.accept(".pragma")) {
      append(ir::Statement::Kind::pragma, function_.pragmas, read_pragmas(in_));
      in_.expect(";");
    } else {
      if (!starts_variable(token))
        fail(token, "syntax", "expected a statement, found " + quoted(token),
             "directives in a function: .reg .local .shared .param .global .const .pragma .loc "
             ".loc_intermediate");
      const VariableReader reader{
          .globals = around_.globals, .made = around_.made, .declare = [&](const Token& name, Place place) {
            return scopes_.declare_symbol(name, place);
          }};
      read_variables(in_, ir::Linkage::none, reader, function_.variables);
    }
  }

  TokenStream& in_;
  const Surroundings& around_;
  ir::Function& function_;
  Report& report_;
  Scopes scopes_;
  InstructionReader instructions_;
  std::vector<Comment>::const_iterator comment_;
};

}  // namespace

void parse_function(TokenStream& in, const Surroundings& around, ir::Function& function, Report& report) {
  FunctionParser(in, around, function, report).run();
}

}  // namespace ptxloom::text
