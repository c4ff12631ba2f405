// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "support/settings.hpp"

// rowwise in the executor, against the textbook formulas in long double.
namespace ptxloom::test {

inline const Template& rowwise() { return Templates().find("rowwise"); }

inline const Context& rowwise_executor(const std::string& target = "sm_90a") {
  static std::map<std::string, Context> contexts;
  const auto known = contexts.find(target);
  if (known != contexts.end()) return known->second;
  return contexts.emplace(target, Context({.device = "cpu", .cpu_target = target})).first->second;
}

using Numbers = std::vector<long double>;

inline Numbers numbers_of(const RunResult& run, const char* name) {
  for (const HostTensor& tensor : run.tensors) {
    if (tensor.plan.name != name) continue;
    Numbers values;
    for (std::uint64_t i = 0; i < tensor.plan.elements(); ++i)
      values.push_back(decode(tensor.plan.type, load_element(tensor.plan.type, tensor.bytes, i)));
    return values;
  }
  return {};
}

inline long double mean(const Numbers& x) {
  long double sum = 0;
  for (const long double value : x) sum += value;
  return sum / static_cast<long double>(x.size());
}

/// A row of y.
inline Numbers naive_row(const std::string& op, Numbers x, const Numbers& weight, const Numbers& bias,
                         long double eps) {
  long double top = -std::numeric_limits<long double>::infinity(), sum = 0;
  for (const long double value : x) top = std::max(top, value);
  if (op == "softmax" || op == "log_softmax") {
    for (const long double value : x) sum += std::exp(value - top);
    for (long double& value : x)
      value = op == "softmax" ? std::exp(value - top) / sum : value - top - std::log(sum);
    return x;
  }
  const long double center = op == "layer_norm" ? mean(x) : 0;
  Numbers squares;
  for (const long double value : x) squares.push_back((value - center) * (value - center));
  const long double scale = std::sqrt(mean(squares) + eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = (x[i] - center) / scale;
    if (!weight.empty()) x[i] *= weight[i];
    if (!bias.empty()) x[i] += bias[i];
  }
  return x;
}

/// How far y may be off: f32 arithmetic, relative to the largest value that is added, and y's rounding.
inline long double allowed(Type y, long double value, long double largest) {
  const long double rounding = y == f32 ? 0 : y == f16 ? 0x1p-11L : 0x1p-8L, least = y == f16 ? 0x1p-24L : 0;
  return std::abs(value) * (rounding + 2e-5L) + largest * 2e-6L + least;
}

inline void check_row(const Settings& problem, const Numbers& got, const Numbers& wanted, std::uint64_t row) {
  const std::string& op = problem.at("op");
  long double largest = 1e-30L;
  for (const long double value : wanted)
    if (op != "softmax" && std::isfinite(value)) largest = std::max(largest, std::abs(value));
  const Type type = *find_type(problem.at("y"));
  const auto pitch = std::stoull(problem.at("pitch_y"));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const long double one = got[row * pitch + i];
    const bool same = one == wanted[i] || (std::isnan(one) && std::isnan(wanted[i]));
    if (same || std::abs(one - wanted[i]) <= allowed(type, wanted[i], largest)) continue;
    FAIL("y[" << row << ", " << i << "] is " << one << " in place of " << wanted[i]);
  }
}

/// A configuration.
inline Settings team(const char* kind, int lanes, int threads, int blocks, int vector, int elements) {
  return {{"team", kind},
          {"lanes", std::to_string(lanes)},
          {"threads", std::to_string(threads)},
          {"blocks", std::to_string(blocks)},
          {"vector", std::to_string(vector)},
          {"elements", std::to_string(elements)}};
}

/// A residual, a weight and a bias of three types.
inline const Settings kAffine{{"residual", "bf16"}, {"weight", "f32"}, {"bias", "f16"}};

/// Runs a problem, and compares every element with the template's reference and with this one.
inline RunResult run_rowwise(const Settings& given, const Settings& config = {},
                             const std::vector<HostTensor>& inputs = {},
                             const std::string& target = "sm_90a") {
  INFO("problem " << words(given) << ", config " << words(config) << " on " << target << ", seed "
                  << Catch::getSeed());
  RunResult run =
      run_template(rowwise_executor(target), rowwise(),
                   {.problem = given, .config = config, .inputs = inputs, .seed = Catch::getSeed()});
  INFO("all parameters " << words(run.kernel.config));
  CHECK(run.verdict.first.empty());
  REQUIRE(run.verdict.ok());
  const Settings& problem = run.kernel.problem;
  const Numbers x = numbers_of(run, "x"), residual = numbers_of(run, "residual"), y = numbers_of(run, "y");
  const Numbers weight = numbers_of(run, "weight"), bias = numbers_of(run, "bias");
  const std::uint64_t rows = std::stoull(problem.at("rows")), n = std::stoull(problem.at("n")),
                      pitch = std::stoull(problem.at("pitch_x"));
  CHECK(run.verdict.checked >= rows * n);
  for (std::uint64_t row = 0; row < rows; ++row) {
    Numbers values;
    for (std::uint64_t i = 0; i < n; ++i)
      values.push_back(x[row * pitch + i] + (residual.empty() ? 0 : residual[row * pitch + i]));
    check_row(problem, y, naive_row(problem.at("op"), values, weight, bias, std::stold(problem.at("eps"))),
              row);
  }
  return run;
}

/// A tensor of a problem with these values.
inline HostTensor rowwise_tensor(const Settings& problem, std::string_view name,
                                 const std::vector<double>& values) {
  for (const TensorPlan& plan : rowwise().tensors(rowwise().problem(problem))) {
    if (plan.name != name) continue;
    REQUIRE(plan.elements() == values.size());
    HostTensor made{plan, std::vector<std::byte>(plan.bytes())};
    encode(plan.type, values, made.bytes);
    return made;
  }
  throw Error(ErrorKind::usage, "no-tensor", std::string(name));
}

}  // namespace ptxloom::test
