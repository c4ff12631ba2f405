// SPDX-License-Identifier: Apache-2.0
// ldmatrix of elements with 4, 6 and 8 bits, by that of 8 x 8 matrices of b16.
//
// Rows have 16 bytes in all shapes, so the same addresses serve. A lane is written as 4 c + j: without .trans
// it gets word j of row c, with .trans the b16 of column c in rows 2 j and 2 j + 1.
#include <array>
#include <string>

#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

constexpr std::uint32_t kEvenBytes = 0x6420, kOddBytes = 0x7531, kLowHalves = 0x5410, kHighHalves = 0x7632;

std::vector<Reg> load(Emitter& emit, int matrices, const char* trans, Reg address) {
  const std::string opcode =
      "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) + trans + ".shared.b16";
  return emit.several(opcode, KernelBuilder::at(address));
}

/// Some bits of a word, and others moved left.
Reg spread(Emitter& emit, Reg word, std::uint32_t kept, int shift, std::uint32_t moved) {
  const Reg stay = emit("and.b32", word, kept);
  return emit.and_or(emit("shl.b32", word, shift), moved, stay);
}

int bits_of(const Variant& variant) { return variant.slot("from") == "b4x16_p64" ? 4 : 6; }

// Lane j needs the half word j: a half of word j / 2.
std::vector<Reg> rows_of_4_bits(Emitter& emit, std::span<const Reg> words) {
  const Reg lane = emit.special("laneid"), from = emit("shr.u32", emit("and.b32", lane, 3), 1);
  const Reg source = emit.and_or(lane, 28, from);
  const Reg half = emit("mad.lo.u32", emit("and.b32", lane, 1), 0x2222, 0x1100);
  std::vector<Reg> results;
  for (const Reg word : words) {
    const Reg other = emit.from_lane(word, source);
    const Reg twice = emit("prmt.b32", other, other, half);  // each byte for two elements
    const Reg upper = emit("shr.u32", twice, 4), lower = emit("and.b32", twice, 0x000f'000f);
    results.push_back(emit.and_or(upper, 0x0f00'0f00, lower));
  }
  return results;
}

// Lane j needs the bytes 3 j to 3 j + 2, which are in words 3 j / 4 and, if they cross its end, the next. The
// fourth word of a row is padding, which is not read.
std::vector<Reg> rows_of_6_bits(Emitter& emit, std::span<const Reg> words) {
  const Reg lane = emit.special("laneid"), j = emit("and.b32", lane, 3), byte = emit("mul.lo.u32", j, 3);
  const auto source = [&](Reg word) { return emit.and_or(lane, 28, word); };
  const Reg first = source(emit("shr.u32", byte, 2)), last = source(emit("min.u32", j, 2));
  const Reg bytes = emit("mad.lo.u32", emit("and.b32", byte, 3), 0x0111, 0x0210);
  std::vector<Reg> results;
  for (const Reg word : words) {
    const Reg packed = emit("prmt.b32", emit.from_lane(word, first), emit.from_lane(word, last), bytes);
    const Reg pairs = spread(emit, packed, 0x0000'0fff, 4, 0x0fff'0000);
    results.push_back(spread(emit, pairs, 0x003f'003f, 2, 0x3f00'3f00));
  }
  return results;
}

std::vector<Reg> narrow_rows(Emitter& emit, const Variant& variant, std::span<const Reg> inputs) {
  const std::vector<Reg> words = load(emit, variant.slot_int("num"), "", inputs[0]);
  return bits_of(variant) == 4 ? rows_of_4_bits(emit, words) : rows_of_6_bits(emit, words);
}

/// Of each matrix of 16 rows two registers: the b16 of column c in rows 4 j and 4 j + 1, and in the next two.
/// So the first 8 x 8 matrix has rows 0, 1, 4, 5 ..., and the second 2, 3, 6, 7 ...
std::vector<Reg> transposed_words(Emitter& emit, const Variant& variant, Reg address) {
  const Reg lane = emit.special("laneid"), second = emit("shr.u32", emit("and.b32", lane, 8), 2);
  const Reg rows = emit.and_or(lane, 0x11, second);
  const Reg source = emit.and_or(emit("shl.b32", lane, 1), 0xc, rows);
  return load(emit, 2 * variant.slot_int("num"), ".trans", emit.from_lane(address, source));
}

// A lane has columns 2 c and 2 c + 1 and needs columns c and c + 8, which are in columns c / 2 and c / 2 + 4
// of the words. In the first exchange lanes below 16 send the even column and others the odd one, in the
// second the reverse, so that each value that is sent is needed by one lane.
std::vector<Reg> byte_columns(Emitter& emit, const Variant& variant, std::span<const Reg> inputs) {
  const std::vector<Reg> words = transposed_words(emit, variant, inputs[0]);
  const Reg lane = emit.special("laneid"), is_low = emit("setp.lt.u32", lane, 16);
  const Reg first_bytes = emit("selp.b32", kEvenBytes, kOddBytes, is_low);
  const Reg second_bytes = emit("selp.b32", kOddBytes, kEvenBytes, is_low);
  const Reg odd = emit("and.b32", lane, 4), is_even = emit("setp.eq.u32", odd, 0);
  const Reg same = emit.and_or(emit("shr.u32", lane, 1), 0xc, emit("and.b32", lane, 3));
  const Reg first_from = emit("or.b32", same, emit("shl.b32", odd, 2));
  const Reg second_from = emit("xor.b32", first_from, 16);
  std::vector<Reg> results;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto exchanged = [&](Reg bytes, Reg from) {
      return emit.from_lane(emit("prmt.b32", words[i], words[i + 1], bytes), from);
    };
    const Reg first = exchanged(first_bytes, first_from), second = exchanged(second_bytes, second_from);
    results.push_back(emit("selp.b32", first, second, is_even));
    results.push_back(emit("selp.b32", second, first, is_even));
  }
  return results;
}

/// Where a column of elements lies in the words: the lanes that have its first and its last bit, and the
/// position of the first.
struct Column {
  Reg first, last, bit;
};

/// Column c, which a lane's first register is for.
Column column_of_lane(Emitter& emit, int bits) {
  const Reg lane = emit.special("laneid"), begin = emit("mul.lo.u32", emit("shr.u32", lane, 2), bits);
  const Reg j = emit("and.b32", lane, 3);
  const auto holder = [&](Reg bit) {
    const std::uint32_t column = 0x1c;  // 4 times bit / 16
    return emit.and_or(emit("shr.u32", bit, 2), column, j);
  };
  return {holder(begin), holder(emit("add.u32", begin, bits - 1)), emit("and.b32", begin, 15)};
}

/// The elements of a column in two rows, each in the low bits of a register.
std::array<Reg, 2> rows_of_column(Emitter& emit, Reg words, const Column& column, int bits) {
  const Reg first = emit.from_lane(words, column.first);
  if (bits == 4) {  // an element is in one word
    const Reg both = emit("shr.u32", first, column.bit);
    return {both, emit("shr.u32", both, 16)};
  }
  const Reg last = emit.from_lane(words, column.last);
  return {emit("shr.u32", emit("prmt.b32", first, last, kLowHalves), column.bit),
          emit("shr.u32", emit("prmt.b32", first, last, kHighHalves), column.bit)};
}

std::vector<Reg> narrow_columns(Emitter& emit, const Variant& variant, std::span<const Reg> inputs) {
  const int bits = bits_of(variant), lanes_to_other = 8 * bits / 16 * 4;  // from column c to c + 8
  const std::uint32_t mask = ((1U << bits) - 1) * 0x0101'0101, low_bytes = 0x0040;
  const std::vector<Reg> words = transposed_words(emit, variant, inputs[0]);
  const Column low = column_of_lane(emit, bits);
  const Column high{emit("add.u32", low.first, lanes_to_other), emit("add.u32", low.last, lanes_to_other),
                    low.bit};
  std::vector<Reg> results;
  for (std::size_t i = 0; i < words.size(); i += 2)
    for (const Column& column : {low, high}) {
      const auto pair = [&](Reg word) {
        const auto [even, odd] = rows_of_column(emit, word, column, bits);
        return emit("prmt.b32", even, odd, low_bytes);
      };
      const Reg bytes = emit("prmt.b32", pair(words[i]), pair(words[i + 1]), kLowHalves);
      results.push_back(emit("and.b32", bytes, mask));
    }
  return results;
}

constexpr std::string_view kNarrow = "b6x16_p32 b4x16_p64";

constexpr std::array kLoads{
    Fallback{
        "ldmatrix",
        {{{"shape", "m8n16"}, {"num", "1 2 4"}, {"trans", "-"}, {"space", kSharedSpaces}, {"from", kNarrow}}},
        nullptr,
        narrow_rows},
    Fallback{"ldmatrix",
             {{{"shape", "m16n16"}, {"num", "1 2"}, {"space", kSharedSpaces}, {"type", "b8"}}},
             nullptr,
             byte_columns},
    Fallback{"ldmatrix",
             {{{"shape", "m16n16"}, {"num", "1 2"}, {"space", kSharedSpaces}, {"from", kNarrow}}},
             nullptr,
             narrow_columns},
};

}  // namespace

std::span<const Fallback> fallbacks_of_matrix_loads() { return kLoads; }

}  // namespace ptxloom::lower
