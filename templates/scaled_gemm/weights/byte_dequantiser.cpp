// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weights/byte_dequantiser.hpp"

#include <algorithm>
#include <cmath>

#include "ptxloom/kit/scaled_format.hpp"
#include "scaled_gemm/weights/halves.hpp"
#include "scaled_gemm/weights/wide_dequantiser.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr int kMostRun = 128;  // elements of k
constexpr int kTableRows = 20,
              kTableRowBytes = 8;  // of the table: 2^-19 of the largest magnitude is rounded to 0
constexpr int kOrAnd = 0xf8;       // lop3: a | (b & c)
constexpr std::uint32_t kByteSigns = 0x8080'8080;  // of four e4m3
constexpr std::uint32_t kSignsOfIntegers = 0x8888'8888, kMagnitudeCodes = 0x7777'7777;
constexpr std::uint32_t kSignsWithCarries = 0x7f7f'7f80;
constexpr std::uint32_t kLeastFloat = 0x0040'0000;  // 2^-127 in f32, the scale of code 0
constexpr int kMantissaBits = 23;

constexpr std::uint32_t kHighHalves = 0xf0f0'f0f0, kLowHalves = 0x0f0f'0f0f;  // of bytes
constexpr float kSixteenth = 0x1p-4F;
/// The bits of 1.5 * 2^23: an integer of 23 bits added to them is added to the number.
constexpr std::int64_t kIntegerBits = 0x4b40'0000;
constexpr float kIntegerBase = 0x1.8p23F;

/// Entries of integers: e4m3 of 0 to 7 with a sign, and of -8 to -1 less 0x7f.
constexpr std::array<std::uint32_t, 2> kPositive = {0xc4c0'b880, 0xcecc'cac8};
constexpr std::array<std::uint32_t, 2> kNegative = {0x4b4d'4f51, 0x3941'4549};

/// High bytes of f16: an eighth of 0, 0.5, 1, 1.5, 2, 3, 4 and 6. Times a ue4m3 they are below 448.
constexpr std::array<std::uint32_t, 2> kEighths = {0x3230'2c00, 0x3a38'3634};
constexpr float kEight = 8;

/// f16: 2^15 as an exponent, the least normal one's distance from it, and the lowest bit of an exponent.
constexpr int kLargestPower = 15, kMostApart = 29, kPowerBit = 10;

/// The power of two that elements can be multiplied by so that e4m3 has them, as an exponent.
int first_power(const Problem& p) {
  return std::ilogb(kit::find_scaled_format("e4m3")->largest /
                    kit::find_scaled_format(p.b.format.name)->largest);
}

}  // namespace

int run_depth(const Problem& p, int tile_k) {
  const int most = std::min(tile_k, kMostRun);
  return p.b.integers() ? std::min(most, static_cast<int>(p.b.format.block)) : most;
}

void promote(KernelBuilder& k, Reg sum, Reg accumulator, Reg factor) {
  if (accumulator.type != f32) {
    const Reg bits = k.add(KernelBuilder::as(u32, accumulator), kIntegerBits);
    accumulator = k.sub(KernelBuilder::as(f32, bits), kIntegerBase);
  }
  k.emit("fma.rn.f32", sum, accumulator, factor, sum);
}

void scale_sum(KernelBuilder& k, Reg sum, Reg accumulator, Reg factor) {
  if (accumulator.type != f32) accumulator = k.convert(f32, KernelBuilder::as(s32, accumulator));
  k.emit("mul.rn.f32", sum, accumulator, factor);
}

int ByteDequantiser::table_bytes(const Problem& p) {
  const bool mxfp4 = p.b.format.element == e2m1 && p.b.format.scale == ue8m0;
  return p.row_scales() && mxfp4 ? kTableRows * kTableRowBytes : 0;
}

void ByteDequantiser::fill_table(KernelBuilder& k, const Problem& p, Reg table, Reg thread) {
  if (table_bytes(p) == 0) return;
  k.if_(k.lt(thread, kTableRows), [&] {
    // 2^-row, by its exponent.
    const Reg power = KernelBuilder::as(f32, k.shl(k.sub(k.mov(u32, 127), thread), kMantissaBits));
    const Reg scale = k.mul(power, std::ldexp(1.0F, first_power(p)));
    std::vector<Reg> pairs;
    for (const auto& [low, high] : {std::pair{0.0F, 0.5F}, {1.0F, 1.5F}, {2.0F, 3.0F}, {4.0F, 6.0F}}) {
      pairs.push_back(k.reg(b16));
      k.emit("cvt.rn.satfinite.e4m3x2.f32", pairs.back(), k.mul(scale, high), k.mul(scale, low));
    }
    const std::vector words{k.pack(b32, std::span(pairs).first(2)), k.pack(b32, std::span(pairs).last(2))};
    k.emit("st.shared.v2.b32", k.at(k.fma(thread, kTableRowBytes, table)), words);
  });
}

