// SPDX-License-Identifier: Apache-2.0
#include "linear.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <utility>

namespace ptxloom_torch {
namespace {

/// A Gemm is made for the largest number of rows that it will see; batches beyond this get one of their own.
constexpr std::uint64_t kRows = 8192;

/// Where this launch differs from its Gemm. A contiguous matrix has the default leading dimension.
pl::GemmSizes sizes_of(const Linear& layer) {
  const auto pitch = [](std::uint64_t elements, std::uint64_t columns) {
    return elements == columns ? std::nullopt : std::optional(elements);
  };
  return {.m = layer.m, .lda = pitch(layer.x_pitch, layer.k), .ldd = pitch(layer.y_pitch, layer.n)};
}

/// To a Gemm a leading dimension of 0 means contiguous, so an expanded tensor must not get that far.
void check_pitches(const Linear& layer) {
  if (layer.x_pitch >= layer.k && layer.weight_pitch >= layer.k && layer.y_pitch >= layer.n) return;
  throw pl::Error(pl::ErrorKind::usage, "bad-stride", "rows of x, weight or y overlap",
                  "make a contiguous copy of an expanded tensor first");
}

[[noreturn]] void throw_not_prepared() {
  throw pl::Error(pl::ErrorKind::usage, "not-prepared",
                  "a captured launch of a layer that never ran with this number of rows and these strides",
                  "run the model once on the same shapes before it is captured");
}

}  // namespace

pl::Activation activation_of(const std::string& name) {
  constexpr std::pair<const char*, pl::Activation> kNames[] = {{"none", pl::Activation::none},
                                                               {"relu", pl::Activation::relu},
                                                               {"gelu", pl::Activation::gelu},
                                                               {"gelu_tanh", pl::Activation::gelu_tanh},
                                                               {"silu", pl::Activation::silu}};
  for (const auto& [known, activation] : kNames)
    if (name == known) return activation;
  throw pl::Error(pl::ErrorKind::usage, "unknown-activation", "there is no activation '" + name + "'",
                  "one of none, relu, gelu, gelu_tanh, silu");
}

bool LinearKernels::is_capturing(CUstream_st* stream) const {
  return context_.is_gpu() && context_.device_context().is_capturing(stream);
}

const pl::Gemm& LinearKernels::gemm_for(const Linear& layer, CUstream_st* stream) const {
  check_pitches(layer);
  const Key key{.rows = std::bit_ceil(std::max(layer.m, kRows)),
                .n = layer.n,
                .k = layer.k,
                .weight_pitch = layer.weight_pitch,
                .is_f16 = layer.type == pl::f16,
                .has_bias = layer.bias != nullptr,
                .activation = layer.activation};
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = gemms_.find(key); known != gemms_.end()) return known->second;
  }
  if (is_capturing(stream)) throw_not_prepared();
  // guide gemm {
  pl::GemmProblem problem{.m = key.rows, .n = layer.n, .k = layer.k, .a = layer.type, .d = layer.type};
  problem.ldb = layer.weight_pitch;
  problem.activation = layer.activation;
  if (key.has_bias) problem.bias = layer.type;
  pl::Gemm made = pl::gemm(context_, problem);
  // }
  const std::scoped_lock lock(mutex_);
  return gemms_.try_emplace(key, std::move(made)).first->second;
}

std::uint64_t LinearKernels::workspace_bytes(CUstream_st* stream, const Linear& layer) const {
  const pl::Gemm& gemm = gemm_for(layer, stream);
  const pl::GemmSizes sizes = sizes_of(layer);
  if (is_capturing(stream) && !gemm.is_prepared(sizes)) throw_not_prepared();
  return gemm.workspace_bytes(sizes);
}

// guide launch {
void LinearKernels::launch(CUstream_st* stream, const Linear& layer, void* workspace) const {
  gemm_for(layer, stream)
      .launch(stream,
              {.a = layer.x, .b = layer.weight, .d = layer.y, .bias = layer.bias, .workspace = workspace},
              sizes_of(layer));
}
// }

}  // namespace ptxloom_torch
