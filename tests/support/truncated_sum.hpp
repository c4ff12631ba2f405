// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

// Sums of products of fp8 as the tensor cores of sm_89 and sm_90 make them.
namespace ptxloom::test {

/// The value without bits below `unit`.
inline double cut(double value, double unit) { return std::trunc(value / unit) * unit; }
/// The last bit that the tensor cores keep of a sum whose largest term or partial sum this is.
inline double last_bit(double largest) { return std::ldexp(1, std::ilogb(largest) - 13); }

/// A range of k.
struct Range {
  std::size_t begin, end;
  bool has(std::size_t k) const { return k >= begin && k < end; }
};

/// An element of D as the tensor cores sum it up in `parts` of k: of each `at_once` products (32 on sm_90, 16
/// on sm_89) and of the accumulator they keep 13 bits below the largest.
inline double truncated_sum(const std::vector<double>& a, const std::vector<double>& b, std::size_t parts,
                            Range left_out, std::size_t at_once = 32) {
  double all = 0;
  const std::size_t k = a.size(), length = k / parts;
  for (std::size_t part = 0; part < parts; ++part) {
    double sum = 0;
    for (std::size_t begin = part * length; begin < (part + 1) * length; begin += at_once) {
      if (left_out.has(begin)) continue;
      double largest = std::abs(sum);
      for (std::size_t i = begin; i < begin + at_once; ++i)
        largest = std::max(largest, std::abs(a[i] * b[i]));
      if (largest == 0) continue;
      sum = cut(sum, last_bit(largest));
      for (std::size_t i = begin; i < begin + at_once; ++i) sum += cut(a[i] * b[i], last_bit(largest));
      if (sum != 0) sum = cut(sum, last_bit(sum));
    }
    all += sum;
  }
  return all;
}

}  // namespace ptxloom::test
