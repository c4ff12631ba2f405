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

constexpr std::uint64_t kMostElements = 1 << 24;

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
  if (dimensions.size() > 1 || dimensions[0] > kMostElements)
    fail(read.name, "bad-size", "an array parameter has one dimension and at most 2^24 elements");
  read.parameter.count = static_cast<std::uint32_t>(dimensions[0]);
}

ParameterToken read_parameter(TokenStream& in) {
  ParameterToken read;
  read.in_register = in.accept(".reg");
  if (!read.in_register) in.expect(".param");
  if (in.accept(".align")) read.parameter.alignment = read_alignment(in);
  const Token type = in.peek();
  if (read.in_register && (type.is(".v2") || type.is(".v4")))
    fail(type, "unsupported", "a vector register as a parameter or result of a function is not supported",
         "pass its elements, each in a register, or all in an array in .param");
  read.parameter.type = read_type(in);
  if (read.parameter.type == pred && !read.in_register)
    fail(type, "syntax", "a predicate can only be passed in a register");
  if (in.accept(".ptr")) read_pointer(in, read.parameter);
  read.name = in.expect_name("a name");
  if (!read.in_register) read_extent(in, read);
  const bool array = read.parameter.count != 0 || read.parameter.unsized;
  if (read.parameter.type == f16x2 && !read.in_register && !array)
    fail(type, "syntax", "a parameter of type .f16x2 must be an array", "use .b32");
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

void check_parameters(const Token& at, const std::vector<ir::Parameter>& parameters, bool entry) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].unsized && (entry || i + 1 < parameters.size()))
      fail(at, "bad-size", parameters[i].name + "[] needs a size",
           "give a size: only the last parameter of a .func may have none");
  }
}

void check_results(const Token& at, const std::vector<ir::Parameter>& results) {
  for (const ir::Parameter& result : results) {
    if (result.unsized) fail(at, "bad-size", result.name + "[] needs a size");
    if (results.size() > 1 && !result.reg)
      fail(at, "syntax", "several results can only be returned in registers", ".reg .b32 " + result.name);
  }
}

// `_` or a name, neither of which has a meaning.
std::vector<ir::Parameter> read_unnamed(TokenStream& in) {
  return read_list(in, [](ParameterToken& read) {
    read.parameter.name = read.name.text;
    if (read.in_register) read.parameter.reg.emplace();
  });
}

std::uint32_t read_positive(TokenStream& in) {
  const Token& at = in.peek();
  const std::uint32_t value = read_u32(in);
  if (value == 0) fail(at, "syntax", "expected a positive number, found " + quoted(at));
  return value;
}

std::array<std::uint32_t, 3> read_triple(TokenStream& in, std::uint32_t (*read)(TokenStream&)) {
  std::array<std::uint32_t, 3> n{1, 1, 1};
  n[0] = read(in);
  if (in.accept(",")) n[1] = read(in);
  if (in.accept(",")) n[2] = read(in);
  return n;
}

// Directives that functions and prototypes share; false for any other.
bool read_call_directive(TokenStream& in, ir::Interface& interface) {
  if (const Token& at = in.peek(); !interface.noreturn && in.accept(".noreturn")) {
    if (!interface.results.empty())
      fail(at, "syntax", "a function that returns a result cannot be .noreturn");
    interface.noreturn = true;
  } else if (in.accept(".abi_preserve")) {
    interface.abi_preserve = read_u32(in);
  } else if (in.accept(".abi_preserve_control")) {
    interface.abi_preserve_control = read_u32(in);
  } else {
    return false;
  }
  return true;
}

bool read_launch_directive(TokenStream& in, ir::Function& function) {
  if (in.accept(".maxntid")) {
    function.maxntid = read_triple(in, read_positive);
  } else if (in.accept(".reqntid")) {
    function.reqntid = read_triple(in, read_positive);
  } else if (in.accept(".reqnctapercluster")) {
    function.reqnctapercluster = read_triple(in, read_u32);  // 0 is accepted
  } else if (in.accept(".minnctapersm")) {
    function.minnctapersm = read_positive(in);
  } else if (in.accept(".maxnreg")) {
    function.maxnreg = read_positive(in);
  } else if (in.accept(".maxclusterrank")) {
    function.maxclusterrank = read_u32(in);
  } else if (in.accept(".minperctamemory")) {
    function.minperctamemory = read_u32(in);  // 0 is accepted, and is as if it were absent
  } else if (in.accept(".explicitcluster")) {
    function.explicitcluster = true;
  } else if (in.accept(".blocksareclusters")) {
    function.blocksareclusters = true;
  } else {
    return false;
  }
  return true;
}