ByteDequantiser::ByteDequantiser(KernelBuilder& k, const Problem& p, Reg table)
    : k_(k), p_(p), table_(table), zero_(k.mov(b32, 0)) {
  if (p.a.format.element == s8) return;
  const auto constants = [&](const std::array<std::uint32_t, 2>& words) {
    return std::array{k.mov(b32, std::int64_t{words[0]}), k.mov(b32, std::int64_t{words[1]})};
  };
  if (p.b.weights().in_pairs()) {
    pairs_.emplace(k, p, f16, p.b.integers() ? 0 : kLargestPower - first_power(p));
  } else if (p.b.integers()) {
    positive_ = constants(kPositive);
    negative_ = constants(kNegative);
  } else if (p.b.format.scale == ue4m3) {
    scales_.emplace(k, p, f16, 0);
    magnitudes_ = constants(kEighths);
  }
}

ByteDequantiser::Run ByteDequantiser::run_of(std::span<const Reg> scales) {
  if (p_.b.integers()) return integer_run(scales);
  if (p_.b.format.scale == ue8m0) return float_run(scales);
  const Reg eight = k_.mov(f32, kEight);
  return {.factor = {eight, eight}};
}

ByteDequantiser::Run ByteDequantiser::float_run(std::span<const Reg> scales) {
  std::optional<Reg> largest;
  for (const Reg& one : scales) {
    const Reg halves = k_.op("prmt.b32", one, zero_, kBytesToHalves);
    largest = largest ? larger_halves(k_, *largest, halves) : halves;
  }
  return run_of_largest(*largest);
}

ByteDequantiser::Run ByteDequantiser::run_of_largest(Reg largest) {
  Run run{.largest = largest};
  const std::array exponents{k_.shl(run.largest, kMantissaBits),
                             k_.shl(k_.shr(KernelBuilder::as(u32, run.largest), 16), kMantissaBits)};
  for (std::size_t i = 0; i < 2; ++i) {
    const Reg bits = k_.max(KernelBuilder::as(u32, exponents[i]), std::int64_t{kLeastFloat});
    const Reg power = KernelBuilder::as(f32, bits);
    const Reg number = k_.fma(power, 0.0F, power);  // 255 would be infinity, and is NaN
    run.factor[i] = k_.mul(number, std::ldexp(1.0F, -first_power(p_)));
  }
  return run;
}

ByteDequantiser::Run ByteDequantiser::integer_run(std::span<const Reg> scales) {
  Run run{.factor = scales_in_f32(k_, p_.b.format.scale, scales)};
  if (p_.a.format.element == s8 && !p_.b.zero_points())
    for (Reg& factor : run.factor) factor = k_.mul(factor, kSixteenth);
  return run;
}

ByteDequantiser::Group ByteDequantiser::group_of(const Run& run, Reg scales, Reg zeros) {
  if (p_.b.zero_points()) return {.offset = pairs_ ? pairs_->offsets(zeros) : zero_bytes(zeros)};
  if (p_.b.integers()) return {};
  if (scales_) return {.scale = scales_->of_e4m3(scales, 0)};
  const Reg halves = k_.op("prmt.b32", scales, zero_, kBytesToHalves);
  // No half is less than the one it is subtracted from, so nothing is borrowed.
  const Reg apart = k_.sub(KernelBuilder::as(u32, run.largest), KernelBuilder::as(u32, halves));
  if (pairs_) return {.scale = powers_of_two(apart)};
  return {.tables = tables_of(apart)};
}

/// Of each row, in the four bytes of a register.
std::array<Reg, 2> ByteDequantiser::zero_bytes(Reg zeros) {
  const Reg points = k_.and_(zeros, std::int64_t{kZeroPointMask << 8 | kZeroPointMask});
  return {k_.op("prmt.b32", points, zero_, 0x0000), k_.op("prmt.b32", points, zero_, 0x1111)};
}

std::array<std::array<Reg, 2>, 2> ByteDequantiser::tables_of(Reg apart) {
  std::array<std::array<Reg, 2>, 2> tables;
  const Reg rows =
      KernelBuilder::as(u32, smaller_halves(k_, apart, k_.mov(b32, both_halves(kTableRows - 1))));
  const std::array of_rows{k_.and_(rows, 0xffff), k_.shr(rows, 16)};
  for (std::size_t i = 0; i < 2; ++i) {
    tables[i] = {k_.reg(b32), k_.reg(b32)};
    k_.emit("ld.shared.v2.b32", std::vector<Reg>{tables[i][0], tables[i][1]},
            k_.at(k_.fma(of_rows[i], kTableRowBytes, table_)));
  }
  return tables;
}

