// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/mma_sum.hpp"
#include "base/numeric_arithmetic.hpp"

namespace ptxloom::exec {
namespace {

using base::MmaElements, base::MmaFactor;

// Multiplies each block of the rows (of A) or columns (of B) by its power of two.
void scale_lines(MmaElements& lines, const Type& type, const std::vector<std::uint32_t>& bits) {
  const MmaElements scales = base::unpack_mma_scales(type, bits);
  const std::size_t block = lines.values.size() / bits.size();
  for (std::size_t i = 0; i < lines.values.size(); ++i) base::scale_mma(lines, i, scales, i / block);
}

std::uint32_t converted(const Type& to, const Type& from, std::uint32_t bits) {
  return to == from ? bits : static_cast<std::uint32_t>(convert(to, from, bits));
}

void convert_all(std::span<std::uint32_t> numbers, const Type& to, const Type& from) {
  if (to == from) return;
  for (std::uint32_t& number : numbers) number = converted(to, from, number);
}

std::uint64_t fma(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return base::fma(base::kF32, a, b, c);
}
std::uint64_t add(std::uint64_t a, std::uint64_t b) { return base::add(base::kF32, a, b); }

// m8n8k4 without tensor cores, all in f32.
std::uint64_t scalar_sum_f32(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                             std::uint64_t c) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum = fma(a[k], b[k], sum);
  return add(sum, c);
}
std::uint64_t scalar_sum_f16(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                             std::uint64_t c) {
  for (std::size_t k = 0; k + 1 < a.size(); k += 2) {
    c = add(c, fma(a[k + 1], b[k + 1], base::mul(base::kF32, a[k], b[k])));
  }
  return c;
}

// A chain of fma on the host; for a NaN result, the exact arithmetic decides which.
std::uint64_t dot_f64(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c,
                      Rounding rounding) {
  if (rounding != Rounding::rn) return base::dot_f64(a, b, c, rounding);
  double sum = std::bit_cast<double>(c);
  for (std::size_t k = 0; k < a.size(); ++k)
    sum = std::fma(std::bit_cast<double>(a[k]), std::bit_cast<double>(b[k]), sum);
  return std::isnan(sum) ? base::dot_f64(a, b, c) : std::bit_cast<std::uint64_t>(sum);
}

// wmma's .satfinite: infinities become the largest number, NaN becomes 0.
std::uint32_t saturated(const Type& type, std::uint32_t bits) {
  const base::FloatFormat& format = *base::find_format(type);
  const std::uint32_t infinity = static_cast<std::uint32_t>(format.infinity()),
                      magnitude = bits & ~static_cast<std::uint32_t>(format.sign(true));
  if (magnitude > infinity) return 0;
  return magnitude == infinity ? bits - 1 : bits;
}

bool is_integer(const Type& type) { return type.is_integer() || type == b1; }
bool is_half_or_single(const Type& type) { return type == f16 || type == f32; }

}  // namespace

bool Product::known() const {
  if (d == f64) return a == f64 && b == f64 && c == f64;
  if (d == s32) return is_integer(a) && is_integer(b) && c == s32;
  return is_half_or_single(d) && is_half_or_single(c) && a.is_float() && b.is_float() && a.bits <= 32 &&
         b.bits <= 32;
}

// Converts consecutive matrices of n columns to one matrix, row by row.
template <class T>
std::vector<T> Product::by_rows(const std::vector<T>& columns) const {
  const std::size_t rows = columns.size() / n / matrices;
  std::vector<T> turned(columns.size());
  for (std::size_t i = 0; i < matrices * n; ++i) {
    for (std::size_t row = 0; row < rows; ++row)
      turned[(i / n * rows + row) * n + i % n] = columns[i * rows + row];
  }
  return turned;
}

MmaElements Product::by_rows(const MmaElements& columns) const {
  MmaElements turned;
  turned.values = by_rows(columns.values);
  turned.exponents = by_rows(columns.exponents);
  return turned;
}

// The elements of a row of A in the order of summation.
std::vector<std::uint32_t> Product::order() const {
  std::vector<std::uint32_t> order(k);
  for (std::uint32_t i = 0; i < k; ++i)
    order[arithmetic.as_f16 ? i % 4 / 2 * (k / 2) + i / 4 * 2 + i % 2 : i] = i;
  return order;
}

// Calls sum(meets, i, sums) for each row i of D; meets(s) is the row of B that element s of the row of A is
// multiplied by.
template <class Sum>
void Product::for_rows(Factors& factors, Sum sum) const {
  for (std::size_t i = 0; i < matrices * m; ++i) {
    const auto meets = [&](std::size_t s) {
      const std::size_t row = factors.picked.empty() ? s : factors.picked[i * k + s];
      return static_cast<std::uint32_t>(i / m * depth + row);
    };
    sum(meets, i, std::span(factors.sums).subspan(i * n, n));
  }
}

