// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem/problem.hpp"
#include "ptxloom/kit/params.hpp"

// The epilogue computes each element of D from its accumulator:
//   scale_d * activation(alpha * scale_a * scale_b * sum + beta * C + bias)
// A problem names the terms it needs. The epilogues of both strategies apply it to each element. Block scales
// are already part of the accumulator (epilogue/block_scales.hpp, wgmma/mainloop/staged_scales.hpp).
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

/// Registers that stay live for the whole kernel.
struct TermInputs {
  Reg alpha;
  std::vector<Reg> scales = {};      ///< of whole A and B; multiplied late because they come from memory
  std::optional<Reg> beta, scale_d;  ///< if they are not neutral
  std::map<std::string_view, Reg> vectors = {};  ///< addresses: bias, scale_a, scale_b
  std::map<std::string_view, Reg> blocks = {};   ///< addresses of the scales or of their tensor maps:
                                                 ///< scale_a, scale_b
};
TermInputs term_inputs(const kit::ParamRegs& in, const Problem& problem);

class TermEmitter {
 public:
  /// What all elements of a column have in common.
  struct Column {
    std::optional<Reg> scale, bias;
  };

  /// `row`, `column`: position in D of the lane's first element.
  TermEmitter(KernelBuilder& k, const Problem& p, const TermInputs& in, Reg row, Reg column);

  /// The factor for accumulators of the row at this distance from the first.
  Reg row_factor(int row, Reg inside);
  Column column(int column, Reg inside);
  /// The result is of the arithmetic's type.
  Reg apply(Reg sum, Reg row_factor, const Column& column, std::optional<Reg> c);

 private:
  std::optional<Reg> address(std::string_view vector, Type type, Reg index) const;
  Reg load_or_zero(Type type, Address address, Reg inside);
  Reg activate(Reg x);

  KernelBuilder& k_;
  const Problem& p_;
  const TermInputs& in_;
  std::optional<Reg> row_scales_, column_scales_, bias_;  // addresses for the lane's first element
  Reg factor_;                                            // for all accumulators
};

/// Two 8-bit results in the low half of a register, the first in the lowest bits.
Reg pack_bytes(KernelBuilder& k, Type type, Reg first, Reg second);

}  // namespace ptxloom::gemm_kernel
