// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "exec/decoder.hpp"
#include "exec/lanewise.hpp"

// Video instructions (PTX ISA 9.7.18): arithmetic on bytes, halves or words that selectors take out of
// registers, exact as numbers, then clamped, joined with a third operand, and cut to 32 bits.
namespace ptxloom::exec {
namespace {

__extension__ using Wide = __int128;
using Binary = Wide (*)(Wide a, Wide b);

struct PrimaryOperation {
  std::string_view name;
  Binary apply;
};
constexpr std::array kOperations{
    PrimaryOperation{"vadd", [](Wide a, Wide b) { return a + b; }},
    PrimaryOperation{"vsub", [](Wide a, Wide b) { return a - b; }},
    PrimaryOperation{"vabsdiff", [](Wide a, Wide b) { return a < b ? b - a : a - b; }},
    PrimaryOperation{"vmin", [](Wide a, Wide b) { return std::min(a, b); }},
    PrimaryOperation{"vmax", [](Wide a, Wide b) { return std::max(a, b); }},
    PrimaryOperation{"vavrg", [](Wide a, Wide b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; }},
    PrimaryOperation{"vshl.clamp", [](Wide a, Wide b) { return a * (Wide{1} << std::min(b, Wide{32})); }},
    PrimaryOperation{"vshl.wrap", [](Wide a, Wide b) { return a * (Wide{1} << (b & 31)); }},
    PrimaryOperation{"vshr.clamp", [](Wide a, Wide b) { return a >> std::min(b, Wide{32}); }},
    PrimaryOperation{"vshr.wrap", [](Wide a, Wide b) { return a >> (b & 31); }},
    PrimaryOperation{"eq", [](Wide a, Wide b) { return Wide{a == b}; }},
    PrimaryOperation{"ne", [](Wide a, Wide b) { return Wide{a != b}; }},
    PrimaryOperation{"lt", [](Wide a, Wide b) { return Wide{a < b}; }},
    PrimaryOperation{"le", [](Wide a, Wide b) { return Wide{a <= b}; }},
    PrimaryOperation{"gt", [](Wide a, Wide b) { return Wide{a > b}; }},
    PrimaryOperation{"ge", [](Wide a, Wide b) { return Wide{a >= b}; }},
};

// By the words of the instruction: vset is its comparison, shifts have modes, vadd4 is a vadd.
Binary find_operation(const Decoder& decoder) {
  std::string name(decoder.has("compare") ? decoder.word("compare") : decoder.word("op"));
  if (name.ends_with('2') || name.ends_with('4')) name.pop_back();
  if (decoder.has("wrap")) name += "." + std::string(decoder.word("wrap"));
  const auto found = std::ranges::find(kOperations, name, &PrimaryOperation::name);
  return found == kOperations.end() ? nullptr : found->apply;
}

/// Bits of a register, or of two side by side, as a number.
struct Part {
  int shift = 0, width = 32;
  bool is_signed = false;

