// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/byte_dequantiser.hpp"

#include <algorithm>

#include "scaled_gemm/halves.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr int kMostRun = 128;  // elements of k
constexpr int kTableRows = 20,
              kTableRowBytes = 8;    // of the table: 2^-19 of the largest magnitude is rounded to 0
constexpr float kFirstRow = 0x1p6F;  // what the first row has been multiplied by
constexpr int kOrAnd = 0xf8;         // lop3: a | (b & c)
constexpr std::uint32_t kByteSigns = 0x8080'8080;  // of four e4m3
constexpr std::uint32_t kSignsOfIntegers = 0x8888'8888, kMagnitudeCodes = 0x7777'7777;
constexpr std::uint32_t kSignsWithCarries = 0x7f7f'7f80;
constexpr std::uint32_t kLeastFloat = 0x0040'0000;  // 2^-127 in f32, the scale of code 0
constexpr int kMantissaBits = 23;

constexpr std::uint32_t kHighHalves = 0xf0f0'f0f0;  // of bytes
constexpr float kSixteenth = 0x1p-4F;
/// The bits of 1.5 * 2^23: an integer of 23 bits added to them is added to the number.
constexpr std::int64_t kIntegerBits = 0x4b40'0000;
constexpr float kIntegerBase = 0x1.8p23F;

/// Entries of integers: e4m3 of 0 to 7 with a sign, and of -8 to -1 less 0x7f.
constexpr std::array<std::uint32_t, 2> kPositive = {0xc4c0'b880, 0xcecc'cac8};
constexpr std::array<std::uint32_t, 2> kNegative = {0x4b4d'4f51, 0x3941'4549};

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

int ByteDequantiser::table_bytes(const Problem& p) {
  return p.row_scales() && !p.b.integers() ? kTableRows * kTableRowBytes : 0;
}

void ByteDequantiser::fill_table(KernelBuilder& k, const Problem& p, Reg table, Reg thread) {
  if (table_bytes(p) == 0) return;
  k.if_(k.lt(thread, kTableRows), [&] {
    // 2^-row, by its exponent.
    const Reg power = KernelBuilder::as(f32, k.shl(k.sub(k.mov(u32, 127), thread), kMantissaBits));
    const Reg scale = k.mul(power, kFirstRow);
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
  if (!p.b.integers()) last_ = k.mov(b32, both_halves(kTableRows - 1));
  for (std::size_t i = 0; p.b.integers() && i < 2; ++i) {
    positive_[i] = k.mov(b32, static_cast<std::int64_t>(kPositive[i]));
    negative_[i] = k.mov(b32, static_cast<std::int64_t>(kNegative[i]));
  }
}

ByteDequantiser::Run ByteDequantiser::run_of(std::span<const Reg> scales) {
  if (p_.b.integers()) return integer_run(scales);
  Run run;
  for (const Reg& one : scales) {
    const Reg halves = k_.op("prmt.b32", one, zero_, kBytesToHalves);
    run.largest = &one == &scales.front() ? halves : larger_halves(k_, run.largest, halves);
  }
  const std::array exponents{k_.shl(run.largest, kMantissaBits),
                             k_.shl(k_.shr(KernelBuilder::as(u32, run.largest), 16), kMantissaBits)};
  for (std::size_t i = 0; i < 2; ++i) {
    const Reg bits = k_.max(KernelBuilder::as(u32, exponents[i]), std::int64_t{kLeastFloat});
    const Reg power = KernelBuilder::as(f32, bits);
    const Reg number = k_.fma(power, 0.0F, power);  // 255 would be infinity, and is NaN
    run.factor[i] = k_.mul(number, 1 / kFirstRow);
  }
  return run;
}

// A bf16 is the high half of an f32.
ByteDequantiser::Run ByteDequantiser::integer_run(std::span<const Reg> scales) {
  const Reg& both = scales.front();
  const std::array bits = p_.b.wide_scales()
                              ? std::array{scales[0], scales[1]}
                              : std::array{k_.shl(both, 16), k_.and_(both, std::int64_t{0xffff'0000})};
  Run run{.factor = {KernelBuilder::as(f32, bits[0]), KernelBuilder::as(f32, bits[1])}};
  if (p_.a.format.element == s8)
    for (Reg& factor : run.factor) factor = k_.mul(factor, kSixteenth);
  return run;
}

ByteDequantiser::Tables ByteDequantiser::tables_of(const Run& run, Reg scales) {
  Tables tables;
  if (p_.b.integers()) return tables;
  const Reg halves = k_.op("prmt.b32", scales, zero_, kBytesToHalves);
  // No half is less than the one it is subtracted from, so nothing is borrowed.
  const Reg apart = k_.sub(KernelBuilder::as(u32, run.largest), KernelBuilder::as(u32, halves));
  const Reg rows = KernelBuilder::as(u32, smaller_halves(k_, apart, last_));
  const std::array of_rows{k_.and_(rows, 0xffff), k_.shr(rows, 16)};
  for (std::size_t i = 0; i < 2; ++i) {
    tables[i] = {k_.reg(b32), k_.reg(b32)};
    k_.emit("ld.shared.v2.b32", std::vector<Reg>{tables[i][0], tables[i][1]},
            k_.at(k_.fma(of_rows[i], kTableRowBytes, table_)));
  }
  return tables;
}

void ByteDequantiser::make(Reg word, const Tables& tables, std::span<const Reg> into) {
  if (p_.a.format.element == s8) return bytes(word, into);
  p_.b.integers() ? integers(word, into) : floats(word, tables, into);
}

void ByteDequantiser::bytes(Reg word, std::span<const Reg> into) {
  for (std::size_t i = 0; i < 2; ++i)
    k_.emit("and.b32", into[i], i == 0 ? k_.shl(word, 4) : word, std::int64_t{kHighHalves});
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

void ByteDequantiser::floats(Reg word, const Tables& tables, std::span<const Reg> into) {
  const Reg codes = k_.and_(word, std::int64_t{kMagnitudeCodes});
  for (std::size_t i = 0; i < 2; ++i) {
    const Reg magnitudes = k_.op("prmt.b32", tables[i][0], tables[i][1], i == 0 ? codes : k_.shr(codes, 16));
    const Reg signs = i == 0 ? word : k_.shl(word, 4);
    k_.emit("lop3.b32", into[i], magnitudes, signs, std::int64_t{kByteSigns}, kOrAnd);
  }
}

}  // namespace ptxloom::scaled_gemm