// `.language 5, "CUDA C++"`: the last of several directives counts. That of a function ends its directives.
bool read_language(TokenStream& in, ir::Function& function) {
  if (!function.entry && !function.languages.empty()) return false;
  if (!in.accept(".language")) return false;
  function.languages.clear();
  do {
    const bool name = in.peek().kind == Token::Kind::string;
    function.languages.push_back(name ? std::string(in.next().text) : std::to_string(read_u32(in)));
  } while (in.accept(","));
  return true;
}

// Directives of a function after its `.language` would be.
bool read_directive(TokenStream& in, ir::Function& function) {
  if (read_language(in, function)) return true;
  if (function.entry) return read_launch_directive(in, function);
  return function.languages.empty() && read_call_directive(in, function);
}

}  // namespace

std::vector<ir::Parameter> read_parameters(TokenStream& in, Scopes& scopes, ir::Space space) {
  const Token& at = in.peek();
  std::vector<ir::Parameter> parameters = read_list(in, [&](ParameterToken& read) {
    const Type& type = read.parameter.type;
    if (space != ir::Space::param && (type == texref || type == samplerref || type == surfref))
      fail(read.name, "syntax", "a ." + std::string(type.name) + " can only be passed to an .entry",
           "pass its address in a .b64");
    if (read.parameter.pointer && space != ir::Space::param)
      fail(read.name, "syntax", "only the parameters of an .entry can have .ptr");
    if (!read.in_register) {
      const bool array = read.parameter.count != 0 || read.parameter.unsized;
      const auto bytes = static_cast<std::uint32_t>(read.parameter.type.whole_bytes());
      read.parameter.name = scopes.declare_symbol(read.name, {space, array ? bytes : 0});
    } else if (space == ir::Space::param) {
      fail(read.name, "syntax", "a parameter of an .entry must be in .param, not in a register");
    } else {
      read.parameter.reg = scopes.declare_register(read.name, read.parameter.type);
      read.parameter.name = read.name.text;
    }
  });
  check_parameters(at, parameters, space == ir::Space::param);
  return parameters;
}

std::vector<ir::Parameter> read_results(TokenStream& in, Scopes& scopes) {
  const Token& at = in.peek();
  std::vector<ir::Parameter> results = read_parameters(in, scopes, ir::Space::function);
  check_results(at, results);
  return results;
}

ir::Prototype read_prototype(TokenStream& in) {
  ir::Prototype prototype;
  const Token& results = in.peek();
  if (results.is("(")) prototype.results = read_unnamed(in);
  check_results(results, prototype.results);
  in.expect_name("_");
  const Token& parameters = in.peek();
  if (parameters.is("(")) prototype.parameters = read_unnamed(in);
  check_parameters(parameters, prototype.parameters, false);
  while (read_call_directive(in, prototype)) {
  }
  in.expect(";");
  return prototype;
}

void read_directives(TokenStream& in, ir::Function& function) {
  bool of_body = false;  // there are directives that only a function with a body has
  while (!in.peek().is("{") && !in.peek().is(";")) {
    const Token& token = in.peek();
    if (function.entry && in.accept(".pragma")) {
      function.header_pragmas.push_back(read_pragmas(in));
      in.expect(";");
    } else if (!read_directive(in, function)) {
      fail(token, "syntax", "expected '{' or a directive of the function, found " + quoted(token),
           function.entry ? ".maxntid .reqntid .minnctapersm .maxnreg .reqnctapercluster .maxclusterrank "
                            ".minperctamemory .explicitcluster .blocksareclusters .language .pragma"
                          : ".noreturn .abi_preserve .abi_preserve_control .language");
    }
    of_body = function.entry || !function.languages.empty();
  }
  if (of_body && in.peek().is(";"))
    fail(in.peek(), "syntax", "expected '{', for a declaration has no such directive, found ';'");
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
