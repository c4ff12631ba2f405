// SPDX-License-Identifier: Apache-2.0
#include "exec/product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/mma_sum.hpp"
#include "base/numeric_arithmetic.hpp"

namespace ptxloom::exec {
namespace {

using base::MmaElement;

// Brings each row (of `size` items) into the order: the first two of all fours, then the other two.
template <class T>
void pairs_apart(std::vector<T>& rows, std::size_t size) {
  std::vector<T> row(size);
  for (std::size_t begin = 0; begin < rows.size(); begin += size) {
    for (std::size_t k = 0; k < size; ++k) row[k % 4 / 2 * (size / 2) + k / 4 * 2 + k % 2] = rows[begin + k];
    std::ranges::copy(row, rows.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

// Multiplies each block of the rows by its power of two.
void scale_rows(std::vector<MmaElement>& rows, const Type& type, const std::vector<std::uint32_t>& scales) {
  const std::size_t block = rows.size() / scales.size();
  for (std::size_t i = 0; i < scales.size(); ++i)
    base::scale_mma(base::unpack_mma_scale(type, scales[i]), std::span(rows).subspan(i * block, block));
}

std::vector<MmaElement> unpacked_scales(const Type& type, const std::vector<std::uint32_t>& bits) {
  std::vector<MmaElement> scales(bits.size());
  std::ranges::transform(bits, scales.begin(),
                         [&](std::uint32_t scale) { return base::unpack_mma_scale(type, scale); });
  return scales;
}

std::uint32_t converted(const Type& to, const Type& from, std::uint32_t bits) {
  return to == from ? bits : static_cast<std::uint32_t>(convert(to, from, bits));
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

// A chain of fma, by the host; which NaN comes of it says the exact arithmetic.
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

// Calls sum(row, column, addend) for each element of D.
template <class Element, class Sum>
void Product::for_sums(const std::vector<Element>& rows, const std::vector<Element>& columns,
                       const Factors& factors, std::vector<std::uint32_t>& sums, Sum sum) const {
  std::vector<Element> met(k);  // the elements of a column that those of a sparse row meet
  for (std::size_t i = 0; i < matrices * m; ++i) {
    const std::span row(rows.data() + i * k, k);
    for (std::size_t j = 0; j < n; ++j) {
      std::span column(columns.data() + (i / m * n + j) * depth, depth);
      if (!factors.picked.empty()) {
        for (std::size_t s = 0; s < k; ++s) met[s] = column[factors.picked[i * k + s]];
        column = met;
      }
      std::uint32_t& at = sums[i * n + j];
      at = sum(row, column, at, i, j);
    }
  }
}

std::vector<MmaElement> Product::elements(const Type& type, const std::vector<std::uint32_t>& bits,
                                          bool negated) const {
  std::vector<MmaElement> unpacked(bits.size());
  base::unpack_mma(type, bits, unpacked);
  if (negated) {
    for (MmaElement& element : unpacked)
      element.significand = static_cast<std::int16_t>(-element.significand);
  }
  return unpacked;
}

std::uint32_t Product::sum_of(std::span<const MmaElement> row, std::span<const MmaElement> column,
                              std::uint32_t addend) const {
  const bool halves = c == f16 && d == f16;
  const std::uint32_t sum =
      halves ? base::dot_f16(row, column, addend, arithmetic.rule)
             : converted(d, f32, base::dot_f32(row, column, converted(f32, c, addend), arithmetic.rule));
  return satfinite ? saturated(d, sum) : sum;
}

void Product::apply_floats(Factors& factors) const {
  auto rows = elements(a, factors.a, negate_a), columns = elements(b, factors.b, negate_b);
  if (blocks != 0) {
    scale_rows(rows, scale, factors.scales_a);
    scale_rows(columns, scale, factors.scales_b);
  }
  if (arithmetic.pairs_apart) {
    pairs_apart(rows, k);
    if (factors.picked.empty()) pairs_apart(columns, k);
    pairs_apart(factors.picked, k);
  }
  for_sums(rows, columns, factors, factors.sums,
           [&](auto row, auto column, std::uint32_t addend, std::size_t, std::size_t) {
             return sum_of(row, column, addend);
           });
}

void Product::apply_scaled(Factors& factors) const {
  const auto rows = elements(a, factors.a, false), columns = elements(b, factors.b, false);
  const auto scales_a = unpacked_scales(scale, factors.scales_a),
             scales_b = unpacked_scales(scale, factors.scales_b);
  for_sums(rows, columns, factors, factors.sums,
           [&](auto row, auto column, std::uint32_t addend, std::size_t i, std::size_t j) {
             return base::dot_scaled_f32(row, column, std::span(scales_a).subspan(i * blocks, blocks),
                                         std::span(scales_b).subspan(j * blocks, blocks), addend,
                                         arithmetic.rule);
           });
}

void Product::apply_scalar(Factors& factors) const {
  for (auto* bits : {&factors.a, &factors.b}) {
    for (std::uint32_t& element : *bits) element = converted(f32, a, element);
  }
  const auto sum = d == f16 ? &scalar_sum_f16 : &scalar_sum_f32;
  for_sums(factors.a, factors.b, factors, factors.sums,
           [&](auto row, auto column, std::uint32_t addend, std::size_t, std::size_t) {
             return converted(d, f32,
                              static_cast<std::uint32_t>(sum(row, column, converted(f32, c, addend))));
           });
}

void Product::apply_integers(Factors& factors) const {
  std::vector<std::int32_t> rows(factors.a.size()), columns(factors.b.size());
  base::unpack_mma(a, factors.a, rows);
  base::unpack_mma(b, factors.b, columns);
  for_sums(rows, columns, factors, factors.sums,
           [&](std::span<const std::int32_t> row, std::span<const std::int32_t> column, std::uint32_t addend,
               std::size_t, std::size_t) {
             if (!exclusive) return base::dot_s32(row, column, addend, satfinite);
             for (std::size_t i = 0; i < row.size(); ++i)
               addend += static_cast<std::uint32_t>(row[i] ^ column[i]);
             return addend;
           });
}

void Product::apply(Factors& factors) const {
  if (d == s32) return apply_integers(factors);
  if (arithmetic.scalar) return apply_scalar(factors);
  if (arithmetic.grouped) return apply_scaled(factors);
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
