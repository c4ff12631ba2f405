// SPDX-License-Identifier: Apache-2.0
#include "text/declarations.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "text/constant.hpp"

namespace ptxloom::text {
namespace {

constexpr std::array<std::pair<std::string_view, ir::Space>, 4> kSpaces{{{".global", ir::Space::global},
                                                                         {".shared", ir::Space::shared},
                                                                         {".local", ir::Space::local},
                                                                         {".const", ir::Space::constant}}};
constexpr std::array<std::string_view, 4> kLinking{".extern", ".visible", ".weak", ".common"};
constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;  // bytes of a variable

std::optional<ir::Space> accept_space(TokenStream& in) {
  for (const auto& [word, space] : kSpaces)
    if (in.accept(word)) return space;
  return std::nullopt;
}

// The fundamental types (PTX ISA, "Types"); all others are only types of instructions.
constexpr std::array kDeclarable{b8, b16, b32, b64, b128, u8,    u16, u32, u64,
                                 s8, s16, s32, s64, f16,  f16x2, f32, f64, pred};

Type read_type(TokenStream& in) {
  const Token& token = in.expect_word("a type");
  const auto found = std::find_if(kDeclarable.begin(), kDeclarable.end(), [&](const Type& type) {
    return token.text.starts_with('.') && token.text.substr(1) == type.name;
  });
  if (found != kDeclarable.end()) return *found;
  fail(token, "syntax", "expected a type, found " + quoted(token),
       "declarations take .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, .f16x2, .f32, .f64 and .pred");
}

// `.v2` or `.v4` before the type of a variable: 1 where there is none.
std::uint64_t accept_vector(TokenStream& in) {
  if (in.accept(".v2")) return 2;
  return in.accept(".v4") ? 4 : 1;
}

std::uint32_t read_alignment(TokenStream& in) {
  const Token& at = in.peek();
  const std::int64_t bytes = read_integer(in);
  if (bytes <= 0 || bytes > 1 << 20 || (bytes & (bytes - 1)) != 0)
    fail(at, "bad-alignment", "an alignment is a power of two", "1, 2, 4, 8, 16 ...");
  return static_cast<std::uint32_t>(bytes);
}

// The product of `[2][3]`; `[]` gives 0, no brackets nothing.
std::optional<std::uint64_t> read_dimensions(TokenStream& in) {
  std::optional<std::uint64_t> count;
  while (in.accept("[")) {
    if (in.accept("]")) {
      count = 0;
      continue;
    }
    const Token& at = in.peek();
    const std::int64_t n = read_integer(in);
    const std::uint64_t before = count.value_or(1);
    if (n <= 0 || static_cast<std::uint64_t>(n) > kLargest / std::max<std::uint64_t>(before, 1))
      fail(at, "bad-size", "an array has a positive number of elements");
    count = before * static_cast<std::uint64_t>(n);
    in.expect("]");
  }
  return count;
}

void append_bytes(std::vector<std::uint8_t>& bytes, std::uint64_t bits, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(bits >> 8 * i & 0xFF));
}

void read_element(TokenStream& in, const Type& type, std::vector<std::uint8_t>& bytes) {
  const Token& at = in.peek();
  if (!starts_constant(at))
    fail(at, "unsupported", "an initial value must be a constant here, found " + quoted(at),
         "store addresses at run time");
  Constant value = read_constant(in);
  if (type == f32) value = Constant::of(static_cast<float>(value.as_double()));
  if (type == f64) value = Constant::of(value.as_double());
  if (value.is_float() != type.is_float())
    fail(at, "operand-literal", "this constant is no value of ." + std::string(type.name));
  append_bytes(bytes, static_cast<std::uint64_t>(value.bits), type.bytes());
}

void read_elements(TokenStream& in, const Type& type, int depth, std::vector<std::uint8_t>& bytes) {
  if (!in.accept("{")) return read_element(in, type, bytes);
  constexpr int kDeepest = 8;
  if (depth > kDeepest) fail(in.peek(), "syntax", "an initial value is nested too deeply");
  do read_elements(in, type, depth + 1, bytes);
  while (in.accept(","));
  in.expect("}");
}

void read_initial(TokenStream& in, ir::Variable& variable) {
  const Token& at = in.peek();
  read_elements(in, variable.type, 0, variable.initial);
  const std::uint64_t given = variable.initial.size() / static_cast<std::uint64_t>(variable.type.bytes());
  if (variable.count == 0) variable.count = given;
  if (given > variable.count)
    fail(at, "bad-size",
         std::to_string(given) + " initial values for " + std::to_string(variable.count) + " elements");
}

}  // namespace

