// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"

// Video instructions (PTX ISA 9.7.18): arithmetic on bytes, halves or words that selectors take from
// registers. No current chip implements the scalar ones: ptxas expands them to 64-bit arithmetic, which
// deviates from the manual in places. The behaviour of an H200 and the machine code of ptxas 13.0:
//   .sat    on an unsigned word raises negative results to 0 but lets large ones wrap. On a byte or half it
//           lowers large results, and negative ones count as large. On a shift it clamps to a word, whatever
//           the destination, and sees 34 bits of the shifted value.
//   min and max as second operation compare 64 bits, unsigned if the result is unsigned; a sum, a
//           difference and a saturated shift are first truncated to 32 bits and sign-extended.
//   .h1     on the destination selects the upper half of the result.
//   vmad    treats words and C as signed, and keeps 64 bits of what it shifts as unsigned.
namespace ptxloom::exec {
namespace {

using Wide = std::int64_t;
using UWide = std::uint64_t;
using Binary = Wide (*)(Wide a, Wide b);

/// How .sat and a second operation treat the result of an operation.
enum class Result : std::uint8_t { sum, chosen, shifted };

struct PrimaryOperation {
  std::string_view name;
  Binary apply;
  Result result = Result::chosen;
};

Wide shifted_left(Wide a, Wide b) { return static_cast<Wide>(static_cast<UWide>(a) << b); }

constexpr std::array kOperations{
    PrimaryOperation{"vadd", [](Wide a, Wide b) { return a + b; }, Result::sum},
    PrimaryOperation{"vsub", [](Wide a, Wide b) { return a - b; }, Result::sum},
    PrimaryOperation{"vabsdiff", [](Wide a, Wide b) { return a < b ? b - a : a - b; }},
    PrimaryOperation{"vmin", [](Wide a, Wide b) { return std::min(a, b); }},
    PrimaryOperation{"vmax", [](Wide a, Wide b) { return std::max(a, b); }},
    PrimaryOperation{"vavrg", [](Wide a, Wide b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; }},
    PrimaryOperation{"vshl.clamp", [](Wide a, Wide b) { return shifted_left(a, std::min(b, Wide{32})); },
                     Result::shifted},
    PrimaryOperation{"vshl.wrap", [](Wide a, Wide b) { return shifted_left(a, b & 31); }, Result::shifted},
    PrimaryOperation{"vshr.clamp", [](Wide a, Wide b) { return a >> std::min(b, Wide{32}); },
                     Result::shifted},
    PrimaryOperation{"vshr.wrap", [](Wide a, Wide b) { return a >> (b & 31); }, Result::shifted},
    PrimaryOperation{"eq", [](Wide a, Wide b) { return Wide{a == b}; }},
    PrimaryOperation{"ne", [](Wide a, Wide b) { return Wide{a != b}; }},
    PrimaryOperation{"lt", [](Wide a, Wide b) { return Wide{a < b}; }},
    PrimaryOperation{"le", [](Wide a, Wide b) { return Wide{a <= b}; }},
    PrimaryOperation{"gt", [](Wide a, Wide b) { return Wide{a > b}; }},
    PrimaryOperation{"ge", [](Wide a, Wide b) { return Wide{a >= b}; }},
};

// Named by the parts of the opcode: vset is its comparison, shifts have modes, vadd4 is a vadd.
const PrimaryOperation* find_operation(const Decoder& decoder) {
  std::string name(decoder.has("compare") ? decoder.word("compare") : decoder.word("op"));
  if (name.ends_with('2') || name.ends_with('4')) name.pop_back();
  if (decoder.has("wrap")) name += "." + std::string(decoder.word("wrap"));
  const auto found = std::ranges::find(kOperations, name, &PrimaryOperation::name);
  return found == kOperations.end() ? nullptr : &*found;
}

struct SecondOperation {
  std::string_view name;
  Binary of_signed, of_unsigned;
};
constexpr Binary kAdd = [](Wide a, Wide b) { return a + b; };
constexpr std::array kSeconds{
    SecondOperation{"add", kAdd, kAdd},
    SecondOperation{"min", [](Wide a, Wide b) { return std::min(a, b); },
                    [](Wide a, Wide b) { return static_cast<UWide>(a) < static_cast<UWide>(b) ? a : b; }},
    SecondOperation{"max", [](Wide a, Wide b) { return std::max(a, b); },
                    [](Wide a, Wide b) { return static_cast<UWide>(a) > static_cast<UWide>(b) ? a : b; }},
};

// Null if the instruction has none.
Binary find_second(const Decoder& decoder, bool is_signed) {
  const auto found = std::ranges::find(kSeconds, decoder.word("second"), &SecondOperation::name);
  if (found == kSeconds.end()) return nullptr;
  return is_signed ? found->of_signed : found->of_unsigned;
}

/// Bits of a register, or of two adjacent ones, as a number.
struct Part {
  int shift = 0, width = 32;
  bool is_signed = false;