/// 2^(15 - d) in f16, for both rows.
std::array<Reg, 2> ByteDequantiser::powers_of_two(Reg apart) {
  const Reg least = smaller_halves(k_, apart, k_.mov(b32, both_halves(kMostApart)));
  const Reg exponents = k_.sub(k_.mov(u32, both_halves(kMostApart + 1)), KernelBuilder::as(u32, least));
  const Reg powers = k_.shl(exponents, kPowerBit);
  return {k_.op("prmt.b32", powers, powers, 0x1010), k_.op("prmt.b32", powers, powers, 0x3232)};
}

void ByteDequantiser::make(std::span<const Reg> unit, int number, const Group& group,
                           std::span<const Reg> into) {
  if (p_.a.format.element == s8) return bytes(unit.front(), group, into);
  if (pairs_) return pairs(unit, number, group, into);
  if (scales_) return scaled_floats(unit.front(), group, into);
  p_.b.integers() ? integers(unit.front(), into) : floats(unit.front(), group, into);
}

void ByteDequantiser::bytes(Reg word, const Group& group, std::span<const Reg> into) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (!p_.b.zero_points()) {
      k_.emit("and.b32", into[i], i == 0 ? k_.shl(word, 4) : word, std::int64_t{kHighHalves});
      continue;
    }
    const Reg codes = k_.and_(i == 0 ? word : k_.shr(word, 4), std::int64_t{kLowHalves});
    const Reg lent = KernelBuilder::as(u32, k_.or_(codes, std::int64_t{kByteSigns}));
    k_.emit("xor.b32", into[i], k_.sub(lent, KernelBuilder::as(u32, group.offset[i])),
            std::int64_t{kByteSigns});
  }
}

void ByteDequantiser::integers(Reg word, std::span<const Reg> into) {
  const Reg flipped = k_.xor_(word, std::int64_t{kSignsOfIntegers});
  for (std::size_t i = 0; i < 2; ++i) {
    const auto half = [&](Reg codes) { return i == 0 ? codes : k_.shr(codes, 16); };
    const Reg low = k_.op("prmt.b32", positive_[0], positive_[1], half(word));
    const Reg high = k_.op("prmt.b32", negative_[0], negative_[1], half(flipped));
    const Reg both = k_.add(KernelBuilder::as(u32, low), KernelBuilder::as(u32, high));
    k_.emit("add.u32", into[i], both, std::int64_t{kSignsWithCarries});
  }
}

void ByteDequantiser::floats(Reg word, const Group& group, std::span<const Reg> into) {
  for (std::size_t i = 0; i < 2; ++i) look_up(into[i], word, i, group.tables[i]);
}

void ByteDequantiser::scaled_floats(Reg word, const Group& group, std::span<const Reg> into) {
  for (std::size_t i = 0; i < 2; ++i) {
    const Reg high = k_.reg(b32);
    look_up(high, word, i, magnitudes_);
    round(into[i], scaled(k_.op("prmt.b32", high, zero_, 0x1404), group.scale[i]),
          scaled(k_.op("prmt.b32", high, zero_, 0x3424), group.scale[i]));
  }
}

void ByteDequantiser::look_up(Reg into, Reg word, std::size_t reg, const std::array<Reg, 2>& table) {
  const Reg codes = k_.and_(word, std::int64_t{kMagnitudeCodes});
  const Reg magnitudes = k_.op("prmt.b32", table[0], table[1], reg == 0 ? codes : k_.shr(codes, 16));
  const Reg signs = reg == 0 ? word : k_.shl(word, 4);
  k_.emit("lop3.b32", into, magnitudes, signs, std::int64_t{kByteSigns}, kOrAnd);
}

void ByteDequantiser::pairs(std::span<const Reg> unit, int number, const Group& group,
                            std::span<const Reg> into) {
  const std::array<Reg, 4> values = pairs_->values(unit, number, group.offset);
  for (std::size_t i = 0; i < 2; ++i) {
    const Reg low = values[2 * i], high = values[2 * i + 1];
    if (p_.b.integers())
      round(into[i], low, high);
    else
      round(into[i], scaled(low, group.scale[i]), scaled(high, group.scale[i]));
  }
}

Reg ByteDequantiser::scaled(Reg pair, Reg scale) { return k_.op("mul.rn.f16x2", pair, scale); }

/// Four e4m3 of two pairs of f16.
void ByteDequantiser::round(Reg into, Reg low, Reg high) {
  std::vector<Reg> halves;
  for (const Reg& pair : {low, high}) {
    halves.push_back(k_.reg(b16));
    k_.emit("cvt.rn.satfinite.e4m3x2.f16x2", halves.back(), pair);
  }
  k_.emit("mov.b32", into, halves);
}

}  // namespace ptxloom::scaled_gemm
