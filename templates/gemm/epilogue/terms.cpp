// SPDX-License-Identifier: Apache-2.0
#include "gemm/epilogue/terms.hpp"

#include <string>

#include "ptxloom/kit/activation.hpp"
#include "ptxloom/kit/vector_access.hpp"
#include "ptxloom/lower.hpp"

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
  TermInputs terms{.alpha = in["alpha"], .beta = {}, .scale_d = {}};
  if (p.reads_c()) terms.beta = in["beta"];
  for (const TermTensor& tensor : term_tensors(p)) {
    const Reg value = in[tensor.name];
    if (tensor.each == GemmScale::block)
      terms.blocks[tensor.name] = value;
    else if (tensor.each == GemmScale::vector)
      terms.vectors[tensor.name] = value;
    else if (tensor.name == "scale_d")
      terms.scale_d = value;
    else
      terms.scales.push_back(value);
  }
  return terms;
}

TermEmitter::TermEmitter(KernelBuilder& k, const Problem& p, const TermInputs& in, Reg row, Reg column)
    : k_(k),
      p_(p),
      in_(in),
      row_scales_(address("scale_a", f32, row)),
      column_scales_(address("scale_b", f32, column)),
      bias_(address("bias", p.terms.bias.value_or(f32), column)),
      factor_(in.alpha) {
  for (const Reg& scale : in.scales) factor_ = k.mul(factor_, scale);
}

std::optional<Reg> TermEmitter::address(std::string_view vector, Type type, Reg index) const {
  const auto found = in_.vectors.find(vector);
  if (found == in_.vectors.end()) return std::nullopt;
  return k_.mad_wide(index, type.bytes(), found->second);
}

Reg TermEmitter::load_or_zero(Type type, Address address, Reg inside) {
  const std::vector<Reg> value = kit::zeros(k_, type, 1);
  k_.guarded(inside, [&] { kit::load_vector(k_, "ld.global", kit::access_type(type), address, value); });
  return type == p_.arithmetic ? value[0] : k_.convert(p_.arithmetic, value[0]);
}

Reg TermEmitter::row_factor(int row, Reg inside) {
  if (!row_scales_) return factor_;
  return k_.mul(factor_, load_or_zero(f32, k_.at(*row_scales_, row * f32.bytes()), inside));
}

TermEmitter::Column TermEmitter::column(int column, Reg inside) {
  Column terms;
  if (column_scales_) terms.scale = load_or_zero(f32, k_.at(*column_scales_, column * f32.bytes()), inside);
  if (bias_) {
    const Type type = *p_.terms.bias;
    terms.bias = load_or_zero(type, k_.at(*bias_, column * type.bytes()), inside);
  }
  return terms;
}

Reg TermEmitter::apply(Reg sum, Reg row_factor, const Column& column, std::optional<Reg> c) {
  const EpilogueTerms& f = p_.terms;
  sum = KernelBuilder::as(p_.accumulator, sum);
  Reg value = k_.mul(row_factor, p_.accumulator == p_.arithmetic ? sum : k_.convert(p_.arithmetic, sum));
  if (column.scale) value = k_.mul(value, *column.scale);
  if (c && !f.c_last) value = k_.fma(*in_.beta, *c, value);
  if (column.bias) value = k_.add(value, *column.bias);
  value = activate(value);
  if (c && f.c_last) value = k_.fma(*in_.beta, *c, value);
  return in_.scale_d ? k_.mul(value, *in_.scale_d) : value;
}

Reg TermEmitter::activate(Reg x) {
  switch (p_.terms.activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return kit::relu(k_, x);
    case Activation::silu:
      return kit::silu(k_, x);
    case Activation::gelu_tanh:
      return kit::gelu_tanh(k_, x);
    case Activation::gelu:
      return kit::gelu(k_, x);
  }
  return x;
}

Reg pack_bytes(KernelBuilder& k, Type type, Reg first, Reg second) {
  if (type != s8) {
    const std::string opcode = "cvt.rn.satfinite." + std::string(type.name) + "x2.f32";
    return KernelBuilder::as(b16, lower::op(k, opcode, second, first));
  }
  const auto whole = [&](Reg value) {
    const Reg rounded = k.reg(s32);
    k.emit("cvt.rni.s32.f32", rounded, value);
    return rounded;
  };
  const Reg packed = k.reg(b32);
  k.emit("cvt.pack.sat.s8.s32.b32", packed, whole(second), whole(first), 0);
  return packed;
}

}  // namespace ptxloom::gemm_kernel
