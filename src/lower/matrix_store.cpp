// SPDX-License-Identifier: Apache-2.0
// stmatrix of bytes by that of b16, and this by st.shared.
//
// Rows have 16 bytes in both shapes, so the same addresses serve. A lane is written as 4 c + j.
#include <array>
#include <string>

#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

// A lane has columns c and c + 8 in rows 2 j and 2 j + 1, of m16n8, and needs columns 2 c and 2 c + 1, of
// m8n8: the low or the high halves of the lanes with columns 2 c and 2 c + 1 (mod 8).
std::vector<Reg> store_bytes(Emitter& emit, const Variant& variant, std::span<const Reg> inputs) {
  const Reg lane = emit.special("laneid");
  const Reg even = emit.and_or(emit("shl.b32", lane, 1), 0x18, emit("and.b32", lane, 3));
  const Reg odd = emit("or.b32", even, 4);
  const std::uint32_t low_halves = 0x5140, high_halves = 0x7362;
  const Reg bytes = emit("selp.b32", low_halves, high_halves, emit("setp.lt.u32", lane, 16));
  std::vector<Reg> words;
  for (const Reg columns : inputs.subspan(1))
    words.push_back(emit("prmt.b32", emit.from_lane(columns, even), emit.from_lane(columns, odd), bytes));
  const std::string count(*variant.slot("num"));
  emit.append("stmatrix.sync.aligned.m8n8.x" + count + ".trans.shared.b16", KernelBuilder::at(inputs[0]),
              words);
  return {};
}

// A lane has word j of row c, whose address is that of lane 8 i + c for matrix i. With .trans it has the
// column, which movmatrix makes the row.
std::vector<Reg> store_words(Emitter& emit, const Variant& variant, std::span<const Reg> inputs) {
  const Reg lane = emit.special("laneid"), row = emit("shr.u32", lane, 2);
  const Reg offset = emit("shl.b32", emit("and.b32", lane, 3), 2);
  const auto matrices = inputs.subspan(1);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const Reg from = emit("add.u32", row, 8 * i);
    const Reg address = emit("add.u32", emit.from_lane(inputs[0], from), offset);
    const Reg word =
        variant.slot("trans") ? emit("movmatrix.sync.aligned.m8n8.trans.b16", matrices[i]) : matrices[i];
    emit.append("st.shared.b32", KernelBuilder::at(address), word);
  }
  return {};
}

constexpr std::array kStores{
    Fallback{"stmatrix",
             {{{"shape", "m8n8"}, {"num", "1 2 4"}, {"trans", "- trans"}, {"space", kSharedSpaces}}},
             nullptr,
             store_words},
    Fallback{"stmatrix",
             {{{"shape", "m16n8"}, {"num", "1 2 4"}, {"trans", "trans"}, {"space", kSharedSpaces}}},
             nullptr,
             store_bytes},
};

}  // namespace

std::span<const Fallback> fallbacks_of_matrix_stores() { return kStores; }

}  // namespace ptxloom::lower
