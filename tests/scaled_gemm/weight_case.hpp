// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/kit/weight_layout.hpp"
#include "ptxloom/runner.hpp"
#include "scaled_gemm/running.hpp"
#include "support/executor_of.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

// A product with 4-bit weights, run in the executor: the test has plain rows of them, and its own reference.
namespace ptxloom::scaled_gemm_test {

using test::executor_of;

/// A problem, and its weights and scales in plain rows.
class Case {
 public:
  explicit Case(const Settings& given)
      : problem_(scaled_gemm().problem(given)),
        plans_(scaled_gemm().tensors(problem_)),
        layout_(element_of(problem_.at("format_b")), size("n"), size("k"), plans_[0].type),
        k_(size("k")),
        group_(problem_.at("group") == "row" ? layout_.filled_depth() : size("group")),
        random_(Catch::getSeed()) {
    // Not a multiple of the pitch: an odd k ends in the middle of a byte.
    weights_ = noise(size("n") * pitch() * static_cast<std::size_t>(layout_.element().bits) / 8);
    drop_special_codes(weights_);
    scales_.resize(size("n") * groups() * static_cast<std::size_t>(scale().bytes()));
    for (std::size_t i = 0; i < size("n") * groups(); ++i)
      test::narrow::store(
          scale(), scales_, i,
          test::narrow::encode(scale(), std::ldexp(1 + uniform(), -static_cast<int>(random_() % 4))));
    if (zero_points()) zeros_ = noise(size("n") * groups());
    if (problem_.at("format_b") == "nvfp4") tensor_scale_ = static_cast<float>(0.01 + uniform());
    if (bytes())
      for (std::size_t i = 0; i < size("m"); ++i)
        row_scales_.push_back(
            static_cast<float>(std::ldexp(1 + uniform(), -static_cast<int>(random_() % 9))));
    activations_ = noise(plans_[0].bytes());
    const std::size_t lda = size("lda"), m = size("m");
    for (std::size_t i = 0; i < m * lda; ++i) {
      const double value = i % lda < k_ ? activation() : std::nan("");
      if (i % lda < k_ || plans_[0].type != s8)
        test::narrow::store(plans_[0].type, activations_, i, test::narrow::encode(plans_[0].type, value));
    }
  }

  std::size_t size(const char* name) const { return std::stoull(problem_.at(name)); }
  const Settings& problem() const { return problem_; }
  std::size_t groups() const { return (k_ + group_ - 1) / group_; }
  bool bytes() const { return plans_[0].type.bits == 8; }  ///< rows of A have a scale each
  const TensorPlan& plan(std::string_view name) const {
    return *std::ranges::find(plans_, name, &TensorPlan::name);
  }
  const TensorPlan& scale_plan() const { return plan("scale_b"); }
  Type scale() const { return scale_plan().type; }
  bool zero_points() const { return layout_.element() == u4; }
  void set_tensor_scale(float scale) { tensor_scale_ = scale; }
  double row_scale(std::size_t row) const { return row_scales_.at(row); }

  void set_weight(std::size_t row, std::size_t k, unsigned code) {
    test::narrow::store(layout_.element(), weights_, row * pitch() + k, code);
  }
  void set_scale(std::size_t row, std::size_t group, std::uint64_t code) {
    test::narrow::store(scale(), scales_, row * groups() + group, code);
  }
  void set_activation(std::size_t row, std::size_t k, double value) {
    test::narrow::store(plans_[0].type, activations_, row * size("lda") + k,
                        test::narrow::encode(plans_[0].type, value));
  }

  /// Runs and compares each element of D. Integers times scales are rounded to the type of A, if that has 16
  /// bits.
  std::vector<double> run(const Settings& config = {}, const std::string& target = "sm_90a") {
    const std::vector<double> d = values(config, target);
    INFO("problem " << test::words(problem_) << ", config " << test::words(config) << ", seed "
                    << Catch::getSeed());
    decode_operands();
    const std::size_t m = size("m"), n = size("n"), ldd = size("ldd");
    for (std::size_t row = 0; row < m; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        INFO("d[" << row << ", " << column << "]");
        require_close(d[row * ldd + column], std::span(a_).subspan(row * k_, k_),
                      std::span(b_).subspan(column * k_, k_));
      }
    return d;
  }

