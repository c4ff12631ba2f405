// SPDX-License-Identifier: Apache-2.0
#include "text/initial.hpp"

#include <algorithm>

#include "text/constant.hpp"

namespace ptxloom::text {
namespace {

class InitialReader {
 public:
  InitialReader(TokenStream& in, const Shape& shape, const Globals& globals, ir::Variable& variable)
      : in_(in), globals_(globals), variable_(variable), sizes_(shape.dimensions) {
    vector_ = shape.vector > 1 ? sizes_.size() : kNone;
    if (shape.vector > 1) sizes_.push_back(shape.vector);
  }

  void run() {
    const Token& at = in_.peek();
    if (variable_.type == f16 || variable_.type == f16x2)
      fail(at, "syntax", "." + std::string(variable_.type.name) + " cannot have an initial value",
           "use .b16 or .b32");
    read(0);
    if (variable_.count == 0) {
      variable_.count = outermost_;
      for (std::size_t i = 1; i < sizes_.size(); ++i) variable_.count *= sizes_[i];
    }
    const std::size_t all = variable_.count * static_cast<std::size_t>(variable_.type.whole_bytes());
    if (variable_.initial.size() > all) fail(in_.peek(), "bad-size", "more initial values than elements");
  }

 private:
  void read(std::size_t depth) {
    if (depth == sizes_.size()) return element();
    const Token& open = in_.peek();
    if (!in_.accept("{"))
      fail(open, "syntax", "expected '{', found " + quoted(open),
           "an array of " + std::to_string(sizes_.size()) + " dimensions needs as many nested lists");
    if (depth == 0 && sizes_[0] != 0 && vector_ != 0 && in_.accept("}")) return;
    std::uint64_t count = 0;
    do {
      read(depth + 1);
      ++count;
    } while (in_.accept(","));
    in_.expect("}");
    if (count > sizes_[depth] && sizes_[depth] != 0)
      fail(open, "bad-size",
           std::to_string(count) + " initial values for " + std::to_string(sizes_[depth]) + " elements");
    if (depth == vector_ && count < sizes_[depth])
      fail(open, "bad-size",
           "a vector needs an initial value for each of its " + std::to_string(sizes_[depth]) + " elements");
    if (depth == 0) outermost_ = count;
  }

  void element() {
    const Token& at = in_.peek();
    if (at.is_word() && !at.is("WARP_SZ")) return address(0);
    if (at.kind == Token::Kind::number && in_.peek(1).is("(")) {
      const auto mask = static_cast<std::uint64_t>(read_count(in_));
      in_.expect("(");
      address(mask);
      return in_.expect(")");
    }
    if (!starts_constant(at)) fail(at, "syntax", "expected an initial value, found " + quoted(at));
    number(at, read_constant(in_));
  }

  void number(const Token& at, Constant value) {
    const Type& type = variable_.type;
    const bool bits_of_float = type.kind == TypeKind::bits && value.is_float();
    if (type == f32 || (bits_of_float && type.bits <= 32)) value = narrowed(value);
    if (type == f64 || (bits_of_float && type.bits > 32)) value = widened(value);
    if (value.is_float() ? !type.is_float() && !bits_of_float : type.is_float())
      fail(at, "operand-literal", "this constant is not a value of ." + std::string(type.name));
    append(static_cast<std::uint64_t>(value.bits));
  }

  // An integer is not a valid value for a float, so it stays an integer.
  static Constant narrowed(Constant value) {
    return value.is_float() ? Constant::of(static_cast<float>(value.as_double())) : value;
  }
  static Constant widened(Constant value) {
    return value.is_float() ? Constant::of(value.as_double()) : value;
  }

  // `name`, `name+8`, `generic(name)`, `generic(name)+8`
  void address(std::uint64_t mask) {
    const bool generic = in_.peek().is("generic") && in_.peek(1).is("(");
    if (generic) in_.next(), in_.next();
    const Token& name = in_.expect_name("the name of a variable or function");
    const auto found = globals_.find(name.text);
    if (found == globals_.end())
      fail(name, "undefined-name", "there is no variable or function " + std::string(name.text),
           "declare it before it is used");
    const ir::Space space = found->second.space;
    if (space != ir::Space::global && space != ir::Space::constant && space != ir::Space::code)
      fail(name, "address-space", std::string(name.text) + " does not have an address before the launch",
           "use a variable in .global or .const, or a function");
    if (!holds_address(mask))
      fail(name, "operand-type", "." + std::string(variable_.type.name) + " cannot hold an address",
           "use .u64, or .u8 with masks: 0xFF(" + std::string(name.text) + ")");
    if (generic) in_.expect(")");
    const Token& plus = in_.peek();
    const bool offset = in_.accept("+");
    if (space == ir::Space::code && (generic || offset))
      fail(offset ? plus : name, "operand-kind",
           "an initial value is the address of the function " + std::string(name.text) +
               (offset ? " itself: nothing can be added to it" : " without generic()"),
           "write " + std::string(name.text));
    const std::int64_t addend = offset ? read_integer(in_) : 0;
    variable_.addresses.push_back({.offset = variable_.initial.size(),
                                   .name = std::string(name.text),
                                   .addend = addend,
                                   .generic = generic,
                                   .mask = mask});
    append(0);
  }

  // A whole address, or one byte of it.
  bool holds_address(std::uint64_t mask) const {
    bool byte = false;
    for (int shift = 0; shift < 64; shift += 8) byte = byte || mask == std::uint64_t{0xFF} << shift;
    const Type& type = variable_.type;
    return (mask == 0 || byte) && (type == u64 || type == u32 || (type == u8 && byte));
  }

  void append(std::uint64_t bits) {
    for (int i = 0; i < variable_.type.whole_bytes(); ++i)
      variable_.initial.push_back(static_cast<std::uint8_t>(i < 8 ? bits >> 8 * i & 0xFF : 0));
  }

  TokenStream& in_;
  const Globals& globals_;
  ir::Variable& variable_;
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::uint64_t> sizes_;  // of the dimensions; for a vector the last one
  std::size_t vector_ = kNone;        // the depth at which the elements of a vector stand
  std::uint64_t outermost_ = 0;
};

}  // namespace

void read_initial_values(TokenStream& in, const Shape& shape, const Globals& globals,
                         ir::Variable& variable) {
  InitialReader(in, shape, globals, variable).run();
}

std::string read_fields(TokenStream& in) {
  std::string fields;
  in.expect("{");
  do {
    if (!fields.empty()) fields += ", ";
    fields += in.expect_name("a field").text;
    in.expect("=");
    fields += " = ";
    if (starts_constant(in.peek())) {
      fields += std::to_string(read_integer(in));
    } else {
      fields += in.expect_name("a field's value").text;
    }
  } while (in.accept(","));
  in.expect("}");
  return fields;
}

}  // namespace ptxloom::text