  std::uint64_t mask() const { return (std::uint64_t{1} << width) - 1; }
  Wide of(std::uint64_t bits) const {
    const std::uint64_t field = bits >> shift & mask();
    const bool negative = is_signed && (field >> (width - 1) & 1) != 0;
    return negative ? Wide{field} - (Wide{1} << width) : Wide{field};
  }
  Wide clamp(Wide value) const {
    const Wide highest = (Wide{1} << (is_signed ? width - 1 : width)) - 1;
    return std::clamp(value, is_signed ? -highest - 1 : Wide{0}, highest);
  }
  std::uint32_t put(Wide value, std::uint32_t into) const {
    const auto field = static_cast<std::uint32_t>(mask() << shift);
    return (into & ~field) | (static_cast<std::uint32_t>(value) << shift & field);
  }
};

// "b2" is byte 2, "h1" the upper half, "" all.
Part part_of(std::string_view selector, bool is_signed) {
  if (selector.empty()) return {.is_signed = is_signed};
  const int width = selector.front() == 'b' ? 8 : 16;
  return {.shift = width * (selector.back() - '0'), .width = width, .is_signed = is_signed};
}

bool is_signed(const Decoder& decoder, std::string_view slot) { return decoder.word(slot) == "s32"; }

struct VideoPlan {
  Binary primary = nullptr, second = nullptr;
  Part d, a, b, c;
  bool saturate = false, merge = false;
};

void run_video(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<VideoPlan>();
  const auto in = [&](std::size_t i) { return Lanes<std::uint32_t>(warp.registers(), op.slots[i]); };
  for_lanes(mask, [&](int lane) {
    Wide value = plan.primary(plan.a.of(in(1)[lane]), plan.b.of(in(2)[lane]));
    if (plan.saturate) value = plan.d.clamp(value);
    if (plan.second != nullptr) value = plan.second(value, plan.c.of(in(3)[lane]));
    in(0).set(lane, plan.merge ? plan.d.put(value, in(3)[lane]) : static_cast<std::uint32_t>(value));
  });
}

void decode_video(Decoder& decoder) {
  const std::string_view second = decoder.word("second");
  VideoPlan plan{.primary = find_operation(decoder),
                 .d = part_of(decoder.selector("D"), is_signed(decoder, "dtype")),
                 .a = part_of(decoder.selector("A"), is_signed(decoder, "atype")),
                 .b = part_of(decoder.selector("B"), is_signed(decoder, "btype")),
                 .c = {.is_signed = is_signed(decoder, "dtype")},
                 .saturate = decoder.has("sat"),
                 .merge = second.empty() && decoder.operand("C") >= 0};
  if (!second.empty())
    plan.second = std::ranges::find(kOperations, "v" + std::string(second), &PrimaryOperation::name)->apply;
  decoder.emit(plan.primary == nullptr ? nullptr : &run_video, std::make_shared<VideoPlan>(plan));
}

struct ProductPlan {
  Part a, b;
  bool plus_one = false, saturate = false;
  int scale = 0;
};

// vmad: a*b + c. Minus before a factor negates the product.
void run_product(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<ProductPlan>();
  const auto in = [&](std::size_t i) { return Lanes<std::uint32_t>(warp.registers(), op.slots[i]); };
  const bool minus_product = op.slots[1].negated != op.slots[2].negated, minus_c = op.slots[3].negated;
  const Part whole{.is_signed = plan.a.is_signed || plan.b.is_signed || minus_product || minus_c};
  for_lanes(mask, [&](int lane) {
    const Wide product = plan.a.of(in(1)[lane]) * plan.b.of(in(2)[lane]), c = whole.of(in(3)[lane]);
    Wide value = (minus_product ? -product : product) + (minus_c ? -c : c) + (plan.plus_one ? 1 : 0);
    value >>= plan.scale;
    in(0).set(lane, static_cast<std::uint32_t>(plan.saturate ? whole.clamp(value) : value));
  });
}

void decode_product(Decoder& decoder) {
  const std::string_view scale = decoder.word("scale");
  const ProductPlan plan{.a = part_of(decoder.selector("A"), is_signed(decoder, "atype")),
                         .b = part_of(decoder.selector("B"), is_signed(decoder, "btype")),
                         .plus_one = decoder.has("po"),
                         .saturate = decoder.has("sat"),
                         .scale = scale == "shr7"    ? 7
                                  : scale == "shr15" ? 15
                                                     : 0};
  decoder.emit(&run_product, std::make_shared<ProductPlan>(plan));
}

/// Two halves or four bytes.
struct SimdPlan {
  Binary primary = nullptr;
  std::vector<Part> a, b;  // of both sources side by side, lowest element first
  std::vector<Part> d;
  std::vector<bool> written;
  bool saturate = false, add = false;
};

void run_simd(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<SimdPlan>();
  const auto in = [&](std::size_t i) { return Lanes<std::uint32_t>(warp.registers(), op.slots[i]); };
  for_lanes(mask, [&](int lane) {
    const std::uint64_t both = std::uint64_t{in(2)[lane]} << 32 | in(1)[lane];
    std::uint32_t result = in(3)[lane];
    for (std::size_t i = 0; i < plan.d.size(); ++i) {
      if (!plan.written[i]) continue;
      Wide value = plan.primary(plan.a[i].of(both), plan.b[i].of(both));
      if (plan.saturate) value = plan.d[i].clamp(value);
      result = plan.add ? result + static_cast<std::uint32_t>(value) : plan.d[i].put(value, result);
    }
    in(0).set(lane, result);
  });
}

// "h32": elements 2 and 3 of both sources, the higher one named first.
std::vector<Part> parts_of(std::string selector, std::size_t count, bool is_signed, int first) {
  const int width = 32 / static_cast<int>(count);
  std::vector<Part> parts(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int element =
        selector.empty() ? first + static_cast<int>(i) : selector[selector.size() - 1 - i] - '0';
    parts[i] = {.shift = width * element, .width = width, .is_signed = is_signed};
  }
  return parts;
}

void decode_simd(Decoder& decoder, std::size_t count) {
  const std::string written = decoder.selector("D");
  SimdPlan plan{
      .primary = find_operation(decoder),
      .a = parts_of(decoder.selector("A"), count, is_signed(decoder, "atype"), 0),
      .b = parts_of(decoder.selector("B"), count, is_signed(decoder, "btype"), static_cast<int>(count)),
      .d = parts_of("", count, is_signed(decoder, "dtype"), 0),
      .saturate = decoder.has("sat"),
      .add = decoder.has("add")};
  for (std::size_t i = 0; i < count; ++i)
    plan.written.push_back(written.empty() || written.find(static_cast<char>('0' + i)) != std::string::npos);
  decoder.emit(plan.primary == nullptr ? nullptr : &run_simd, std::make_shared<SimdPlan>(plan));
}

void decode_pairs(Decoder& decoder) { decode_simd(decoder, 2); }
void decode_quads(Decoder& decoder) { decode_simd(decoder, 4); }

constexpr std::array kForms{
    Semantics{"video", decode_video},       Semantics{"video.second", decode_video},
    Semantics{"video.merge", decode_video}, Semantics{"vmad", decode_product},
    Semantics{"video.pairs", decode_pairs}, Semantics{"video.quads", decode_quads},
};

}  // namespace

std::span<const Semantics> video_semantics() { return kForms; }

}  // namespace ptxloom::exec