  std::uint64_t mask() const { return (std::uint64_t{1} << width) - 1; }
  Wide of(std::uint64_t bits) const {
    const auto field = static_cast<Wide>(bits >> shift & mask());
    return is_signed && (field >> (width - 1) & 1) != 0 ? field - (Wide{1} << width) : field;
  }
  Wide highest() const { return (Wide{1} << (is_signed ? width - 1 : width)) - 1; }
  Wide clamp(Wide value) const { return std::clamp(value, is_signed ? -highest() - 1 : Wide{0}, highest()); }
  std::uint32_t put(Wide value, std::uint32_t into) const {
    const auto field = static_cast<std::uint32_t>(mask() << shift);
    return (into & ~field) | (static_cast<std::uint32_t>(value) << shift & field);
  }
};

// "b2" is byte 2, "h1" the upper half, "" everything.
Part part_of(std::string_view selector, bool is_signed) {
  if (selector.empty()) return {.is_signed = is_signed};
  const int width = selector.front() == 'b' ? 8 : 16;
  return {.shift = width * (selector.back() - '0'), .width = width, .is_signed = is_signed};
}

bool is_signed(const Decoder& decoder, std::string_view slot) { return decoder.word(slot) == "s32"; }

struct VideoPlan {
  PrimaryOperation primary;
  Binary second = nullptr;
  Part d, a, b, word;  // word: with the destination's signedness, as C has
  bool saturate = false, merge = false, upper_half = false;

