// SPDX-License-Identifier: Apache-2.0
// Batches and groups on a GPU, against the reference: random sizes, strides and configurations.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "support/gpu.hpp"
#include "support/gpu_gemm.hpp"

namespace ptxloom::test::gemm_batch_test {
namespace {

class Chance {
 public:
  unsigned size(unsigned least, unsigned most) {
    return std::uniform_int_distribution<unsigned>(least, most)(random_);
  }
  std::string pick(std::initializer_list<const char*> list) {
    return *(list.begin() + random_() % list.size());
  }

  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_{Catch::getSeed()};
};

Settings random_problem(Chance& chance, bool even) {
  const unsigned m = chance.size(1, 300), n = even ? 16 * chance.size(1, 20) : chance.size(1, 300),
                 k = even ? 16 * chance.size(1, 30) : chance.size(1, 480);
  return {{"m", std::to_string(m)},
          {"n", std::to_string(n)},
          {"k", std::to_string(k)},
          {"a", chance.pick({"f16", "bf16", "s8", "tf32", "f64", "e4m3"})},
          {"batch", std::to_string(chance.size(2, 9))},
          {"beta", chance.pick({"0", "2"})}};
}

}  // namespace

TEST_CASE("batches are right on the GPU: separate, side by side and shared", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  Chance chance;
  for (int i = 0; i < 60; ++i) {
    Settings problem = random_problem(chance, i % 2 == 0);
    const unsigned n = static_cast<unsigned>(std::stoul(problem["n"])),
                   m = static_cast<unsigned>(std::stoul(problem["m"]));
    if (i % 3 == 0) problem["stride_a"] = std::to_string(16 * chance.size(0, 5000));
    if (i % 4 == 0) problem["stride_b"] = std::to_string(chance.size(0, 50000));
    if (i % 5 == 0) problem["stride_d"] = std::to_string(m * n + chance.size(0, 100));
    if (i % 5 == 1) {
      problem["ldd"] = std::to_string(16 * 20 * 9);
      problem["stride_d"] = std::to_string(16 * 20);
    }
    check_candidates(context, problem, chance.random());
  }
}

TEST_CASE("groups of random sizes are right on the GPU", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  Chance chance;
  for (int i = 0; i < 40; ++i) {
    Settings problem = random_problem(chance, i % 2 == 0);
    problem["m"] = std::to_string(chance.size(100, 900));
    problem["groups"] = chance.pick({"masked", "contiguous"});
    check_candidates(context, problem, chance.random());
  }
}

}  // namespace ptxloom::test::gemm_batch_test
