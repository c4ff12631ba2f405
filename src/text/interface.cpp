// SPDX-License-Identifier: Apache-2.0
#include "text/interface.hpp"

#include <array>
#include <functional>
#include <limits>

#include "text/constant.hpp"
#include "text/debug.hpp"
#include "text/declarations.hpp"

namespace ptxloom::text {
namespace {

struct ParameterToken {
  ir::Parameter parameter;
  bool in_register = false;
  Token name;
};

void read_pointer(TokenStream& in, ir::Parameter& parameter) {
  parameter.pointer = accept_space(in).value_or(ir::Space::generic);
  parameter.alignment = in.accept(".align") ? read_alignment(in) : 0;
}

void read_extent(TokenStream& in, ParameterToken& read) {
  const std::vector<std::uint64_t> dimensions = read_dimensions(in);
  if (dimensions.empty()) return;
  read.parameter.unsized = dimensions[0] == 0;
  if (dimensions.size() > 1 || dimensions[0] > std::numeric_limits<std::uint16_t>::max())
    fail(read.name, "bad-size", "a parameter is an array of one dimension and 65535 elements at most");
  read.parameter.count = static_cast<std::uint32_t>(dimensions[0]);
}

ParameterToken read_parameter(TokenStream& in) {
  ParameterToken read;
  read.in_register = in.accept(".reg");
  if (!read.in_register) in.expect(".param");
  if (in.accept(".align")) read.parameter.alignment = read_alignment(in);
  const Token& type = in.peek();
  read.parameter.type = read_type(in);
  if (read.parameter.type == pred && !read.in_register)
    fail(type, "syntax", "a predicate cannot be stored: it is passed in a register only");
  if (in.accept(".ptr")) read_pointer(in, read.parameter);
  read.name = in.expect_name("a name");
  if (!read.in_register) read_extent(in, read);
  return read;
}

std::vector<ir::Parameter> read_list(TokenStream& in, const std::function<void(ParameterToken&)>& declare) {
  std::vector<ir::Parameter> parameters;
  in.expect("(");
  if (in.accept(")")) return parameters;
  do {
    ParameterToken read = read_parameter(in);
    declare(read);
    parameters.push_back(std::move(read.parameter));
  } while (in.accept(","));
  in.expect(")");
  return parameters;
}

// `_` or a name, both without meaning.
std::vector<ir::Parameter> read_unnamed(TokenStream& in) {
  return read_list(in, [](ParameterToken& read) {
    read.parameter.name = read.name.text;
    if (read.in_register) read.parameter.reg.emplace();
  });
}

std::uint32_t read_number(TokenStream& in) {
  const Token& at = in.peek();
  const std::int64_t value = read_integer(in);
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
    fail(at, "syntax", "expected a number that is not negative, found " + quoted(at));
  return static_cast<std::uint32_t>(value);
}

std::uint32_t read_positive(TokenStream& in) {
  const Token& at = in.peek();
  const std::uint32_t value = read_number(in);
  if (value == 0) fail(at, "syntax", "expected a positive number, found " + quoted(at));
  return value;
}

std::array<std::uint32_t, 3> read_triple(TokenStream& in) {
  std::array<std::uint32_t, 3> n{1, 1, 1};
  n[0] = read_positive(in);
  if (in.accept(",")) n[1] = read_positive(in);
  if (in.accept(",")) n[2] = read_positive(in);
  return n;
}

// Directives of functions and prototypes alike; false for any other.
bool read_call_directive(TokenStream& in, ir::Interface& interface) {
  if (in.accept(".noreturn")) {
    interface.noreturn = true;
  } else if (in.accept(".abi_preserve")) {
    interface.abi_preserve = read_number(in);
  } else if (in.accept(".abi_preserve_control")) {
    interface.abi_preserve_control = read_number(in);
  } else {
    return false;
  }
  return true;
}

bool read_launch_directive(TokenStream& in, ir::Function& function) {
  if (in.accept(".maxntid")) {
    function.maxntid = read_triple(in);
  } else if (in.accept(".reqntid")) {
    function.reqntid = read_triple(in);
  } else if (in.accept(".reqnctapercluster")) {
    function.reqnctapercluster = read_triple(in);
  } else if (in.accept(".minnctapersm")) {
    function.minnctapersm = read_positive(in);
  } else if (in.accept(".maxnreg")) {
    function.maxnreg = read_positive(in);
  } else if (in.accept(".maxclusterrank")) {
    function.maxclusterrank = read_positive(in);
  } else if (in.accept(".explicitcluster")) {
    function.explicitcluster = true;
  } else if (in.accept(".blocksareclusters")) {
    function.blocksareclusters = true;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::vector<ir::Parameter> read_parameters(TokenStream& in, Scopes& scopes, ir::Space space) {
  return read_list(in, [&](ParameterToken& read) {
    if (!read.in_register) {
      read.parameter.name =
          scopes.declare_symbol(read.name, {space, static_cast<std::uint32_t>(read.parameter.type.bytes())});
    } else if (space == ir::Space::param) {
      fail(read.name, "syntax", "a parameter of an entry is in .param, not in a register");
    } else {
      read.parameter.reg = scopes.declare_register(read.name, read.parameter.type);
      read.parameter.name = read.name.text;
    }
  });
}

ir::Prototype read_prototype(TokenStream& in) {
  ir::Prototype prototype;
  if (in.peek().is("(")) prototype.results = read_unnamed(in);
  in.expect_name("_");
  if (in.peek().is("(")) prototype.parameters = read_unnamed(in);
  while (read_call_directive(in, prototype)) {
  }
  in.expect(";");
  return prototype;
}

void read_directives(TokenStream& in, ir::Function& function) {
  while (!in.peek().is("{") && !in.peek().is(";")) {
    const Token& token = in.peek();
    if (token.is(".pragma")) {
      in.next();
      function.header_pragmas.push_back(read_pragmas(in));
      in.expect(";");
    } else if (!(function.entry ? read_launch_directive(in, function) : read_call_directive(in, function))) {
      fail(token, "syntax", "expected '{' or a directive of the function, found " + quoted(token),
           function.entry ? ".maxntid .reqntid .minnctapersm .maxnreg .reqnctapercluster .maxclusterrank "
                            ".explicitcluster .blocksareclusters .pragma"
                          : ".noreturn .abi_preserve .abi_preserve_control .pragma");
    }
  }
}

std::string read_pragmas(TokenStream& in) {
  std::string text;
  do {
    const Token& token = in.peek();
    if (token.kind != Token::Kind::string || token.text.size() < 2 || token.text.back() != '"')
      fail(token, "syntax", "expected a string, found " + quoted(token), ".pragma \"nounroll\";");
    text.append(text.empty() ? "" : ", ").append(in.next().text);
  } while (in.accept(","));
  return text;
}

}  // namespace ptxloom::text
