// SPDX-License-Identifier: Apache-2.0
#include "kit/element_terms.hpp"

#include "kit/convert.hpp"
#include "ptxloom/kit/activation.hpp"
#include "ptxloom/kit/vector_access.hpp"

namespace ptxloom::kit {

ElementTerms::ElementTerms(KernelBuilder& k, const EpilogueTerms& terms, Reg row, Reg column)
    : k_(k),
      terms_(terms),
      row_scales_(address(terms.row_scales, f32, row)),
      column_scales_(address(terms.column_scales, f32, column)),
      factor_(terms.alpha) {
  if (terms.bias) bias_ = address(terms.bias->base, terms.bias->element, column);
  for (const Reg& scale : terms.scales) factor_ = k.mul(factor_, scale);
}

std::optional<Reg> ElementTerms::address(const std::optional<Reg>& vector, Type type, Reg index) const {
  if (!vector) return std::nullopt;
  return k_.mad_wide(index, type.bytes(), *vector);
}

Reg ElementTerms::load_or_zero(Type type, Address address, Reg inside) {
  const std::vector<Reg> value = zeros(k_, type, 1);
  k_.guarded(inside, [&] { load_vector(k_, "ld.global", access_type(type), address, value); });
  return type == terms_.arithmetic ? value[0] : convert(k_, terms_.arithmetic, value[0]);
}

Reg ElementTerms::row_factor(int row, Reg inside) {
  if (!row_scales_) return factor_;
  return k_.mul(factor_, load_or_zero(f32, k_.at(*row_scales_, row * f32.bytes()), inside));
}

ElementTerms::Column ElementTerms::column(int column, Reg inside) {
  Column terms;
  if (column_scales_) terms.scale = load_or_zero(f32, k_.at(*column_scales_, column * f32.bytes()), inside);
  if (bias_) {
    const Type type = terms_.bias->element;
    terms.bias = load_or_zero(type, k_.at(*bias_, column * type.bytes()), inside);
  }
  return terms;
}

Reg ElementTerms::apply(Reg accumulator, Reg row_factor, const Column& column, std::optional<Reg> c) {
  const EpilogueTerms& t = terms_;
  const Reg sum = KernelBuilder::as(t.accumulator, accumulator);
  Reg value = k_.mul(row_factor, t.accumulator == t.arithmetic ? sum : k_.convert(t.arithmetic, sum));
  if (column.scale) value = k_.mul(value, *column.scale);
  if (c && !t.c_last) value = k_.fma(*t.beta, *c, value);
  if (column.bias) value = k_.add(value, *column.bias);
  value = activate(k_, t.activation, value);
  if (c && t.c_last) value = k_.fma(*t.beta, *c, value);
  return t.scale_d ? k_.mul(value, *t.scale_d) : value;
}

}  // namespace ptxloom::kit
