// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "exec/arithmetic/rounding.hpp"
#include "exec/judge/judge.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/members.hpp"
#include "exec/matrix/fragment.hpp"
#include "exec/matrix/product.hpp"
#include "exec/matrix/undefined_elements.hpp"
#include "exec/memory/address.hpp"
#include "ptxloom/numeric.hpp"

// wmma.load, wmma.store and wmma.mma (PTX ISA 9.7.14.4). Which lane holds which element is unspecified. Here
// elements are placed as in mma fragments: a row (for B: a column) in four lanes, eight consecutive rows,
// registers filled from the lowest bit, first with elements adjacent in k, then those eight rows further,
// then those further in k. This does not depend on the matrix's layout in memory. Unused registers (A and B
// of f16 have eight in every shape) are 0.
namespace ptxloom::exec {
namespace {

// `lines` rows of A or C or columns of B, of `depth` elements each, of which a lane holds `near` adjacent
// ones.
Fragment fragment_of(const Type& type, int lines, int depth, int near, int registers) {
  const int packed = std::max<int>(32, type.bits) / type.bits;
  std::vector<Fragment::Position> positions;
  for (int line = 0; line < lines; ++line) {
    for (int k = 0; k < depth; ++k) {
      const int value = k % near + near * (line / 8 + (lines + 7) / 8 * (k / (4 * near)));
      positions.push_back({.reg = static_cast<std::uint16_t>(value / packed),
                           .lane = static_cast<std::uint8_t>(line % 8 * 4 + k / near % 4),
                           .bit = static_cast<std::uint8_t>(value % packed * type.bits)});
    }
  }
  return {type, lines, depth, registers, std::move(positions)};
}

struct Extent {
  int m, n, k;
};
Extent extent_of(const Decoder& decoder) {
  const Variant& variant = decoder.variant();
  return {variant.slot_int("M"), variant.slot_int("N"), variant.slot_int("K")};
}

Type type_of(const Decoder& decoder, std::string_view word) {
  const auto type = find_type(word);
  if (!type) decoder.unsupported(fmt::format("it has elements of type {}", word));
  return *type;
}

/// The fragment of matrix "a", "b" (by columns), "c" or "d".
Fragment fragment_of(const Decoder& decoder, char matrix, const Type& type, std::string_view operand) {
  const auto [m, n, k] = extent_of(decoder);
  const int registers = decoder.variant().operand(operand).registers(), packed = std::max(1, 32 / type.bits);
  if (matrix == 'a') return fragment_of(type, m, k, packed, registers);
  if (matrix == 'b') return fragment_of(type, n, k, packed, registers);
  return fragment_of(type, m, n, 2, registers);
}

struct AccessPlan {
  Fragment fragment;
  bool by_lines = true;  // a line of the fragment is contiguous in memory
  Reach reach;
  int value = 0, address = 0, stride = -1;  // operand indices

