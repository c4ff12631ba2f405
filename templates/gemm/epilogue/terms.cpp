// SPDX-License-Identifier: Apache-2.0
#include "gemm/epilogue/terms.hpp"

#include <string>

namespace ptxloom::gemm_kernel {

std::vector<TermTensor> term_tensors(const Problem& p) {
  const EpilogueTerms& f = p.terms;
  std::vector<TermTensor> tensors;
  using Shape = std::vector<std::uint64_t>;
  const auto scale = [&](std::string_view name, GemmScale each, std::uint64_t extent, const Shape& blocks) {
    if (each == GemmScale::none) return;
    const Shape flat{each == GemmScale::vector ? extent : 1};
    tensors.push_back({name, f32, each == GemmScale::block ? blocks : flat, each});
  };
  if (f.bias) tensors.push_back({"bias", *f.bias, {p.n}, GemmScale::vector});
  scale("scale_a", f.scale_a, p.m, {scale_blocks(p.k), p.m});
  scale("scale_b", f.scale_b, p.n, {scale_blocks(p.n), scale_blocks(p.k)});
  if (f.scale_d) tensors.push_back({"scale_d", f32, {1}});
  return tensors;
}

std::string epilogue_text(const Problem& p) {
  const EpilogueTerms& f = p.terms;
  std::string text = "alpha";
  if (f.scale_a != GemmScale::none) text += " * scale_a";
  if (f.scale_b != GemmScale::none) text += " * scale_b";
  text += " * A * B";
  if (p.reads_c() && !f.c_last) text += " + beta * C";
  if (f.bias) text += " + bias";
  if (f.activation != Activation::none) text = activation_name(f.activation) + "(" + text + ")";
  if (p.reads_c() && f.c_last) text += " + beta * C";
  return "D = " + (f.scale_d ? "scale_d * (" + text + ")" : text);
}

void add_term_parameters(kit::Params& params, const Problem& p, const TensorMaps& copied) {
  params.scalar("alpha", p.arithmetic, p.alpha);
  if (p.reads_c()) params.scalar("beta", p.arithmetic, p.beta);
  for (const TermTensor& tensor : term_tensors(p)) {
    const std::string name(tensor.name);
    if (const auto map = copied.find(name); map != copied.end())
      params.map(name, name, map->second);
    else if (tensor.each == GemmScale::tensor)
      params.value(name, tensor.type);
    else
      params.pointer(name, tensor.type);
  }
}

TermInputs term_inputs(const kit::ParamRegs& in, const Problem& p) {
  TermInputs inputs{.terms = {.accumulator = p.accumulator,
                              .arithmetic = p.arithmetic,
                              .alpha = in["alpha"],
                              .activation = p.terms.activation,
                              .c_last = p.terms.c_last}};
  kit::EpilogueTerms& terms = inputs.terms;
  if (p.reads_c()) terms.beta = in["beta"];
  for (const TermTensor& tensor : term_tensors(p)) {
    const Reg value = in[tensor.name];
    if (tensor.each == GemmScale::block)
      inputs.blocks[tensor.name] = value;
    else if (tensor.name == "bias")
      terms.bias = Pointer{value, tensor.type};
    else if (tensor.each == GemmScale::vector)
      (tensor.name == "scale_a" ? terms.row_scales : terms.column_scales) = value;
    else if (tensor.name == "scale_d")
      terms.scale_d = value;
    else
      terms.scales.push_back(value);
  }
  return inputs;
}

kit::ResultMatrix result_matrix(const Problem& p, const Result& matrix, Reg pointer, Reg ld) {
  return {.type = matrix.type, .alignment = alignment(matrix, p.n, true), .pointer = pointer, .ld = ld};
}

}  // namespace ptxloom::gemm_kernel