bool starts_variable(const Token& token) {
  return std::any_of(kSpaces.begin(), kSpaces.end(),
                     [&](const auto& space) { return token.is(space.first); }) ||
         std::any_of(kLinking.begin(), kLinking.end(), [&](std::string_view word) { return token.is(word); });
}

void read_variables(TokenStream& in, const std::function<std::string(const Token&)>& name,
                    std::vector<ir::Variable>& out) {
  ir::Variable common;
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view word : kLinking)
      if (in.accept(word)) {
        more = true;
        common.external = common.external || word == ".extern";
      }
  }
  const Token& at = in.peek();
  const std::optional<ir::Space> space = accept_space(in);
  if (!space)
    fail(at, "syntax", "expected a state space, found " + quoted(at), ".global .shared .const .local");
  common.space = *space;
  if (in.accept(".align")) common.alignment = read_alignment(in);
  const std::uint64_t vector = accept_vector(in);
  common.type = read_type(in);
  if (vector > 1)
    common.alignment = std::max(common.alignment, static_cast<std::uint32_t>(vector) *
                                                      static_cast<std::uint32_t>(common.type.bytes()));
  do {
    ir::Variable variable = common;
    const Token& token = in.expect_word("a name");
    const std::optional<std::uint64_t> count = read_dimensions(in);
    variable.count = count.value_or(1) * vector;
    if (in.accept("=")) read_initial(in, variable);
    if (variable.count == 0 && !variable.external)
      fail(token, "bad-size", std::string(token.text) + "[] needs a size",
           "only .extern arrays get theirs at launch");
    variable.name = name(token);
    out.push_back(std::move(variable));
  } while (in.accept(","));
  in.expect(";");
}

ParameterToken read_parameter(TokenStream& in) {
  in.expect(".param");
  ir::Parameter parameter;
  if (in.accept(".align")) parameter.alignment = read_alignment(in);
  parameter.type = read_type(in);
  if (in.accept(".ptr")) {
    parameter.pointer = accept_space(in);  // a generic pointer is a plain number to us
    const std::uint32_t pointee = in.accept(".align") ? read_alignment(in) : 0;
    if (parameter.pointer) parameter.alignment = pointee;
  }
  const Token name = in.expect_word("a name");
  const std::optional<std::uint64_t> count = read_dimensions(in);
  if (count && (*count == 0 || *count > std::numeric_limits<std::uint16_t>::max()))
    fail(name, "bad-size", "a parameter is an array of 1 to 65535 elements");
  parameter.name = name.text;
  parameter.count = static_cast<std::uint32_t>(count.value_or(0));
  return {std::move(parameter), name};
}

void read_registers(TokenStream& in, Scopes& scopes) {
  if (const Token& at = in.peek(); at.is(".v2") || at.is(".v4"))
    fail(at, "unsupported", "vector registers are not supported", "declare as many scalar registers");
  const Type type = read_type(in);
  do {
    const Token name = in.expect_word("a register's name");
    if (!in.accept("<")) {
      scopes.declare_register(name, type);
      continue;
    }
    const std::int64_t count = read_count(in);
    in.expect(">");
    scopes.declare_registers(name, type, count);
  } while (in.accept(","));
  in.expect(";");
}

}  // namespace ptxloom::text
