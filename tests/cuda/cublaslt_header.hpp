// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>

/// What cublasLt.h says of the numbers and sizes that cuda/cublaslt.hpp declares by itself; nullopt where the
/// header is not installed. Both cannot be included in one place.
struct CublasLtFacts {
  int not_supported;
  std::array<int, 8> data_types;     // f32, f64, f16, s8, s32, bf16, e4m3, e5m2
  std::array<int, 4> compute_types;  // f32, f64, s32, tf32
  std::array<int, 2> transpositions;
  std::array<int, 6> attributes;  // transa, transb, fast sums, batches, their stride, most workspace
  std::size_t algorithm_bytes, proposal_bytes, workspace_at, status_at;
};
std::optional<CublasLtFacts> cublaslt_facts();
