// SPDX-License-Identifier: Apache-2.0
// Biases, activations, residuals, scales and 8-bit results on a GPU, compared with the reference.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "support/gpu.hpp"
#include "support/gpu_gemm.hpp"

namespace ptxloom::test::gemm_function_test {
TEST_CASE("random epilogues of gemm are right on the GPU", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  std::mt19937 random(Catch::getSeed());
  const auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + random() % list.size()));
  };
  for (int i = 0; i < 60; ++i) {
    const bool even = i % 2 == 0;  // half of them have rows that can be staged
    const Settings problem{{"m", std::to_string(1 + random() % 300)},
                           {"n", std::to_string(even ? 16 * (1 + random() % 20) : 1 + random() % 300)},
                           {"k", std::to_string(1 + random() % 300)},
                           {"a", pick({"f16", "bf16", "s8", "tf32"})},
                           {"lda", "320"},
                           {"ldb", "320"},
                           {"d", pick({"f32", "f16", "bf16", "s8"})},
                           {"c", pick({"f32", "f16", "bf16"})},
                           {"alpha", "0.3"},
                           {"beta", pick({"0", "0.7"})},
                           {"bias", pick({"none", "f32", "f16", "bf16"})},
                           {"activation", pick({"none", "relu", "gelu", "gelu_tanh", "silu"})},
                           {"add_c", pick({"before", "after"})},
                           {"scale_a", pick({"none", "tensor", "row"})},
                           {"scale_b", pick({"none", "tensor", "col"})},
                           {"scale_d", pick({"none", "tensor"})}};
    check_candidates(context, problem, random);
  }
}

TEST_CASE("block scales are right on the GPU", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  std::mt19937 random(Catch::getSeed());
  const auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + random() % list.size()));
  };
  for (int i = 0; i < 40; ++i) {
    const bool only_a = i % 4 == 0, only_b = i % 4 == 1;
    const Settings problem{{"m", std::to_string(1 + random() % 600)},
                           {"n", std::to_string(i % 2 == 0 ? 16 * (1 + random() % 40) : 1 + random() % 600)},
                           {"k", std::to_string(1 + random() % 1100)},
                           {"a", pick({"e4m3", "e5m2", "e4m3", "bf16"})},
                           {"lda", "1104"},
                           {"ldb", "1120"},
                           {"d", pick({"f32", "bf16", "e4m3"})},
                           {"alpha", "0.3"},
                           {"scale_a", only_b ? pick({"none", "tensor", "row"}) : "block"},
                           {"scale_b", only_a ? pick({"none", "tensor", "col"}) : "block"}};
    check_candidates(context, problem, random);
  }
}

}  // namespace ptxloom::test::gemm_function_test
