// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "ptxloom/launch.hpp"
#include "ptxloom/plan.hpp"

// A matrix product by cuBLASLt. Its matrices are column-major and ours are row-major: it is asked for the
// transposed product, D' = B' A', which needs no copy. It proposes several algorithms; whoever times it takes
// the fastest of them, for a comparison with less would flatter us.
namespace ptxloom::tune {

class VendorProduct {
 public:
  /// Throws Error(missing, "no-cublaslt") where the library is missing or does not start, Error(refused,
  /// "vendor-refused") for a product that it does not have.
  VendorProduct(const DeviceContext& device, const MatrixProduct& product);

  std::string name() const;  ///< "cuBLASLt 13.1.0"
  std::size_t algorithms() const;
  /// Queues the product by one of its algorithms. Where the tensors a, b, c and d lie; c is not read for beta
  /// = 0. Throws Error(refused, "vendor-failed").
  void launch(std::size_t algorithm, const std::array<std::uint64_t, 4>& tensors, CUstream_st* stream) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace ptxloom::tune
