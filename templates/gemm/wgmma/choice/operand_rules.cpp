// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gemm/wgmma/choice/rules.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr std::uint64_t kMostPacked = std::uint64_t{32} << 30;  // bytes; 32 bits count units of 16
constexpr std::uint64_t kMostScales = std::uint64_t{1} << 30;   // of scale blocks; coordinates have 31 bits

}  // namespace

std::vector<Rule> operand_rules() {
  return {
      {"strategy=wgmma packs operands whose row pitch is not a multiple of 16 bytes: static must be mnk",
       {"static"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.bake == Bake::mnk || !PackPlan(p).any();
       }},
      {"thread blocks that pack operands wait for each other and must all be resident at once: split must be "
       "1; stream_k=yes splits k too",
       {"split"},
       [](const Target&, const Problem& p, const Config& c) { return c.split == 1 || !PackPlan(p).any(); }},
      {"strategy=wgmma packs at most 32 GiB of A and B: use strategy=mma",
       {},
       [](const Target&, const Problem& p, const Config&) {
         return PackPlan(p).workspace_bytes() <= kMostPacked;
       }},
      {"strategy=wgmma loads at most 4 GiB of block scales: use strategy=mma",
       {},
       [](const Target&, const Problem& p, const Config& c) {
         const ScaleTile scales(p, c);
         return std::max(scales.a.factors, scales.b.factors) <= kMostScales;
       }},
      {"wgmma transposes only 16-bit operands: use a_layout=row and b_layout=col, so that A and B are "
       "contiguous along k, or strategy=mma",
       {"mma"},
       [](const Target&, const Problem& p, const Config& c) {
         return (p.a.k_contiguous && p.b.k_contiguous) || c.mma.operand_index("TB") >= 0;
       }}};
}

}  // namespace ptxloom::gemm_kernel::wgmma
