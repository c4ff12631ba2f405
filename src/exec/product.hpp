// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/mma_arithmetic.hpp"
#include "ptxloom/type.hpp"

// D = A * B + C on matrices taken out of registers or memory, element by element as the tensor cores of the
// target sum it. All matrix instructions end here; they differ in where their elements come from.
namespace ptxloom::exec {

/// What is multiplied, as bits. Rows of A and columns of B lie one behind the other, so do several matrices.
struct Factors {
  std::vector<std::uint32_t> a, b;
  std::vector<std::uint32_t> sums;    ///< C row by row, then D in its place
  std::vector<std::uint16_t> picked;  ///< of a sparse A: for each element, which of the column it meets
  std::vector<std::uint32_t> scales_a, scales_b;  ///< the scale factors of each row and column
};

struct WideFactors {
  std::vector<std::uint64_t> a, b, sums;
};

class Product {
 public:
  Type a, b, c, d;  ///< of elements
  std::size_t matrices = 1, m = 0, n = 0;
  std::size_t k = 0;      ///< elements in a row of A
  std::size_t depth = 0;  ///< elements in a column of B: twice as many where A is sparse
  MmaArithmetic arithmetic;
  bool satfinite = false;
  bool exclusive = false;  ///< of b1: xor in place of and
  bool negate_a = false, negate_b = false;
  Rounding rounding = Rounding::rn;  ///< of f64
  Type scale;                        ///< of scale factors
  std::size_t blocks = 0;            ///< scale factors of a row; 0: none

  /// Whether the types are ones that it can multiply.
  bool known() const;
  /// Turns factors.sums from C into D.
  void apply(Factors& factors) const;
  void apply(WideFactors& factors) const;

 private:
  template <class Element, class Sum>
  void for_sums(const std::vector<Element>& rows, const std::vector<Element>& columns, const Factors& factors,
                std::vector<std::uint32_t>& sums, Sum sum) const;
  void apply_integers(Factors& factors) const;
  void apply_floats(Factors& factors) const;
  void apply_scaled(Factors& factors) const;
  void apply_scalar(Factors& factors) const;
  std::uint32_t sum_of(std::span<const base::MmaElement> row, std::span<const base::MmaElement> column,
                       std::uint32_t addend) const;
  std::vector<base::MmaElement> elements(const Type& type, const std::vector<std::uint32_t>& bits,
                                         bool negated) const;
};

}  // namespace ptxloom::exec
