// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem/problem.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/tile_result.hpp"

// The epilogue computes each element of D from its accumulator:
//   scale_d * activation(alpha * scale_a * scale_b * sum + beta * C + bias)
// A problem names the terms it needs. kit/tile_result.hpp applies them. Block scales are already part of the
// accumulator (epilogue/block_scales.hpp, wgmma/mainloop/staged_scales.hpp).
namespace ptxloom::gemm_kernel {

/// A tensor that the epilogue reads.
struct TermTensor {
  std::string_view name;
  Type type;
  std::vector<std::uint64_t> shape;
  GemmScale each = GemmScale::tensor;  ///< what has one value of its own
};
/// In the order of the kernel's parameters.
std::vector<TermTensor> term_tensors(const Problem& problem);
/// The maps of the tensors that TMA loads read.
using TensorMaps = std::map<std::string_view, TensorMap>;
void add_term_parameters(kit::Params& params, const Problem& problem, const TensorMaps& copied = {});

/// The terms that a problem has: "D = relu(alpha * A * B + bias)".
std::string epilogue_text(const Problem& problem);

/// The registers of these parameters.
struct TermInputs {
  kit::EpilogueTerms terms;
  std::map<std::string_view, Reg> blocks = {};  ///< addresses of block scales or of their tensor maps:
                                                ///< scale_a, scale_b
};
TermInputs term_inputs(const kit::ParamRegs& in, const Problem& problem);

/// C or D in memory, as an epilogue stores it.
kit::ResultMatrix result_matrix(const Problem& problem, const Result& matrix, Reg pointer, Reg ld);

}  // namespace ptxloom::gemm_kernel
