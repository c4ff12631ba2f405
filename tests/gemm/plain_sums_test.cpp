// SPDX-License-Identifier: Apache-2.0
// The tolerance of gemm's reference for products of fp8 that the tensor cores alone accumulate.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>

#include "gemm/executor.hpp"
#include "support/narrow.hpp"
#include "support/truncated_sum.hpp"

namespace ptxloom::test::plain_sums_test {
namespace {

using Rows = std::vector<std::vector<double>>;

/// Random values from `least` to 1, of which the tensor has the nearest ones.
Rows draw(HostTensor& tensor, double least, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(least, 1);
  const std::size_t count = tensor.plan.shape.at(0), k = tensor.plan.shape.at(1);
  Rows rows(count);
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t i = 0; i < k; ++i) {
      const std::uint64_t code = narrow::encode(tensor.plan.type, uniform(random));
      narrow::store(tensor.plan.type, tensor.bytes, row * k + i, code);
      rows[row].push_back(narrow::decode(tensor.plan.type, code));
    }
  return rows;
}

/// A product whose operands are known.
class Product {
 public:
  Product(const char* type, int k, double least_a, double least_b)
      : problem_(
            gemm_template().problem(with(shape(7, 50, k), {{"a", type}, {"d", "f32"}, {"sums", "plain"}}))) {
    std::mt19937_64 random(Catch::getSeed());
    for (const TensorPlan& plan : gemm_template().tensors(problem_)) {
      if (plan.role == TensorPlan::Role::out)
        d_ = plan;
      else
        inputs_.push_back({plan, std::vector<std::byte>(plan.bytes())});
    }
    a_ = draw(inputs_.at(0), least_a, random);
    b_ = draw(inputs_.at(1), least_b, random);
  }

  /// What the reference says to sums that tensor cores make in `parts` of k.
  Verdict verdict(std::size_t parts, std::size_t at_once, Range left_out = {}) const {
    HostTensor d = poisoned_tensor(d_);
    for (std::size_t row = 0; row < a_.size(); ++row)
      for (std::size_t column = 0; column < b_.size(); ++column) {
        const auto value = static_cast<float>(truncated_sum(a_[row], b_[column], parts, left_out, at_once));
        std::memcpy(d.bytes.data() + (row * b_.size() + column) * sizeof value, &value, sizeof value);
      }
    return verify(gemm_template().expect(problem_, inputs_).at(0), d);
  }

 private:
  Settings problem_;
  TensorPlan d_;
  std::vector<HostTensor> inputs_;
  Rows a_, b_;
};

}  // namespace

TEST_CASE("gemm's reference takes long sums of 13 bits, and refuses those without a k-block", "[gemm]") {
  INFO("seed " << Catch::getSeed());
  std::mt19937_64 random(Catch::getSeed());
  for (const char* type : {"e4m3", "e5m2"})
    for (const int k : {160, 1024, 8192}) {
      const Product product(type, k, -1, -1);
      for (const std::size_t parts : {1U, 4U, 5U})
        for (const std::size_t at_once : {16U, 32U}) {
          if (static_cast<std::size_t>(k) / 32 % parts != 0) continue;
          const Verdict whole = product.verdict(parts, at_once);
          INFO(type << ", k = " << k << " in " << parts << " parts, " << at_once
                    << " products at once: " << whole.first);
          CHECK(whole.ok());
          CHECK(whole.checked == 350);
          const std::size_t begin = random() % (static_cast<std::size_t>(k) / 64) * 64;
          INFO("left out from " << begin << " on");
          CHECK(product.verdict(parts, at_once, {begin, begin + 64}).wrong > 10);
        }
    }
}

TEST_CASE("gemm's reference takes what truncation costs sums of positive products", "[gemm]") {
  INFO("seed " << Catch::getSeed());
  for (const double least : {0.0, 0.5, 0.9}) {
    const Product product("e4m3", 4096, least, 0);
    for (const std::size_t at_once : {16U, 32U}) {
      const Verdict verdict = product.verdict(1, at_once);
      INFO("at least " << least << ", " << at_once << " products at once: " << verdict.first);
      CHECK(verdict.ok());
    }
  }
}

}  // namespace ptxloom::test::plain_sums_test
