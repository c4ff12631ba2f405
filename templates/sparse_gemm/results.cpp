// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/results.hpp"

#include "ptxloom/kit/tile_result.hpp"

namespace ptxloom::sparse_gemm {
namespace {

/// C or D.
int alignment_of(const Problem& p, Type type, std::uint32_t ld) {
  return kit::alignment(type, ld, 0, p.n, true);
}

Reg one(KernelBuilder& k, Type type) { return type == s32 ? k.mov(s32, 1) : k.mov(f32, 1.0F); }

kit::EpilogueTerms terms_of(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in) {
  const Type type = p.arithmetic();
  kit::EpilogueTerms made{.accumulator = p.accumulator(), .arithmetic = type, .alpha = one(k, type)};
  if (p.bias) made.bias = in.pointer("bias");
  if (p.c) made.beta = one(k, type);
  return made;
}

}  // namespace

void add_result_params(kit::Params& params, const Problem& p) {
  if (p.bias) params.pointer("bias", *p.bias).aligned(static_cast<std::uint32_t>(p.bias->bytes()));
  const auto result = [&](const char* name, const char* ld, Type type, std::uint32_t pitch) {
    params.pointer(name, type).aligned(static_cast<std::uint32_t>(alignment_of(p, type, pitch)));
    params.size(ld, u32, pitch);
  };
  if (p.c) result("c", "ldc", *p.c, p.ldc);
  result("d", "ldd", p.d, p.ldd);
}

void store_transposed(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in,
                      const kit::TileOrigin& tile, const TransposedPart& part) {
  const auto matrix = [&](const char* name, const char* ld, Type type, std::uint32_t pitch) {
    return kit::ResultMatrix{
        .type = type, .alignment = alignment_of(p, type, pitch), .pointer = in[name], .ld = in[ld]};
  };
  const kit::TileResultInputs transposed{.mma = part.mma,
                                         .mma_rows = part.rows,
                                         .mma_columns = part.columns,
                                         .accumulators = part.accumulators,
                                         .rows = in["n"],
                                         .columns = in["m"],
                                         .block_row = tile.row,
                                         .block_column = tile.column,
                                         .warp_row = part.row,
                                         .warp_column = part.column,
                                         .lane = part.lane,
                                         .terms = terms_of(k, p, in),
                                         .c = p.c ? matrix("c", "ldc", *p.c, p.ldc) : kit::ResultMatrix{},
                                         .d = matrix("d", "ldd", p.d, p.ldd)};
  kit::TileResult(k, kit::swapped(transposed)).store();
}

}  // namespace ptxloom::sparse_gemm