  /// Runs, compared with the template's reference alone.
  std::vector<double> values(const Settings& config = {}, const std::string& target = "sm_90a") {
    INFO("problem " << test::words(problem_) << ", config " << test::words(config) << ", seed "
                    << Catch::getSeed());
    const RunResult result = run_template(executor_of(target), scaled_gemm(),
                                          {.problem = problem_, .config = config, .inputs = inputs()});
    INFO("all parameters " << test::words(result.kernel.config));
    CHECK(result.verdict.first.empty());
    REQUIRE(result.verdict.ok());
    return test::narrow::values(plans_.back().type, result.tensors.back().bytes);
  }

  /// As it is multiplied: what products of codes and scales are rounded to is in docs/scaled_gemm.md.
  double weight(std::size_t row, std::size_t k) const {
    using test::narrow::decode, test::narrow::encode;
    double code =
        decode(layout_.element(), test::narrow::load(layout_.element(), weights_, row * pitch() + k));
    const std::size_t group = row * groups() + k / group_;
    const double scale_of_group = decode(scale(), test::narrow::load(scale(), scales_, group));
    if (zero_points()) code -= std::to_integer<int>(zeros_[group] & std::byte{0x7f});
    if (bytes() && zero_points() && plans_[0].type == e4m3) code = decode(e4m3, encode(e4m3, code));
    if (bytes() && scale() == ue4m3)
      return 8 * decode(e4m3, encode(e4m3, code * scale_of_group / 8)) * tensor_scale_;
    double value = code * scale_of_group;
    if (bytes()) return value;
    if (scale() == f32) value = static_cast<float>(value);  // it is rounded twice
    const double held_back = layout_.element() == e3m2 && plans_[0].type == bf16 ? 16 : 1;
    value = decode(plans_[0].type, encode(plans_[0].type, value / held_back)) * held_back;
    // bf16 has all values of these, the epilogue those that are too large for it.
    const bool exact = plans_[0].type == bf16 && (layout_.element() == e2m1 || layout_.element() == e2m3);
    return (exact ? code * scale_of_group : value) * tensor_scale_;
  }

  /// What is filled up holds noise, which is NaN and infinity in places.
  std::vector<HostTensor> inputs() {
    HostTensor b{plans_[1], noise(plans_[1].bytes())}, scales{scale_plan(), noise(scale_plan().bytes())};
    for (std::byte& byte : scales.bytes) byte |= std::byte{0x7f};
    drop_special_codes(b.bytes);  // what fills a group up is finite
    const auto merge = [](std::vector<std::byte>& into, const std::vector<std::byte>& real,
                          const std::vector<std::byte>& mask) {
      for (std::size_t i = 0; i < into.size(); ++i) into[i] = (into[i] & ~mask[i]) | real[i];
    };
    const auto shuffled = [&](const std::vector<std::byte>& plain) {
      std::vector<std::byte> made(b.bytes.size());
      kit::shuffle_weights(layout_, plain, pitch(), made);
      return made;
    };
    const auto shuffled_groups = [&](Type type, const std::vector<std::byte>& plain) {
      std::vector<std::byte> made(layout_.group_values(group_) * static_cast<std::size_t>(type.bytes()));
      kit::shuffle_groups(layout_, type, group_, plain, made);
      return made;
    };
    const auto ones = [](const std::vector<std::byte>& like) {
      return std::vector(like.size(), std::byte{0xff});
    };
    merge(b.bytes, shuffled(weights_), shuffled(ones(weights_)));
    merge(scales.bytes, shuffled_groups(scale(), scales_), shuffled_groups(scale(), ones(scales_)));
    std::vector<HostTensor> all{{plans_[0], activations_}, b, scales};
    if (bytes()) {
      all.push_back({plan("scale_a"), std::vector<std::byte>(plan("scale_a").bytes())});
      std::memcpy(all.back().bytes.data(), row_scales_.data(), all.back().bytes.size());
    }
    if (problem_.at("format_b") == "nvfp4") {
      all.push_back({plan("tensor_scale_b"), std::vector<std::byte>(sizeof(float))});
      std::memcpy(all.back().bytes.data(), &tensor_scale_, sizeof(float));
    }
    if (!zero_points()) return all;
    all.push_back({plan("zero_b"), noise(plan("zero_b").bytes())});
    merge(all.back().bytes, shuffled_groups(u8, zeros_), shuffled_groups(u8, ones(zeros_)));
    return all;
  }