  Wide saturated(Wide value) const {
    if (primary.result == Result::shifted) return word.clamp(Part{.width = 34, .is_signed = true}.of(value));
    if (d.width < 32) return static_cast<Wide>(std::min<UWide>(value, d.highest()));
    return d.is_signed ? d.clamp(value) : std::max(value, Wide{0});
  }
  Wide joined(Wide value, std::uint32_t c) const {
    const bool cut = primary.result == Result::sum || (primary.result == Result::shifted && saturate);
    return second(cut ? Wide{static_cast<std::int32_t>(value)} : value, word.of(c));
  }
};

void run_video(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<VideoPlan>();
  const auto in = [&](std::size_t i) { return Lanes<std::uint32_t>(warp.registers(), op.slots[i]); };
  for_lanes(mask, [&](int lane) {
    Wide value = plan.primary.apply(plan.a.of(in(1)[lane]), plan.b.of(in(2)[lane]));
    if (plan.saturate) value = plan.saturated(value);
    if (plan.second != nullptr) value = plan.joined(value, in(3)[lane]);
    if (plan.upper_half) value >>= 16;
    in(0).set(lane, plan.merge ? plan.d.put(value, in(3)[lane]) : static_cast<std::uint32_t>(value));
  });
}

void decode_video(Decoder& decoder) {
  const PrimaryOperation* primary = find_operation(decoder);
  if (primary == nullptr) return decoder.emit(nullptr);
  const bool signed_result = is_signed(decoder, decoder.has("dtype") ? "dtype" : "atype");
  const std::string part = decoder.selector("D");
  const bool second = decoder.has("second");
  const VideoPlan plan{.primary = *primary,
                       .second = find_second(decoder, signed_result),
                       .d = part_of(part, signed_result),
                       .a = part_of(decoder.selector("A"), is_signed(decoder, "atype")),
                       .b = part_of(decoder.selector("B"), is_signed(decoder, "btype")),
                       .word = {.is_signed = signed_result},
                       .saturate = decoder.has("sat"),
                       .merge = !second && decoder.operand("C") >= 0,
                       .upper_half = part == "h1"};
  decoder.emit(&run_video, std::make_shared<VideoPlan>(plan));
}

struct ProductPlan {
  Part a, b;
  bool is_signed = false, plus_one = false, saturate = false;
  int scale = 0;
};

// vmad: a*b + c, wrapping at 64 bits. A minus before a factor negates the product.
void run_product(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<ProductPlan>();
  const auto in = [&](std::size_t i) { return Lanes<std::uint32_t>(warp.registers(), op.slots[i]); };
  const bool minus_product = op.slots[1].negated != op.slots[2].negated, minus_c = op.slots[3].negated;
  const Part word{.is_signed = plan.is_signed || minus_product || minus_c};
  for_lanes(mask, [&](int lane) {
    const Wide product = plan.a.of(in(1)[lane]) * plan.b.of(in(2)[lane]),
               c = static_cast<std::int32_t>(in(3)[lane]);
    const Wide sum = (minus_product ? -product : product) + (minus_c ? -c : c) + (plan.plus_one ? 1 : 0);
    const Wide value =
        word.is_signed ? sum >> plan.scale : static_cast<Wide>(static_cast<UWide>(sum) >> plan.scale);
    in(0).set(lane, static_cast<std::uint32_t>(plan.saturate ? word.clamp(value) : value));
  });
}

void decode_product(Decoder& decoder) {
  const std::string_view scale = decoder.word("scale");
  const std::string a = decoder.selector("A"), b = decoder.selector("B");
  const bool signed_a = is_signed(decoder, "atype"), signed_b = is_signed(decoder, "btype");
  const ProductPlan plan{.a = part_of(a, signed_a || a.empty()),
                         .b = part_of(b, signed_b || b.empty()),
                         .is_signed = signed_a || signed_b,
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
  std::vector<Part> a, b;  // of both sources in sequence, lowest element first
  std::vector<Part> d;
  std::vector<bool> written = {};
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
  const PrimaryOperation* primary = find_operation(decoder);
  if (primary == nullptr) return decoder.emit(nullptr);
  SimdPlan plan{
      .primary = primary->apply,
      .a = parts_of(decoder.selector("A"), count, is_signed(decoder, "atype"), 0),
      .b = parts_of(decoder.selector("B"), count, is_signed(decoder, "btype"), static_cast<int>(count)),
      .d = parts_of("", count, is_signed(decoder, "dtype"), 0),
      .saturate = decoder.has("sat"),
      .add = decoder.has("add")};
  for (std::size_t i = 0; i < count; ++i)
    plan.written.push_back(written.empty() || written.find(static_cast<char>('0' + i)) != std::string::npos);
  decoder.emit(&run_simd, std::make_shared<SimdPlan>(plan));
}

void decode_pairs(Decoder& decoder) { decode_simd(decoder, 2); }
void decode_quads(Decoder& decoder) { decode_simd(decoder, 4); }

constexpr std::array kForms{
    Semantics{"video", decode_video, {FlowRule::smear}},
    Semantics{"video.second", decode_video, {FlowRule::smear}},
    Semantics{"video.merge", decode_video, {FlowRule::smear}},
    Semantics{"vmad", decode_product, {FlowRule::smear}},
    Semantics{"video.pairs", decode_pairs, {FlowRule::smear}},
    Semantics{"video.quads", decode_quads, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> video_semantics() { return kForms; }

}  // namespace ptxloom::exec
