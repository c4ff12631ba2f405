// SPDX-License-Identifier: Apache-2.0
// mma of integers and bits with 16 rows, by that with 8 rows and half or all of k; and b1 by xor.
//
// Registers of A in the larger shape are those of both halves of its rows for each step of k; those of C and
// D are those of one half after the other, and those of B one for each step. Sums of integers wrap, so that
// their order does not matter; .satfinite clamps the exact sum, which the products alone never leave.
#include <array>
#include <optional>
#include <string>

#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

constexpr int kRows = 8, kSums = 2;  // of the smaller shape: rows of A, registers of C

using Sums = std::vector<Reg>;

/// One mma of the smaller shape: D = A x B + C.
Sums multiply(Emitter& emit, const std::string& opcode, Reg a, Reg b, const Sums& c) {
  return emit.several(opcode, std::vector<Reg>{a}, std::vector<Reg>{b}, c);
}

/// The operands of the larger shape in parts.
class Parts {
 public:
  Parts(const Variant& variant, std::span<const Reg> inputs)
      : halves_(static_cast<std::size_t>(variant.slot_int("M") / kRows)),
        steps_(static_cast<std::size_t>(variant.operand("B").registers())),
        inputs_(inputs) {}

  std::size_t halves() const { return halves_; }
  std::size_t steps() const { return steps_; }
  Reg a(std::size_t half, std::size_t step) const { return inputs_[step * halves_ + half]; }
  Reg b(std::size_t step) const { return inputs_[steps_ * halves_ + step]; }
  Sums c(std::size_t half) const {
    const auto sums = inputs_.last(halves_ * kSums).subspan(half * kSums, kSums);
    return {sums.begin(), sums.end()};
  }

 private:
  std::size_t halves_, steps_;
  std::span<const Reg> inputs_;
};

/// The opcode of the smaller shape.
std::string smaller_opcode(const Variant& variant, bool satfinite, std::string_view operation) {
  const int k = variant.slot_int("K") / variant.operand("B").registers();
  const std::string a(*variant.slot("a")), b(*variant.slot("b"));
  return "mma.sync.aligned.m8n8k" + std::to_string(k) + ".row.col" + (satfinite ? ".satfinite" : "") +
         ".s32." + a + "." + b + ".s32" + std::string(operation);
}

Sums zeros(Emitter& emit) {
  const Reg zero = emit.into(s32, "mov.b32", 0);
  return Sums(kSums, zero);
}

Sums with_addend(Emitter& emit, const char* add, const Sums& products, const Sums& addend) {
  Sums sums;
  for (std::size_t i = 0; i < products.size(); ++i) sums.push_back(emit(add, products[i], addend[i]));
  return sums;
}

/// Adds the products of a half of the rows, over all steps of k, to `sums`.
Sums accumulate(Emitter& emit, const std::string& opcode, const Parts& parts, std::size_t half, Sums sums) {
  for (std::size_t step = 0; step < parts.steps(); ++step)
    sums = multiply(emit, opcode, parts.a(half, step), parts.b(step), sums);
  return sums;
}

// A chain of instructions that clamp would clamp between them. One instruction, or a saturating addition
// behind a chain that does not clamp, clamps once.
Sums half_product(Emitter& emit, const Variant& variant, const Parts& parts, std::size_t half) {
  const bool clamps = variant.slot("sat").has_value();
  const std::string operation = variant.slot("op") ? ".xor.popc" : "";
  if (!clamps || parts.steps() == 1)
    return accumulate(emit, smaller_opcode(variant, clamps, operation), parts, half, parts.c(half));
  const Sums products = accumulate(emit, smaller_opcode(variant, false, operation), parts, half, zeros(emit));
  return with_addend(emit, "add.sat.s32", products, parts.c(half));
}

std::vector<Reg> by_halves(Emitter& emit, const Variant& variant, std::span<const Reg> inputs) {
  const Parts parts(variant, inputs);
  std::vector<Reg> results;
  for (std::size_t half = 0; half < parts.halves(); ++half)
    for (const Reg sum : half_product(emit, variant, parts, half)) results.push_back(sum);
  return results;
}

// popc(a & b) = (popc(a) + popc(b) - popc(a ^ b)) / 2, and xor with zero counts the bits of one of them.
std::vector<Reg> and_by_xor(Emitter& emit, const Variant& variant, std::span<const Reg> inputs) {
  const Parts parts(variant, inputs);
  const std::string opcode = smaller_opcode(variant, false, ".xor.popc");
  const Sums none = zeros(emit);
  const Reg zero = emit.into(b32, "mov.b32", 0);
  Sums columns = none;
  for (std::size_t step = 0; step < parts.steps(); ++step)
    columns = multiply(emit, opcode, zero, parts.b(step), columns);
  std::vector<Reg> results;
  for (std::size_t half = 0; half < parts.halves(); ++half) {
    Sums ones = columns;
    for (std::size_t step = 0; step < parts.steps(); ++step)
      ones = multiply(emit, opcode, parts.a(half, step), zero, ones);
    const Sums differences = accumulate(emit, opcode, parts, half, none), addend = parts.c(half);
    for (std::size_t i = 0; i < kSums; ++i) {
      const Reg twice = emit("sub.s32", ones[i], differences[i]);
      results.push_back(emit("add.s32", emit("shr.s32", twice, 1), addend[i]));
    }
  }
  return results;
}

using Conditions = std::array<Fallback::Condition, 6>;

constexpr Conditions rows16(std::string_view k, std::string_view types) {
  return {{{"M", "16"}, {"K", k}, {"a", types}, {"b", types}, {"sat", "- satfinite"}, {"op", "-"}}};
}
constexpr Conditions bits(std::string_view m, std::string_view k, std::string_view op) {
  return {{{"M", m}, {"K", k}, {"a", "b1"}, {"b", "b1"}, {"op", op}}};
}

constexpr std::array kProducts{
    Fallback{"mma", rows16("16 32", "s8 u8"), nullptr, by_halves},
    Fallback{"mma", rows16("32 64", "s4 u4"), nullptr, by_halves},
    Fallback{"mma", bits("16", "128 256", "xor"), nullptr, by_halves},
    Fallback{"mma", bits("8", "128", "and"), nullptr, and_by_xor},
    Fallback{"mma", bits("16", "128 256", "and"), nullptr, and_by_xor},
};

}  // namespace

std::span<const Fallback> fallbacks_of_products() { return kProducts; }

}  // namespace ptxloom::lower