  std::size_t lines() const { return static_cast<std::size_t>(by_lines ? fragment.rows() : fragment.cols()); }
  std::size_t length() const {
    return static_cast<std::size_t>(by_lines ? fragment.cols() : fragment.rows());
  }
};

// Address and stride must be the same in all lanes.
template <class T>
T uniform(Warp& warp, const Operation& op, const char* what, T first, T other, int lane) {
  if (first != other) {
    fault(warp, op, lane_bit(lane), "warp-operands", fmt::format("its {} is not that of lane 0", what),
          "use the same address and stride in all threads of the warp");
  }
  return first;
}

// The host address of each row, or column, that is contiguous in memory.
std::vector<std::byte*> resolve_lines(Warp& warp, const Operation& op, const AccessPlan& plan) {
  const Slot& at = op.slot(static_cast<std::size_t>(plan.address));
  const std::uint64_t address = address_of(warp, at, 0);
  std::uint32_t stride = static_cast<std::uint32_t>(plan.length());
  for (int lane = 1; lane < kLanes; ++lane)
    uniform(warp, op, "address", address, address_of(warp, at, lane), lane);
  if (plan.stride >= 0) {
    const Lanes<std::uint32_t> strides(warp.registers(), op.slot(static_cast<std::size_t>(plan.stride)));
    for (int lane = 1; lane < kLanes; ++lane) uniform(warp, op, "stride", strides[0], strides[lane], lane);
    if (strides[0] < stride) {
      fault(warp, op, 1, "matrix-stride",
            fmt::format("the stride {} is less than the {} elements of a row", strides[0], stride),
            "use the distance between rows, or between columns of a column-major matrix, in elements");
    }
    stride = strides[0];
  }
  std::vector<std::byte*> lines;
  for (std::size_t i = 0; i < plan.lines(); ++i) {
    const std::uint64_t offset = i * stride * plan.fragment.type().bits / 8;
    lines.push_back(resolve(warp, op, 0, address + offset, plan.reach));
  }
  return lines;
}

// Calls f(line in memory, index in it, element of the fragment).
template <class F>
void for_elements(const AccessPlan& plan, const std::vector<std::byte*>& lines, F f) {
  const auto cols = static_cast<std::size_t>(plan.fragment.cols());
  for (std::size_t i = 0; i < plan.fragment.positions().size(); ++i) {
    const std::size_t row = i / cols, col = i % cols;
    f(std::span(lines[plan.by_lines ? row : col], plan.reach.bytes), plan.by_lines ? col : row, i);
  }
}

std::span<const Slot> values_of(const Operation& op, const AccessPlan& plan) {
  return std::span(op.slots).subspan(op.first[static_cast<std::size_t>(plan.value)]);
}

template <class Bits>
std::vector<Bits> load_elements(const AccessPlan& plan, const std::vector<std::byte*>& lines) {
  std::vector<Bits> elements(plan.fragment.positions().size());
  for_elements(plan, lines, [&](std::span<const std::byte> line, std::size_t index, std::size_t i) {
    elements[i] = static_cast<Bits>(load_element(plan.fragment.type(), line, index));
  });
  return elements;
}

template <class Bits>
void store_elements(const AccessPlan& plan, const std::vector<std::byte*>& lines,
                    const std::vector<Bits>& elements) {
  for_elements(plan, lines, [&](std::span<std::byte> line, std::size_t index, std::size_t i) {
    store_element(plan.fragment.type(), line, index, elements[i]);
  });
}

template <class Bits>
void run_load(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<AccessPlan>();
  const auto lines = resolve_lines(warp, op, plan);
  const auto values = values_of(op, plan);
  plan.fragment.scatter<Bits>(warp.registers(), values, load_elements<Bits>(plan, lines));
  Judge* const judge = warp.judge();
  if (judge == nullptr) return;
  judge->finish_reads(warp);
  Warp* const warps[] = {&warp};
  const UndefinedElements undefined(*judge, warps);
  if (const auto bits = undefined_lines(*judge, lines, plan.reach.bytes)) {
    undefined.scatter<Bits>(plan.fragment, values, load_elements<Bits>(plan, bits->lines));
    judge->loads_undefined(warp, op, values.first(plan.fragment.registers()), bits->global);
  } else {
    undefined.define(values.first(plan.fragment.registers()));
  }
}

// Values stored to shared memory take their undefined bits along.
template <class Bits>
void judge_store(Warp& warp, const Operation& op, const std::vector<std::byte*>& lines) {
  const auto& plan = op.plan_as<AccessPlan>();
  Judge& judge = *warp.judge();
  Warp* const warps[] = {&warp};
  const UndefinedElements undefined(judge, warps);
  const auto values = values_of(op, plan);
  if (!undefined.any(values.first(plan.fragment.registers()))) return;
  std::vector<std::byte*> bits;
  for (const std::byte* line : lines) bits.push_back(judge.undefined_bits(line));
  if (std::ranges::find(bits, nullptr) != bits.end()) return judge.stores(warp, op, kAllLanes);
  store_elements(plan, bits, undefined.gather<Bits>(plan.fragment, values));
}

template <class Bits>
void run_store(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<AccessPlan>();
  const auto lines = resolve_lines(warp, op, plan);
  if (warp.judge() != nullptr) judge_store<Bits>(warp, op, lines);
  std::vector<Bits> elements;
  plan.fragment.gather(warp.registers(), values_of(op, plan), elements);
  store_elements(plan, lines, elements);
}

// Lines in memory are rows of A, C and D if the layout is row, and columns of B if it is col.
std::shared_ptr<const AccessPlan> access_plan(Decoder& decoder, char matrix, Access access) {
  return decoder.plan_of_variant<AccessPlan>([&] {
    const Type type = type_of(decoder, decoder.word("type"));
    const auto space = find_space(decoder.word("space"));
    if (!space) decoder.unsupported("the executor does not support this state space");
    auto made = std::make_shared<AccessPlan>();
    made->fragment = fragment_of(decoder, matrix, type, "D");
    made->by_lines = (decoder.word("layout") == "row") != (matrix == 'b');
    made->value = decoder.operand("D");
    made->address = decoder.operand("P");
    made->stride = decoder.operand("S");
    // The manual asks for the alignment of a whole fragment; ptxas loads at most 16 bytes at once.
    const auto bytes = static_cast<std::uint32_t>(decoder.variant().operand("D").registers() *
                                                  std::max<int>(32, type.bits) / 8);
    made->reach = {.space = *space,
                   .access = access,
                   .bytes = static_cast<std::uint32_t>(made->length() * type.bits / 8),
                   .alignment = std::min(bytes, 16u)};
    return made;
  });
}

void decode_load(Decoder& decoder) {
  const auto plan = access_plan(decoder, decoder.word("matrix").front(), Access::read);
  decoder.emit(plan->fragment.type() == f64 ? &run_load<std::uint64_t> : &run_load<std::uint32_t>, plan);
}

void decode_store(Decoder& decoder) {
  const auto plan = access_plan(decoder, 'd', Access::write);
  decoder.emit(plan->fragment.type() == f64 ? &run_store<std::uint64_t> : &run_store<std::uint32_t>, plan);
}

struct MmaPlan {
  Fragment a, b, c, d;
  Product product;
};

/// Operands in the order D, A, B, C.
template <class Factors, class Bits>
void run_mma(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MmaPlan>();
  const auto slots = [&](std::size_t operand) { return std::span(op.slots).subspan(op.first[operand]); };
  Factors factors;
  plan.a.gather(warp.registers(), slots(1), factors.a);
  plan.b.gather(warp.registers(), slots(2), factors.b);
  plan.c.gather(warp.registers(), slots(3), factors.sums);
  plan.product.apply(factors);
  plan.d.scatter<Bits>(warp.registers(), slots(0), factors.sums);
  if (Judge* judge = warp.judge()) {
    Warp* const warps[] = {&warp};
    const UndefinedElements elements(*judge, warps);
    UndefinedFactors undefined{.a = elements.flags(plan.a, slots(1)),
                               .b = elements.flags(plan.b, slots(2)),
                               .sums = elements.flags(plan.c, slots(3))};
    multiply_undefined(plan.product, {}, undefined);
    elements.set_flags(plan.d, slots(0), undefined.sums);
  }
}

void decode_mma(Decoder& decoder) {
  const auto plan = decoder.plan_of_variant<MmaPlan>([&] {
    const auto type = [&](const char* slot, std::string_view otherwise) {
      return type_of(decoder, decoder.has(slot) ? decoder.word(slot) : otherwise);
    };
    auto made = std::make_shared<MmaPlan>();
    Product& product = made->product;
    product.a = type("a", "f16");
    product.b = type("b", product.a.name);
    product.d = type("d", "");
    product.c = type("c", product.d.name);
    made->a = fragment_of(decoder, 'a', product.a, "A");
    made->b = fragment_of(decoder, 'b', product.b, "B");
    made->c = fragment_of(decoder, 'c', product.c, "C");
    made->d = fragment_of(decoder, 'd', product.d, "D");
    const Extent extent = extent_of(decoder);
    product.m = static_cast<std::size_t>(extent.m);
    product.n = static_cast<std::size_t>(extent.n);
    product.k = product.depth = static_cast<std::size_t>(extent.k);
    product.arithmetic = mma_arithmetic(decoder.target(), MmaUnit::wmma, product.a, extent.k);
    product.satfinite = decoder.has("sat");
    product.exclusive = decoder.word("op") == "xor";
    product.rounding = rounding_of(decoder.word("rnd"));
    return made;
  });
  if (!plan->product.known()) return decoder.emit(nullptr);
  decoder.emit(
      plan->product.d == f64 ? &run_mma<WideFactors, std::uint64_t> : &run_mma<Factors, std::uint32_t>, plan);
}

constexpr std::array kForms{
    Semantics{"wmma.load", decode_load, {FlowRule::matrix}},
    Semantics{"wmma.store", decode_store, {FlowRule::matrix}},
    Semantics{"wmma.mma", decode_mma, {FlowRule::matrix}},
    Semantics{"wmma.mma.f16", decode_mma, {FlowRule::matrix}},
};

}  // namespace

std::span<const Semantics> wmma_semantics() { return kForms; }

}  // namespace ptxloom::exec
