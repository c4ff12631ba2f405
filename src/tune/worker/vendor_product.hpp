// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "ptxloom/launch.hpp"
#include "ptxloom/plan.hpp"

// A matrix product by cuBLASLt. Its matrices are column-major and ours row-major, so it computes the
// transposed product, D' = B' A', which needs no copy. It proposes several algorithms; whoever times it takes
// the fastest of them, because a comparison with less would flatter us.
namespace ptxloom::tune {

class VendorProduct {
 public:
  /// Throws Error(missing, "no-cublaslt") if the library is missing or fails to start, Error(refused,
  /// "vendor-refused") for a product that it does not support.
  VendorProduct(const DeviceContext& device, const MatrixProduct& product);

  std::string name() const;  ///< "cuBLASLt 13.1.0"
  std::size_t algorithms() const;
  /// Queues the product with one of its algorithms. `tensors`: the addresses of a, b, c and d; c is not read
  /// if beta = 0. Throws Error(refused, "vendor-failed").
  void launch(std::size_t algorithm, const std::array<std::uint64_t, 4>& tensors, CUstream_st* stream) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace ptxloom::tune
