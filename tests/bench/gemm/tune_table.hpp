// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "ptxloom/plan.hpp"

// Exhaustive tables of measured times, one JSON object a line for each shape: made on a GPU by tune_table,
// and replayed without one by tune_replay to judge a search.
namespace ptxloom::bench {

/// M, N, K of what people run: models' layers with small and large batches, squares, odd sizes.
inline constexpr std::array<std::array<std::uint32_t, 3>, 20> kTableShapes = {
    {{4096, 4096, 4096}, {8192, 8192, 8192}, {1, 6144, 4096},     {64, 4096, 14336},  {4096, 28672, 4096},
     {16, 8192, 8192},   {16, 57344, 8192},  {2048, 10240, 8192}, {128, 2112, 7168},  {128, 24576, 1536},
     {4096, 32768, 512}, {128, 7168, 2048},  {4096, 4096, 7168},  {1, 5120, 2880},    {2048, 2880, 4096},
     {2048, 5760, 2880}, {17, 4104, 4160},   {4097, 4099, 4100},  {1023, 1031, 1037}, {256, 256, 65536}}};

inline Settings table_problem(const std::array<std::uint32_t, 3>& shape) {
  return {{"m", std::to_string(shape[0])},
          {"n", std::to_string(shape[1])},
          {"k", std::to_string(shape[2])},
          {"a", "bf16"}};
}

}  // namespace ptxloom::bench
