// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/plan.hpp"

// What naive_gemm.cpp reads: the parameters of a problem, where the elements of its matrices lie, and their
// values.
namespace ptxloom::test::naive {

/// The parameters of a problem.
class Words {
 public:
  explicit Words(const Settings& words) : words_(words) {}
  std::string word(std::string_view name, const std::string& otherwise) const;
  std::uint64_t size(std::string_view name, std::uint64_t otherwise = 0) const;
  double number(std::string_view name, double otherwise) const;
  Type type(std::string_view name, const std::string& otherwise) const;
  bool is(std::string_view name, std::string_view value) const { return word(name, "") == value; }

 private:
  const Settings& words_;
};

/// The position of matrix elements: row i and column j is at batch * stride + i * down + j * right.
struct Place {
  Type type;
  std::uint64_t stride = 0, down = 0, right = 0;
  std::uint64_t at(std::uint64_t batch, std::uint64_t row, std::uint64_t column) const {
    return batch * stride + row * down + column * right;
  }
};

struct Shape {
  std::uint64_t m, n, k, batch;
  bool contiguous, masked;  // groups
  Place a, b, c, d;
  bool exact = false;  // D is s32: everything is integers

  explicit Shape(const Words& w);
  /// Matrices D, C and A; of B there are `batch`.
  std::uint64_t results() const { return contiguous ? 1 : batch; }
};

/// Null if there is none of this name.
const HostTensor* find(std::span<const HostTensor> tensors, std::string_view name);
double value_at(const HostTensor& tensor, Type type, std::uint64_t index);
/// All elements of a small tensor: a bias, scales, groups.
std::vector<double> values_of(std::span<const HostTensor> tensors, std::string_view name, Type type);

/// A, or B's transpose, of all batches: rows of k.
class Rows {
 public:
  Rows(const HostTensor& tensor, const Place& place, std::uint64_t batches, std::uint64_t rows,
       std::uint64_t k, bool transposed);
  const double* row(std::uint64_t batch, std::uint64_t row) const {
    return &values_[(batch * rows_ + row) * k_];
  }
  double largest() const;
  /// All values are multiples of this power of two.
  double unit() const;

 private:
  std::uint64_t rows_, k_;
  std::vector<double> values_;
};

}  // namespace ptxloom::test::naive
