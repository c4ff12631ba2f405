// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ptxloom/plan.hpp"

// What gemm is held against a vendor's library at: the products of models with small and large batches,
// squares, deep and skinny ones, odd sizes. A row-major and B column-major, both contiguous along k.
namespace ptxloom::bench {

using Shape = std::array<std::uint32_t, 3>;  // M, N, K

inline constexpr std::array kSuite = std::to_array<Shape>({
    // squares, deep and skinny
    {4096, 4096, 4096},
    {8192, 8192, 8192},
    {2048, 2048, 16384},
    {512, 5120, 5120},
    {64, 8192, 8192},
    {16, 28672, 8192},
    {16, 4096, 4096},
    {1000, 1000, 1000},
    {256, 256, 65536},
    // Llama-3-8B
    {1, 6144, 4096},
    {1, 4096, 4096},
    {1, 28672, 4096},
    {1, 4096, 14336},
    {64, 6144, 4096},
    {64, 4096, 4096},
    {64, 28672, 4096},
    {64, 4096, 14336},
    {4096, 6144, 4096},
    {4096, 14336, 4096},
    {4096, 28672, 4096},
    {4096, 4096, 14336},
    // Llama-3-70B
    {16, 10240, 8192},
    {16, 8192, 8192},
    {16, 57344, 8192},
    {16, 8192, 28672},
    {2048, 10240, 8192},
    {2048, 8192, 8192},
    {2048, 57344, 8192},
    {2048, 8192, 28672},
    // DeepSeek-V3
    {128, 2112, 7168},
    {128, 24576, 1536},
    {128, 32768, 512},
    {128, 7168, 16384},
    {128, 4096, 7168},
    {128, 7168, 2048},
    {4096, 2112, 7168},
    {4096, 24576, 1536},
    {4096, 32768, 512},
    {4096, 7168, 16384},
    {4096, 4096, 7168},
    {4096, 7168, 2048},
    // gpt-oss-120b
    {1, 5120, 2880},
    {1, 201088, 2880},
    {2048, 2880, 4096},
    {2048, 5760, 2880},
    // no size a multiple of anything, or nearly none
    {17, 4104, 4160},
    {4097, 7168, 7296},
    {1023, 1031, 1037},
    {4097, 4099, 4100},
});

static_assert([] {
  auto sorted = kSuite;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}());

/// Types of A and B, and of D.
struct SuiteType {
  std::string_view ab, d;
};
inline constexpr std::array kSuiteTypes = std::to_array<SuiteType>(
    {{"bf16", "bf16"}, {"f16", "f16"}, {"e4m3", "bf16"}, {"s8", "s32"}, {"tf32", "f32"}, {"f64", "f64"}});

inline Settings suite_problem(const Shape& shape, const SuiteType& type) {
  return {{"m", std::to_string(shape[0])},
          {"n", std::to_string(shape[1])},
          {"k", std::to_string(shape[2])},
          {"a", std::string(type.ab)},
          {"d", std::string(type.d)}};
}

}  // namespace ptxloom::bench
