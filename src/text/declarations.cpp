// SPDX-License-Identifier: Apache-2.0
#include "text/declarations.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/storage.hpp"
#include "text/constant.hpp"
#include "text/initial.hpp"

namespace ptxloom::text {
namespace {

using ir::is_opaque;
using ir::kDeclarable;

constexpr std::array<std::pair<std::string_view, ir::Space>, 5> kSpaces{{{".global", ir::Space::global},
                                                                         {".shared", ir::Space::shared},
                                                                         {".local", ir::Space::local},
                                                                         {".const", ir::Space::constant},
                                                                         {".param", ir::Space::function}}};
constexpr std::array<std::pair<std::string_view, ir::Linkage>, 4> kLinkages{
    {{".visible", ir::Linkage::visible},
     {".extern", ir::Linkage::external},
     {".weak", ir::Linkage::weak},
     {".common", ir::Linkage::common}}};
constexpr std::size_t kMostDimensions = 32;                 // initial values nest as deep
constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;  // bytes per variable
constexpr std::int64_t kMostNumbered = 100'000;             // variables of a module declared as v<4>

// `.v2 .f32` or `.f32`.
struct VectorType {
  Type type;
  std::uint32_t elements = 1;
};
VectorType read_vector_type(TokenStream& in) {
  constexpr int kMostBits = 128;
  VectorType read;
  if (in.accept(".v2")) {
    read.elements = 2;
  } else if (in.accept(".v4")) {
    read.elements = 4;
  }
  const Token& at = in.peek();
  read.type = read_type(in);
  if (read.elements > 1 && read.type.bits * static_cast<int>(read.elements) > kMostBits)
    fail(at, "bad-size", "a vector has at most 128 bits");
  return read;
}

// The part of the declaration before the names.
struct Common {
  ir::Variable variable;
  std::uint32_t vector = 1;
};

// What only variables in .global can be.
void refuse_outside_global(const ir::Variable& variable, const Token& at) {
  const std::string_view what = variable.managed                          ? ".managed"
                                : variable.unified                        ? ".unified"
                                : variable.linkage == ir::Linkage::common ? ".common"
                                : is_opaque(variable.type)                ? "textures and surfaces"
                                                                          : "";
  if (!what.empty()) fail(at, "syntax", "only .global variables can be " + std::string(what));
}

Common read_common(TokenStream& in, ir::Linkage linkage) {
  Common common{.variable = {.name = {}, .linkage = linkage}};
  const Token& at = in.peek();
  const std::optional<ir::Space> space = accept_space(in);
  if (!space)
    fail(at, "syntax", "expected a state space, found " + quoted(at), ".global .shared .const .local .param");
  common.variable.space = *space;
  if (in.peek().is("["))
    fail(in.peek(), "unsupported", "numbered banks of .const are not supported since PTX 2.2");
  const Attributes attributes = read_attributes(in);
  common.variable.managed = attributes.managed;
  common.variable.unified = attributes.unified;
  if (in.accept(".align")) common.variable.alignment = read_alignment(in);
  const Token& type = in.peek();
  const VectorType read = read_vector_type(in);
  common.variable.type = read.type;
  common.vector = read.elements;
  if (*space == ir::Space::function && is_opaque(read.type))
    fail(type, "syntax", "a .param variable cannot have the type ." + std::string(read.type.name),
         "use .b32 or .b64");
  if (*space != ir::Space::global) refuse_outside_global(common.variable, type);
  if (common.variable.type == pred)
    fail(type, "syntax", "a predicate can only be a register", "declare it with .reg");
  if (common.vector > 1)
    common.variable.alignment =
        std::max(common.variable.alignment,
                 common.vector * static_cast<std::uint32_t>(common.variable.type.whole_bytes()));
  return common;
}

std::uint64_t product(const Token& at, const std::vector<std::uint64_t>& dimensions) {
  std::uint64_t count = 1;
  for (const std::uint64_t n : dimensions) {
    if (n > kLargest / std::max<std::uint64_t>(count, 1)) fail(at, "bad-size", "an array is too large");
    count *= n;
  }
  return count;
}

// What a .param variable that is no array cannot be.
void refuse_scalar(const Token& name, const ir::Variable& variable, std::uint32_t vector) {
  if (variable.space != ir::Space::function) return;
  if (vector > 1)
    fail(name, "syntax", "a .param variable cannot be a vector",
         "declare an array: " + std::string(name.text) + "[4]");
  if (variable.type == f16x2)
    fail(name, "syntax", "a .param variable of type .f16x2 must be an array", "use .b32");
}

// What follows `v<`: as many variables, v0, v1 ..., which are neither arrays nor have initial values.
void read_numbered(TokenStream& in, const Token& stem, const Common& common, const VariableReader& reader,
                   std::vector<ir::Variable>& out) {
  const std::int64_t count = read_count(in);
  in.expect(">");
  const std::int64_t left = kMostNumbered - static_cast<std::int64_t>(reader.made.size());
  if (count < 0 || count > left)
    fail(stem, "bad-size",
         "a module can have " + std::to_string(kMostNumbered) + " variables declared as v<4> in all: 0 to " +
             std::to_string(left) + " here",
         "declare an array: " + std::string(stem.text) + "[4]");
  refuse_scalar(stem, common.variable, common.vector);
  for (std::int64_t i = 0; i < count; ++i) {
    Token name = stem;
    name.text = reader.made.emplace_back(std::string(stem.text) + std::to_string(i));
    ir::Variable& variable = out.emplace_back(common.variable);
    variable.count = common.vector;
    variable.name = reader.declare(name, {variable.space, 0});
  }
}

void read_initial(TokenStream& in, const Token& name, const Shape& shape, const Globals& globals,
                  ir::Variable& variable) {
  const bool storable = variable.space == ir::Space::global || variable.space == ir::Space::constant;
  if (!storable || variable.linkage == ir::Linkage::external)
    fail(name, "syntax", std::string(name.text) + " cannot have an initial value",
         "only .global and .const variables that are not .extern can");
  if (is_opaque(variable.type)) {
    variable.fields = read_fields(in);
  } else {
    read_initial_values(in, shape, globals, variable);
  }
}

}  // namespace

Type read_type(TokenStream& in) {
  const Token& token = in.expect_word("a type");
  const auto found = std::find_if(kDeclarable.begin(), kDeclarable.end(), [&](const Type& type) {
    return token.is_directive() && token.text.substr(1) == type.name;
  });
  if (found != kDeclarable.end()) return *found;
  fail(token, "syntax", "expected a type, found " + quoted(token),
       "declarations take .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, .f16x2, .f32, .f64, .pred, .texref, "
       ".samplerref and .surfref");
}

std::uint32_t read_alignment(TokenStream& in) {
  const Token& at = in.peek();
  const std::int64_t bytes = read_count(in);
  if (bytes <= 0 || bytes > ir::kMostAlignment || (bytes & (bytes - 1)) != 0)
    fail(at, "bad-alignment",
         "an alignment must be a power of two, at most " + std::to_string(ir::kMostAlignment),
         "1, 2, 4, 8, 16 ...");
  return static_cast<std::uint32_t>(bytes);
}

std::vector<std::uint64_t> read_dimensions(TokenStream& in) {
  std::vector<std::uint64_t> dimensions;
  while (in.accept("[")) {
    const Token& at = in.peek();
    if (dimensions.size() == kMostDimensions) fail(at, "bad-size", "an array has too many dimensions");
    if (dimensions.empty() && in.accept("]")) {
      dimensions.push_back(0);
      continue;
    }
    const std::int64_t n = read_count(in);
    const std::int64_t least = dimensions.empty() ? 0 : 1;  // [0] is []
    if (n < least || static_cast<std::uint64_t>(n) > kLargest)
      fail(at, "bad-size", "an array must have at least one element");
    dimensions.push_back(static_cast<std::uint64_t>(n));
    in.expect("]");
  }
  return dimensions;
}

ir::Linkage read_linkage(TokenStream& in) {
  for (const auto& [word, linkage] : kLinkages)
    if (in.accept(word)) return linkage;
  return ir::Linkage::none;
}

Attributes read_attributes(TokenStream& in) {
  Attributes attributes;
  if (!in.accept(".attribute")) return attributes;
  in.expect("(");
  do {
    if (in.accept(".managed")) {
      attributes.managed = true;
      continue;
    }
    in.expect(".unified");
    in.expect("(");
    ir::Unified& id = attributes.unified.emplace();
    id[0] = static_cast<std::uint64_t>(read_count(in));
    in.expect(",");
    id[1] = static_cast<std::uint64_t>(read_count(in));
    in.expect(")");
  } while (in.accept(","));
  in.expect(")");
  return attributes;
}

bool starts_variable(const Token& token) {
  return token.is(".tex") || std::any_of(kSpaces.begin(), kSpaces.end(),
                                         [&](const auto& space) { return token.is(space.first); });
}

std::optional<ir::Space> accept_space(TokenStream& in) {
  if (in.peek().is(".tex"))
    fail(in.peek(), "unsupported", "the state space .tex is not supported since PTX 1.5",
         "declare a .global .texref");
  for (const auto& [word, space] : kSpaces)
    if (in.accept(word)) return space;
  return std::nullopt;
}

void read_variables(TokenStream& in, ir::Linkage linkage, const VariableReader& reader,
                    std::vector<ir::Variable>& out) {
  const Common common = read_common(in, linkage);
  do {
    ir::Variable variable = common.variable;
    const Token& name = in.expect_new_name("a variable");
    if (in.accept("<")) {
      read_numbered(in, name, common, reader, out);
      continue;
    }
    const Shape shape{.dimensions = read_dimensions(in), .vector = common.vector};
    variable.count = product(name, shape.dimensions) * common.vector;
    if (shape.dimensions.empty()) refuse_scalar(name, variable, common.vector);
    variable.array = variable.count == 1 && !shape.dimensions.empty();
    if (in.accept("=")) read_initial(in, name, shape, reader.globals, variable);
    if (variable.count == 0 && linkage != ir::Linkage::external)
      fail(name, "bad-size", std::string(name.text) + "[] needs a size",
           "give a size: only .extern arrays get theirs at launch");
    const auto bytes = static_cast<std::uint32_t>(variable.type.whole_bytes());  // for vectors too
    variable.name = reader.declare(name, {variable.space, shape.dimensions.empty() ? 0 : bytes});
    out.push_back(std::move(variable));
  } while (in.accept(","));
  in.expect(";");
}

void read_registers(TokenStream& in, Scopes& scopes) {
  if (in.accept(".align")) read_alignment(in);  // has no effect
  const auto [type, vector] = read_vector_type(in);
  if (is_opaque(type))
    fail(in.peek(), "syntax", "a register cannot have the type ." + std::string(type.name));
  if (vector > 1 && type == pred) fail(in.peek(), "syntax", "there are no vectors of predicates");
  do {
    const Token& name = in.expect_new_name("a register");
    std::optional<std::int64_t> count;
    if (in.accept("<")) {
      count = read_count(in);
      in.expect(">");
    }
    if (vector > 1) {
      scopes.declare_vectors(name, type, vector, count);
    } else if (count) {
      scopes.declare_registers(name, type, *count);
    } else {
      scopes.declare_register(name, type);
    }
  } while (in.accept(","));
  in.expect(";");
}

}  // namespace ptxloom::text
