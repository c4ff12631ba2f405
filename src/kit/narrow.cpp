// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/narrow.hpp"

#include <fmt/format.h>

#include "kit/integers.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/lower.hpp"

namespace ptxloom::kit {
namespace {

constexpr Type kPairOfE2m1{"e2m1x2", 8, TypeKind::floating, 2};
constexpr int kWordBits = 32, kPieceBits = 24;

/// What converts values in f32 to a type, or back; floats go by way of pairs.
///@{
std::string narrowing(Type type) {
  if (type.is_integer()) return fmt::format("cvt.pack.sat.{}.s32.b32", type.name);
  return fmt::format("cvt.rn.satfinite.{}x2.f32", type.name);
}
std::string widening(Type type) {
  if (type.is_integer()) return "bfe.s32";
  return fmt::format("cvt.rn.f16x2.{}x2", type.name);
}
///@}

bool target_has(const Specs& specs, const Target& target, const std::string& opcode) {
  return lower::support(specs, opcode, target) != lower::Support::none;
}

bool is_narrow(Type type) {
  return type == s8 || type == s4 || (type.is_float() && type.bits <= 8 && type != ue8m0 && type != ue5m3);
}

void require_narrow(bool holds, Type type, const Target& target) {
  if (!holds)
    throw Error(ErrorKind::usage, "operand-type",
                fmt::format("{} has no conversion between {} and f32", target.name(), type.name),
                "the types are s8, s4, e4m3, e5m2, e2m3, e3m2 and e2m1");
}

/// The values, with zeros up to a multiple of `to`.
std::vector<Reg> filled_up(KernelBuilder& k, std::span<const Reg> values, std::size_t to) {
  std::vector<Reg> all(values.begin(), values.end());
  if (all.size() % to == 0) return all;
  const Reg zero = k.mov(f32, 0.0F);
  all.resize(rounded_up(all.size(), to), zero);
  return all;
}

// cvt.pack puts its second operand into the lowest bits and shifts the third one up, so the last pair is
// first.
std::vector<Reg> narrow_integers(KernelBuilder& k, Type type, std::span<const Reg> values) {
  const auto each = static_cast<std::size_t>(kWordBits / type.bits);
  std::vector<Reg> words;
  const std::vector<Reg> all = filled_up(k, values, each);
  for (std::size_t word = 0; word < all.size(); word += each) {
    Reg packed = k.mov(b32, 0);
    for (std::size_t i = each; i > 0; i -= 2)
      packed = KernelBuilder::as(b32, k.op(narrowing(type), k.op("cvt.rni.s32.f32", all[word + i - 1]),
                                           k.op("cvt.rni.s32.f32", all[word + i - 2]), packed));
    words.push_back(packed);
  }
  return words;
}

/// Each pair of values as cvt has it: a b16, or of e2m1 a register of 8 bits.
std::vector<Reg> pairs_of(KernelBuilder& k, Type type, std::span<const Reg> values) {
  std::vector<Reg> pairs;
  for (std::size_t i = 0; i < values.size(); i += 2)
    pairs.push_back(lower::op(k, narrowing(type), values[i + 1], values[i]));
  return pairs;
}

std::vector<Reg> joined_pairs(KernelBuilder& k, const std::vector<Reg>& parts, std::size_t each) {
  std::vector<Reg> words;
  for (std::size_t i = 0; i < parts.size(); i += each)
    words.push_back(k.pack(b32, std::span(parts).subspan(i, each)));
  return words;
}

Reg masked_or_shifted(KernelBuilder& k, Reg word, std::uint32_t low, std::uint32_t high, int bits) {
  const Reg moved = bits > 0 ? k.shl(k.and_(word, high), bits) : k.shr(k.and_(word, high), -bits);
  return k.or_(k.and_(word, low), moved);
}

/// Four elements of 6 bits, each in a byte, without the gaps, and the reverse.
///@{
Reg without_gaps(KernelBuilder& k, Reg word) {
  return masked_or_shifted(k, masked_or_shifted(k, word, 0x003f'003f, 0x3f00'3f00, -2), 0x0fff, 0x0fff'0000,
                           -4);
}
Reg with_gaps(KernelBuilder& k, Reg piece) {
  return masked_or_shifted(k, masked_or_shifted(k, piece, 0x0fff, 0x00ff'f000, 4), 0x003f'003f, 0x0fc0'0fc0,
                           2);
}
///@}

/// Pieces of 24 bits, one after the other.
std::vector<Reg> dense_words(KernelBuilder& k, const std::vector<Reg>& pieces, int count) {
  std::vector<std::optional<Reg>> words(static_cast<std::size_t>(count));
  const auto add = [&](std::size_t word, Reg bits) {
    if (word < words.size()) words[word] = words[word] ? k.or_(*words[word], bits) : bits;
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t word = i * kPieceBits / kWordBits;
    const int shift = static_cast<int>(i * kPieceBits % kWordBits);
    add(word, shift == 0 ? pieces[i] : k.shl(pieces[i], shift));
    if (shift > kWordBits - kPieceBits) add(word + 1, k.shr(pieces[i], kWordBits - shift));
  }
  std::vector<Reg> dense;
  for (const std::optional<Reg>& word : words) dense.push_back(KernelBuilder::as(b32, *word));
  return dense;
}

/// The piece of 24 bits with this number; what is above it is of the next one.
Reg piece_of(KernelBuilder& k, std::span<const Reg> words, std::size_t i) {
  const std::size_t word = i * kPieceBits / kWordBits;
  const int shift = static_cast<int>(i * kPieceBits % kWordBits);
  const Reg low = shift == 0 ? words[word] : k.shr(KernelBuilder::as(u32, words[word]), shift);
  if (shift <= kWordBits - kPieceBits) return low;
  return k.or_(low, k.shl(words[word + 1], kWordBits - shift));
}

std::vector<Reg> widen_integers(KernelBuilder& k, Type type, std::span<const Reg> words) {
  std::vector<Reg> values;
  for (const Reg& word : words)
    for (int bit = 0; bit < kWordBits; bit += type.bits)
      values.push_back(k.convert(f32, k.op("bfe.s32", KernelBuilder::as(s32, word), bit, int{type.bits})));
  return values;
}

}  // namespace

bool can_narrow(const Specs& specs, const Target& target, Type type) {
  return is_narrow(type) && target_has(specs, target, narrowing(type));
}

bool can_widen(const Specs& specs, const Target& target, Type type) {
  return is_narrow(type) && target_has(specs, target, widening(type));
}

int narrow_words(Type type, int count) { return (count * type.bits + kWordBits - 1) / kWordBits; }

std::vector<Reg> narrow_values(KernelBuilder& k, Type type, std::span<const Reg> values) {
  require_narrow(can_narrow(k.specs(), k.target(), type), type, k.target());
  if (type.is_integer()) return narrow_integers(k, type, values);
  const std::size_t in_pair_word = type.bits == 4 ? 8 : 4;
  const std::vector<Reg> pairs = pairs_of(k, type, filled_up(k, values, in_pair_word));
  std::vector<Reg> words = joined_pairs(k, pairs, in_pair_word / 2);
  if (type.bits != 6) return words;
  for (Reg& word : words) word = without_gaps(k, word);
  return dense_words(k, words, narrow_words(type, static_cast<int>(values.size())));
}

std::vector<Reg> widen_values(KernelBuilder& k, Type type, int count, std::span<const Reg> words) {
  require_narrow(can_widen(k.specs(), k.target(), type), type, k.target());
  std::vector<Reg> values, spread(words.begin(), words.end());
  if (type.is_integer()) values = widen_integers(k, type, words);
  if (type.bits == 6) {
    spread.clear();
    for (int i = 0; i < count; i += 4)
      spread.push_back(with_gaps(k, piece_of(k, words, static_cast<std::size_t>(i / 4))));
  }
  for (std::size_t i = 0; type.is_float() && i < spread.size(); ++i)
    for (const Reg& pair : k.unpack(type.bits == 4 ? kPairOfE2m1 : b16, spread[i]))
      for (const Reg& half : k.unpack(b16, KernelBuilder::as(b32, lower::op(k, widening(type), pair))))
        values.push_back(k.convert(f32, KernelBuilder::as(f16, half)));
  values.resize(static_cast<std::size_t>(count));
  return values;
}

}  // namespace ptxloom::kit
