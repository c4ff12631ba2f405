// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/runner.hpp"
#include "scaled_gemm/running.hpp"
#include "support/executor_of.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

// Products of two operands in rows, run in the executor and compared with D by the textbook.
namespace ptxloom::scaled_gemm_test::textbook {

inline const Context& executor() { return test::executor_of("sm_120a"); }

/// The values of a matrix of elements of 6 bits, 16 of them in 16 bytes, at their positions without padding.
inline std::vector<double> padded_values(Type type, std::span<const std::byte> bytes) {
  std::vector<double> all;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    all.push_back(
        test::narrow::decode(type, test::narrow::load(type, bytes.subspan(i / 16 * 16, 16), i % 16)));
  return all;
}

inline std::vector<double> values_of(const HostTensor& tensor) {
  return test::narrow::values(tensor.plan.type, tensor.bytes);
}

/// The values of A (0) or B (1).
inline std::vector<double> elements_of(const RunResult& run, std::size_t operand) {
  const std::string& format = run.kernel.problem.at(operand == 0 ? "format_a" : "format_b");
  if (format.ends_with("e2m3")) return padded_values(e2m3, run.tensors[operand].bytes);
  if (format.ends_with("e3m2")) return padded_values(e3m2, run.tensors[operand].bytes);
  return values_of(run.tensors[operand]);
}

inline const HostTensor* find(const RunResult& run, std::string_view name) {
  const auto found =
      std::ranges::find(run.tensors, name, [](const HostTensor& tensor) { return tensor.plan.name; });
  return found == run.tensors.end() ? nullptr : &*found;
}

/// D by the textbook, with the tests' own decoding. Each group of k of A and of B has a scale.
class Products {
 public:
  explicit Products(const RunResult& run)
      : k_(size(run, "k")), a_(operand(run, "a", 0)), b_(operand(run, "b", 1)) {}
  double at(std::size_t row, std::size_t column) const {
    double sum = 0;
    for (std::size_t i = 0; i < k_; ++i) sum += a_.at(row, i, k_) * b_.at(column, i, k_);
    return sum * a_.factor * b_.factor;
  }

 private:
  struct Side {
    std::size_t pitch, length;
    std::vector<double> elements, scales;
    double factor;
    double at(std::size_t row, std::size_t i, std::size_t k) const {
      const double element = elements[row * pitch + i];
      return scales.empty() ? element : element * scales[row * ((k + length - 1) / length) + i / length];
    }
  };
  static std::size_t size(const RunResult& run, const std::string& name) {
    return std::stoull(run.kernel.problem.at(name));
  }
  static Side operand(const RunResult& run, const std::string& name, std::size_t number) {
    const std::string &format = run.kernel.problem.at("format_" + name),
                      &group = run.kernel.problem.at("group");
    const HostTensor* const scales = find(run, "scale_" + name);
    const HostTensor* const whole = group == "tensor" ? scales : find(run, "tensor_scale_" + name);
    Side side{.pitch = size(run, "ld" + name),
              .length = find_type(format)   ? size(run, "k")
                        : format == "nvfp4" ? 16U
                                            : 32U,
              .elements = elements_of(run, number),
              .scales = {},
              .factor = whole == nullptr ? 1 : values_of(*whole)[0]};
    if (scales != nullptr && scales != whole) side.scales = values_of(*scales);
    return side;
  }

  std::size_t k_;
  Side a_, b_;
};

inline RunResult run(const Settings& problem, const Settings& config = {},
                     const std::vector<HostTensor>& in = {}, const char* target = "sm_120a") {
  INFO("problem " << test::words(problem) << ", config " << test::words(config) << ", seed "
                  << Catch::getSeed());
  RunResult result =
      run_template(test::executor_of(target), scaled_gemm(),
                   {.problem = problem, .config = config, .inputs = in, .seed = Catch::getSeed()});
  INFO("all parameters " << test::words(result.kernel.config));
  CHECK(result.verdict.first.empty());
  REQUIRE(result.verdict.ok());
  const auto size = [&](const char* name) { return std::stoull(result.kernel.problem.at(name)); };
  CHECK(result.verdict.checked >= size("m") * size("n"));
  const std::vector<double> d = values_of(result.tensors.back());
  const double precision = result.kernel.problem.at("d") == "f32" ? 1e-5 : 1e-2, terms = double(size("k"));
  const std::size_t m = size("m"), n = size("n"), ldd = size("ldd");
  const Products products(result);
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      const double got = d[row * ldd + column], wanted = products.at(row, column);
      INFO("d[" << row << ", " << column << "]");
      if (std::isnan(wanted))
        REQUIRE(std::isnan(got));
      else
        REQUIRE(std::abs(got - wanted) <= precision * (std::abs(wanted) + terms));
    }
  return result;
}

/// A tensor of a problem whose codes are `code(row, column)`.
inline HostTensor tensor(const Settings& problem, std::string_view name,
                         const std::function<unsigned(std::uint64_t, std::uint64_t)>& code) {
  for (const TensorPlan& plan : scaled_gemm().tensors(scaled_gemm().problem(problem))) {
    if (plan.name != name) continue;
    HostTensor made{plan, std::vector<std::byte>(plan.bytes())};
    for (std::uint64_t i = 0; i < plan.elements(); ++i)
      test::narrow::store(plan.type, made.bytes, i, code(i / plan.shape[1], i % plan.shape[1]));
    return made;
  }
  FAIL("no tensor " << name);
  return {};
}

/// A scale of 2^exponent.
inline unsigned power(int exponent) { return static_cast<unsigned>(127 + exponent); }

}  // namespace ptxloom::scaled_gemm_test::textbook