 private:
  static Type element_of(const std::string& format) {
    if (const auto type = find_type(format)) return *type;
    const auto type = find_type(format.substr(format.find('_') + 1));  // "mxfp6_e2m3"
    return type ? *type : e2m1;
  }
  /// fp8 has NaN and infinities, and e5m2 what is infinite beside f16. A case sets them where it wants them.
  void drop_special_codes(std::vector<std::byte>& codes) const {
    if (layout_.element() != e4m3 && layout_.element() != e5m2) return;
    const double most = plans_[0].type == f16 ? 2048 : 65504;
    for (std::byte& code : codes)
      if (!(std::abs(test::narrow::decode(layout_.element(), std::to_integer<std::uint64_t>(code))) <= most))
        code = std::byte{0x31};
  }
  std::size_t pitch() const { return (k_ + 9) / 4 * 4; }
  /// Of e4m3, whose sums have 13 bits, small integers: all products are exact.
  double activation() {
    if (plans_[0].type == s8) return static_cast<double>(random_() % 256) - 128;
    if (bytes()) return static_cast<double>(random_() % 5) - 2;
    return 2 * uniform() - 1;
  }
  double uniform() { return std::uniform_real_distribution<double>()(random_); }
  std::vector<std::byte> noise(std::size_t bytes) {
    std::vector<std::byte> made(bytes);
    for (std::byte& byte : made) byte = std::byte(random_() & 0xff);
    return made;
  }

  /// The values of A and B, row by row.
  void decode_operands() {
    a_.clear(), b_.clear();
    const std::size_t m = size("m"), n = size("n"), lda = size("lda");
    for (std::size_t row = 0; row < m; ++row)
      for (std::size_t k = 0; k < k_; ++k)
        a_.push_back((row_scales_.empty() ? 1.0 : double(row_scales_[row])) *
                     test::narrow::decode(plans_[0].type,
                                          test::narrow::load(plans_[0].type, activations_, row * lda + k)));
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t k = 0; k < k_; ++k) b_.push_back(weight(row, k));
  }

  /// Beside e4m3 the tensor cores keep 13 bits of sums, and weights that have many bits use them up.
  double relative_error() const {
    const bool rounded = plans_[0].type == e4m3 && (zero_points() || scale() == ue4m3 || scale() == ue8m0);
    return rounded && problem_.at("format_b") != "mxfp4" ? 0x1p-9 : 1e-5;
  }
  void require_close(double got, std::span<const double> a, std::span<const double> b) const {
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const double product = a[k] * b[k];
      sum += product, magnitude += std::abs(product);
    }
    if (std::isnan(sum)) {
      REQUIRE(std::isnan(got));
      return;
    }
    const double largest = plans_.back().type == f16 ? 65504 : 3.4e38;
    if (std::abs(sum) > 1.01 * largest) {
      REQUIRE(got == std::copysign(HUGE_VAL, sum));
      return;
    }
    const double precision = plans_.back().type == f32 ? 0 : plans_.back().type == f16 ? 0x1p-11 : 0x1p-8;
    REQUIRE(std::abs(got - sum) <=
            precision * std::abs(sum) + relative_error() * magnitude + 0x1p-24 * precision + 0x1p-148);
  }

  Settings problem_;
  std::vector<TensorPlan> plans_;
  kit::WeightLayout layout_;
  std::size_t k_, group_;
  std::mt19937_64 random_;
  std::vector<std::byte> weights_, scales_, zeros_, activations_;
  std::vector<float> row_scales_;  // of A
  float tensor_scale_ = 1;
  std::vector<double> a_, b_;
};

}  // namespace ptxloom::scaled_gemm_test