MmaElements Product::elements(const Type& type, const std::vector<std::uint32_t>& bits) const {
  return arithmetic.as_f16 ? base::unpack_mma_as_f16(type, bits) : base::unpack_mma(type, bits);
}

void Product::add_products(std::span<const MmaFactor> row, const MmaElements& columns,
                           std::span<std::uint32_t> sums) const {
  if (c == f16 && d == f16) {
    base::dot_f16(row, columns, sums, arithmetic.rule);
  } else {
    convert_all(sums, f32, c);
    base::dot_f32(row, columns, sums, arithmetic.rule);
    convert_all(sums, d, f32);
  }
  if (!satfinite) return;
  for (std::uint32_t& sum : sums) sum = saturated(d, sum);
}

void Product::apply_floats(Factors& factors) const {
  MmaElements rows = elements(a, factors.a), columns;
  if (blocks == 0) {
    columns = elements(b, by_rows(factors.b));
  } else {
    columns = elements(b, factors.b);
    scale_lines(rows, scale, factors.scales_a);
    scale_lines(columns, scale, factors.scales_b);
    columns = by_rows(columns);
  }
  base::narrow(rows, columns);
  const std::vector<std::uint32_t> order = this->order();
  const double sign = negate_a != negate_b ? -1 : 1;
  std::vector<MmaFactor> row(k);
  for_rows(factors, [&](auto meets, std::size_t i, std::span<std::uint32_t> sums) {
    for (std::size_t s = 0; s < k; ++s) {
      const std::size_t at = i * k + order[s];
      row[s] = {sign * rows.values[at], rows.exponents[at], meets(order[s])};
    }
    add_products(row, columns, sums);
  });
}

void Product::apply_grouped(Factors& factors) const {
  const MmaElements rows = elements(a, factors.a), columns = by_rows(elements(b, factors.b)),
                    scales_a = base::unpack_mma_scales(scale, factors.scales_a),
                    scales_b = by_rows(base::unpack_mma_scales(scale, factors.scales_b));
  const std::size_t groups = k / base::kMmaGroup;
  std::vector<MmaFactor> row(k), group_row(groups);
  for_rows(factors, [&](auto meets, std::size_t i, std::span<std::uint32_t> sums) {
    for (std::size_t s = 0; s < k; ++s) row[s] = {rows.values[i * k + s], 0, meets(s)};
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t at = i * blocks + g * blocks / groups;
      group_row[g] = {scales_a.values[at], scales_a.exponents[at], static_cast<std::uint32_t>(g)};
    }
    add_products(group_row, base::sum_groups(row, columns, scales_b, n), sums);
  });
}

// Without tensor cores.
void Product::apply_scalar(Factors& factors) const {
  for (auto* bits : {&factors.a, &factors.b}) {
    for (std::uint32_t& element : *bits) element = converted(f32, a, element);
  }
  const auto sum = d == f16 ? &scalar_sum_f16 : &scalar_sum_f32;
  for (std::size_t i = 0; i < matrices * m * n; ++i) {
    const std::span row(factors.a.data() + i / n * k, k),
        column(factors.b.data() + (i / n / m * n + i % n) * k, k);
    std::uint32_t& at = factors.sums[i];
    at = converted(d, f32, static_cast<std::uint32_t>(sum(row, column, converted(f32, c, at))));
  }
}

void Product::apply_integers(Factors& factors) const {
  std::vector<std::int32_t> rows(factors.a.size()), columns(factors.b.size());
  base::unpack_mma(a, factors.a, rows);
  base::unpack_mma(b, factors.b, columns);
  columns = by_rows(columns);
  std::vector<base::MmaIntegerFactor> row(k);
  for_rows(factors, [&](auto meets, std::size_t i, std::span<std::uint32_t> sums) {
    for (std::size_t s = 0; s < k; ++s) row[s] = {rows[i * k + s], meets(s)};
    base::dot_s32(row, columns, sums, {.satfinite = satfinite, .exclusive = exclusive});
  });
}

void Product::apply(Factors& factors) const {
  if (d == s32) return apply_integers(factors);
  if (arithmetic.scalar) return apply_scalar(factors);
  if (arithmetic.grouped) return apply_grouped(factors);
  apply_floats(factors);
}

void Product::apply(WideFactors& factors) const {
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      std::uint64_t& sum = factors.sums[i * n + j];
      sum = dot_f64(std::span(factors.a).subspan(i * k, k), std::span(factors.b).subspan(j * k, k), sum,
                    rounding);
    }
  }
}

}  // namespace ptxloom::exec
