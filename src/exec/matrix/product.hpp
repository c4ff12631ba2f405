// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/matrix/mma_arithmetic.hpp"
#include "ptxloom/type.hpp"

// D = A * B + C on matrices taken from registers or memory, summed row by row as the tensor cores of the
// target do. All matrix instructions end here; they differ in where their elements come from.
namespace ptxloom::exec {

/// The operands, as bits. Rows of A and columns of B are consecutive; so are several matrices.
struct Factors {
  std::vector<std::uint32_t> a, b;
  std::vector<std::uint32_t> sums;    ///< C row by row, then D in its place
  std::vector<std::uint16_t> picked;  ///< for a sparse A: the index in the column that each element
                                      ///< multiplies
  std::vector<std::uint32_t> scales_a, scales_b;  ///< the scale factors of each row and column
};

struct WideFactors {
  std::vector<std::uint64_t> a, b, sums;
};

class Product {
 public:
  Type a, b, c, d;  ///< element types
  std::size_t matrices = 1, m = 0, n = 0;
  std::size_t k = 0;      ///< elements per row of A
  std::size_t depth = 0;  ///< elements per column of B: twice as many if A is sparse
  MmaArithmetic arithmetic;
  bool satfinite = false;
  bool exclusive = false;  ///< for b1: xor instead of and
  bool negate_a = false, negate_b = false;
  Rounding rounding = Rounding::rn;  ///< for f64
  Type scale;                        ///< of the scale factors
  std::size_t blocks = 0;            ///< scale factors per row; 0: none

  /// Whether it can multiply these types.
  bool known() const;
  /// Turns factors.sums from C into D.
  void apply(Factors& factors) const;
  void apply(WideFactors& factors) const;

 private:
  template <class Sum>
  void for_rows(Factors& factors, Sum sum) const;
  template <class T>
  std::vector<T> by_rows(const std::vector<T>& columns) const;
  base::MmaElements by_rows(const base::MmaElements& columns) const;
  std::vector<std::uint32_t> order() const;
  base::MmaElements elements(const Type& type, const std::vector<std::uint32_t>& bits) const;
  void apply_integers(Factors& factors) const;
  void apply_floats(Factors& factors) const;
  void apply_grouped(Factors& factors) const;
  void apply_scalar(Factors& factors) const;
  void add_products(std::span<const base::MmaFactor> row, const base::MmaElements& columns,
                    std::span<std::uint32_t> sums) const;
};

}  // namespace ptxloom::exec
