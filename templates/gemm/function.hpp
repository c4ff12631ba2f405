// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch.hpp"
#include "ptxloom/builder.hpp"

// What D is of a sum of products:
//   scale_d * activation(alpha * scale_a * scale_b * sum + beta * C + bias)
// of which a problem names what it needs. Both strategies' epilogues apply it to each element. Scales of
// blocks are in the sum already (block_scales.hpp, staged_scales.hpp).
namespace ptxloom::gemm_kernel {

/// Numbers in memory that the function reads.
struct FunctionTensor {
  std::string_view name;
  Type type;
  std::vector<std::uint64_t> shape;
  GemmScale each = GemmScale::tensor;  ///< what has one of its own
};
/// In the order of the kernel's parameters.
std::vector<FunctionTensor> function_tensors(const Problem& problem);
/// Of those that tensor copies bring.
using TensorMaps = std::map<std::string_view, TensorMap>;
void add_function_arguments(LaunchArgumentList& add, const Problem& problem, const TensorMaps& copied = {});

/// What the problem has of it: "D = relu(alpha * A * B + bias)".
std::string function_text(const Problem& problem);

/// Registers that hold for the whole kernel.
struct FunctionInputs {
  Reg alpha;
  std::vector<Reg> scales = {};      ///< of A and B as wholes; multiplied late, for they come from memory
  std::optional<Reg> beta, scale_d;  ///< where they are more than nothing
  std::map<std::string_view, Reg> vectors = {};  ///< addresses: bias, scale_a, scale_b
  std::map<std::string_view, Reg> blocks = {};   ///< addresses, or those of maps: scale_a, scale_b
};
/// Declares the kernel's parameters.
FunctionInputs function_parameters(KernelBuilder& k, const Problem& problem, const TensorMaps& copied = {});

class FunctionEmitter {
 public:
  /// What all elements of a column have in common.
  struct Column {
    std::optional<Reg> scale, bias;
  };

  /// `row` and `column`: where of D the lane's first element is.
  FunctionEmitter(KernelBuilder& k, const Problem& p, const FunctionInputs& in, Reg row, Reg column);

  /// What sums of the row this far from the first are multiplied by.
  Reg row_factor(int row, Reg inside);
  Column column(int column, Reg inside);
  /// In the arithmetic's type.
  Reg apply(Reg sum, Reg row_factor, const Column& column, std::optional<Reg> c);

 private:
  std::optional<Reg> address(std::string_view vector, Type type, Reg index) const;
  Reg load_or_zero(Type type, Address address, Reg inside);
  Reg activate(Reg x);
  Reg gelu(Reg x);
  Reg over_one_plus_exp(Reg x, Reg exponent);
  Reg exp2(Reg x);

  KernelBuilder& k_;
  const Problem& p_;
  const FunctionInputs& in_;
  std::optional<Reg> row_scales_, column_scales_, bias_;  // addresses of the lane's first
  Reg factor_;                                            // of all sums
};

/// The instruction word for memory: bits of the type's size.
Type memory_type(Type type);
/// Two results of 8 bits in the low half of a register, the first lowest.
Reg pack_bytes(KernelBuilder& k, Type type, Reg first, Reg second);

}  // namespace ptxloom::gemm_kernel
