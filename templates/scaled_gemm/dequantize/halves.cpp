// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/dequantize/halves.hpp"

#include <algorithm>
#include <span>

#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/narrow.hpp"
#include "scaled_gemm/weights/halves.hpp"
#include "scaled_gemm/weights/wide_dequantiser.hpp"

namespace ptxloom::scaled_gemm::dequantize {
namespace {

constexpr std::int64_t kCodeOfUe4m3 = 0x7f;

/// Of e2m1 in a bf16: bits 0 to 2 of a code are the lowest exponent bits and the highest mantissa bit, which
/// makes 2^-126 times the magnitude.
constexpr std::int64_t kSigns = 0x8000'8000, kMagnitudes = 0x01c0'01c0, kTwoTo126 = 0x7e80'7e80;
constexpr int kSignShift = 12, kMagnitudeShift = 6;       // of an element's code in the lowest bits
constexpr int kLowHalves = 0x5410, kHighHalves = 0x7632;  // prmt: of two registers

/// Bytes of a chunk in global memory, and in words those that have elements: of 6 bits 12 of 16 bytes.
int chunk_bytes(const Operand& operand) { return operand.format.element.bits == 4 ? 8 : 16; }
int chunk_words(const Operand& operand) { return kit::narrow_words(operand.format.element, kChunk); }

}  // namespace

kit::SwizzledTile packed_tile(const Operand& operand, int rows, int depth) {
  return kit::fragment_tile(u8, true, rows, depth / kChunk * chunk_bytes(operand));
}

kit::SwizzledTile halves_tile(int rows, int depth) { return kit::fragment_tile(bf16, true, rows, depth); }

Halves::Halves(KernelBuilder& k, const Operand& operand, const HalvesShape& shape, const HalvesInputs& in)
    : k_(k),
      operand_(operand),
      shape_(shape),
      in_(in),
      packed_(packed_tile(operand, shape.rows, shape.depth)),
      halves_(halves_tile(shape.rows, shape.depth)) {
  const int of_row = shape.depth / kChunk, all = shape.rows * of_row;
  chunks_ = std::max(1, all / shape.threads);
  row_step_ = shape.threads / of_row;
  if (all < shape.threads) inside_ = k.lt(in.thread, all);
  const Reg row = k.div(in.thread, of_row), chunk = k.rem(in.thread, of_row);
  row_ = k.add(in.origin, row);
  if (operand.scaled()) column_ = k.div(k.mul(chunk, kChunk), static_cast<int>(operand.format.block));
  from_ = k.add(in.packed, packed_.address(k, row, k.mul(chunk, chunk_bytes(operand))));
  to_ = k.add(in.halves, halves_.address(k, row, k.mul(chunk, kChunk * bf16.bytes())));
  for (int i = 0; operand.scaled() && i < chunks_; ++i) scales_.push_back(k.reg(u32));
}

// Groups behind the last one have the smallest scale, and rows behind the last one its scales. Neither
// reaches D.
void Halves::load_scales() {
  if (!operand_.scaled()) return;
  const Reg exists = k_.lt(column_, in_.count), last = k_.sub(in_.extent, 1);
  for (int i = 0; i < chunks_; ++i) {
    const Reg row = k_.min(k_.add(row_, i * row_step_), last);
    const Reg address = k_.add(k_.mad_wide(row, in_.count, in_.scales), k_.convert(u64, column_));
    k_.emit("mov.u32", scales_[static_cast<std::size_t>(i)], 0);
    k_.guarded(exists, [&] {
      k_.emit("ld.global.nc.u8", scales_[static_cast<std::size_t>(i)], KernelBuilder::at(address, 0));
    });
  }
  k_.set(column_, k_.add(column_, shape_.depth / static_cast<int>(operand_.format.block)));
}

void Halves::convert(Reg stage, Reg buffer) {
  const auto all = [&] {
    const Reg packed = k_.add(from_, stage), halves = k_.fma(buffer, halves_.bytes(), to_);
    for (int i = 0; i < chunks_; ++i) convert_chunk(i, packed, halves);
  };
  inside_ ? k_.if_(*inside_, all) : all();
}

void Halves::convert_chunk(int number, Reg packed, Reg halves) {
  const std::vector<Reg> words = k_.regs(b32, chunk_bytes(operand_) / 4);
  const std::string opcode = words.size() == 2 ? "ld.shared.v2.b32" : "ld.shared.v4.b32";
  k_.emit(opcode, words, packed_.at(k_, packed, number * row_step_, 0));
  std::optional<Reg> own;
  if (operand_.scaled()) own = scale(scales_[static_cast<std::size_t>(number)]);
  const auto elements = std::span(words).first(static_cast<std::size_t>(chunk_words(operand_)));
  const std::vector<Reg> pairs =
      operand_.format.element == e2m1 ? pairs_of_e2m1(elements, own) : pairs_of(elements, own);
  for (std::size_t i = 0; i < pairs.size(); i += 4)
    k_.emit("st.shared.v4.b32", halves_.at(k_, halves, number * row_step_, static_cast<int>(4 * i)),
            std::span<const Reg>(pairs).subspan(i, 4));
}

std::vector<Reg> Halves::pairs_of(std::span<const Reg> words, std::optional<Reg> scale) {
  std::vector<Reg> values = kit::widen_values(k_, operand_.format.element, kChunk, words), pairs;
  for (std::size_t i = 0; scale && i < values.size(); ++i) values[i] = k_.mul(values[i], *scale);
  for (std::size_t i = 0; i < values.size(); i += 2) {
    pairs.push_back(k_.reg(b32));
    k_.emit("cvt.rn.bf16x2.f32", pairs.back(), values[i + 1], values[i]);
  }
  return pairs;
}

// Element i of a word meets element i + 4, which is in the same place of the other half.
std::vector<Reg> Halves::pairs_of_e2m1(std::span<const Reg> words, std::optional<Reg> scale) {
  const Reg power = k_.mov(b32, kTwoTo126), scales = k_.reg(b32);
  if (scale) k_.emit("cvt.rn.bf16x2.f32", scales, *scale, *scale);
  std::vector<Reg> pairs;
  for (const Reg& word : words) {
    std::vector<Reg> apart;
    for (int i = 0; i < 4; ++i) {
      const Reg magnitudes = k_.and_(shifted(k_, word, kMagnitudeShift - 4 * i), kMagnitudes);
      const Reg bits =
          k_.op("lop3.b32", shifted(k_, word, kSignShift - 4 * i), k_.mov(b32, kSigns), magnitudes, kAndOr);
      const Reg value = product_of_halves(k_, bf16, bits, power);
      apart.push_back(scale ? product_of_halves(k_, bf16, value, scales) : value);
    }
    for (const int half : {kLowHalves, kHighHalves})
      for (std::size_t i = 0; i < apart.size(); i += 2)
        pairs.push_back(k_.op("prmt.b32", apart[i], apart[i + 1], half));
  }
  return pairs;
}

// A ue4m3 is an e4m3 without its sign.
Reg Halves::scale(Reg code) {
  if (operand_.format.scale == ue8m0) return power_of_two(k_, code);
  return kit::widen_values(k_, e4m3, 1, std::vector{KernelBuilder::as(b32, k_.and_(code, kCodeOfUe4m3))})
      .front();
}

}  // namespace ptxloom::scaled_gemm::dequantize
