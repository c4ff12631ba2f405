// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ptxloom/ptxloom.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <string>

// A linear layer on raw pointers, without torch: what binding.cpp hands over from its tensors. Weights are
// fixed for the life of a model while the number of rows changes with each batch, so one Gemm serves a weight
// with any number of rows.
namespace ptxloom_torch {

namespace pl = ptxloom;

/// y = activation(x * transpose(weight) + bias). x is m x k, weight is n x k, y is m x n, bias has n elements
/// or is null. All are of one type; the elements of a row are contiguous. Pitches count elements.
struct Linear {
  pl::Type type = pl::bf16;  ///< bf16 or f16
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t x_pitch = 0, weight_pitch = 0, y_pitch = 0;
  pl::Activation activation = pl::Activation::none;
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
  void* y = nullptr;
};

/// Throws pl::Error(usage) for a name that no activation has.
pl::Activation activation_of(const std::string& name);

/// The kernels of one device. Const members are thread-safe. Kernels are kept until the object is gone, since
/// a CUDA graph may hold them.
class LinearKernels {
 public:
  explicit LinearKernels(pl::Context context) : context_(std::move(context)) {}

  /// Bytes of a workspace for a launch of this layer; 0 where it needs none. The workspace holds zeros before
  /// each launch. While the stream is captured, the layer must have run before with as many rows and the same
  /// pitches (pl::Error(usage, "not-prepared")).
  std::uint64_t workspace_bytes(CUstream_st* stream, const Linear& layer) const;
  /// Queues the layer. Without a workspace it uses one that it keeps for each stream. A launch that is
  /// captured into a graph must be given one (pl::Error(usage, "missing-workspace")), and the layer must have
  /// run before as for workspace_bytes ("not-prepared"). Rows that overlap are pl::Error(usage,
  /// "bad-stride").
  void launch(CUstream_st* stream, const Linear& layer, void* workspace = nullptr) const;

 private:
  struct Key {
    std::uint64_t rows, n, k, weight_pitch;
    bool is_f16, has_bias;
    pl::Activation activation;
    auto operator<=>(const Key&) const = default;
  };

  bool is_capturing(CUstream_st* stream) const;
  const pl::Gemm& gemm_for(const Linear& layer, CUstream_st* stream) const;

  pl::Context context_;
  mutable std::shared_mutex mutex_;
  mutable std::map<Key, pl::Gemm> gemms_;  // references to its elements stay valid
};

}  // namespace ptxloom_torch
