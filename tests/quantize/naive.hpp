// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

// quantize in the executor, against the definition with the tests' own element types, bit by bit.
namespace ptxloom::test {

inline const Template& quantize() { return Templates().find("quantize"); }

inline const Context& quantize_executor(const std::string& target) {
  static std::map<std::string, Context> contexts;
  const auto known = contexts.find(target);
  if (known != contexts.end()) return known->second;
  return contexts.emplace(target, Context({.device = "cpu", .cpu_target = target})).first->second;
}

inline const HostTensor& tensor_of(const RunResult& run, std::string_view name) {
  for (const HostTensor& tensor : run.tensors)
    if (tensor.plan.name == name) return tensor;
  throw Error(ErrorKind::usage, "no-tensor", std::string(name));
}

inline double first_value(const RunResult& run, std::string_view name) {
  return narrow::decode(f32, narrow::load(f32, tensor_of(run, name).bytes, 0));
}

/// A tensor of a problem with these values.
inline HostTensor quantize_tensor(const Settings& problem, std::string_view name,
                                  const std::vector<double>& values) {
  for (const TensorPlan& plan : quantize().tensors(quantize().problem(problem))) {
    if (plan.name != name) continue;
    REQUIRE(plan.elements() == values.size());
    HostTensor made{plan, std::vector<std::byte>(plan.bytes())};
    for (std::size_t i = 0; i < values.size(); ++i)
      narrow::store(plan.type, made.bytes, i, narrow::encode(plan.type, values[i]));
    return made;
  }
  throw Error(ErrorKind::usage, "no-tensor", std::string(name));
}

/// What a block becomes: the bits of its scale, and its elements are multiplied by `factor` and rounded.
struct NaiveBlock {
  std::uint64_t scale = 0;
  double factor = 0;
};

/// The place of an element of x in memory.
inline std::size_t place_in_x(const Settings& problem, std::size_t row, std::size_t i) {
  const auto pitch = static_cast<std::size_t>(std::stoull(problem.at("pitch_x")));
  return problem.at("transpose") == "yes" ? i * pitch + row : row * pitch + i;
}

struct NaiveFormat {
  Type element, scale;
  int block;
  double largest;
};

inline NaiveFormat naive_format(const std::string& name) {
  if (name == "nvfp4") return {e2m1, ue4m3, 16, 6};
  if (name == "mxfp4") return {e2m1, ue8m0, 32, 6};
  if (name.starts_with("mx")) {
    const Type element = *find_type(name.substr(name.find('_') + 1));
    return {element, ue8m0, 32, element == e4m3 ? 448 : element == e5m2 ? 57344 : element == e2m3 ? 7.5 : 28};
  }
  const Type element = *find_type(name);
  return {element, f32, 0, element == s8 ? 127.0 : element == s4 ? 7.0 : element == e4m3 ? 448.0 : 57344.0};
}

inline NaiveBlock naive_block(const NaiveFormat& format, bool up, double largest, double tensor_scale) {
  if (!std::isfinite(largest) || std::isnan(tensor_scale)) {
    const std::uint64_t nan = format.scale == f32 ? 0x7fffffff : format.scale == ue8m0 ? 0xff : 0x7f;
    return {nan, std::numeric_limits<double>::quiet_NaN()};
  }
  if (format.scale == ue8m0) {
    // The largest power of two that fits the rule, by trial.
    int exponent = -127;
    const double top = up ? format.largest : std::exp2(std::floor(std::log2(format.largest)));
    while (exponent < 127 &&
           (up ? std::ldexp(top, exponent) < largest : std::ldexp(top, exponent + 1) <= largest))
      ++exponent;
    return {static_cast<std::uint64_t>(exponent + 127), std::ldexp(1.0, -exponent)};
  }
  if (format.scale == f32) {
    const float magnitude = std::fmax(static_cast<float>(largest), 0x1p-100F),
                top = static_cast<float>(format.largest);
    return {narrow::encode(f32, magnitude / top), top / magnitude};
  }
  const float unit = static_cast<float>(tensor_scale) * 6.0F;
  const std::uint64_t code =
      narrow::encode(e4m3, static_cast<float>(largest) / unit, narrow::Overflow::finite);
  const float both = static_cast<float>(narrow::decode(e4m3, code)) * static_cast<float>(tensor_scale);
  return {code, both == 0 ? 0.0 : 1 / both};
}

/// The code of an element of y.
inline std::uint64_t code_at(const RunResult& run, Type element, std::size_t row, std::size_t i) {
  const Settings& problem = run.kernel.problem;
  const HostTensor& y = tensor_of(run, "y");
  const std::size_t place = row * static_cast<std::size_t>(std::stoull(problem.at("pitch_y"))) + i;
  if (problem.at("packing") == "dense") return narrow::load(element, y.bytes, place);
  return narrow::load(element, std::span(y.bytes).subspan(place / 16 * 16, 16), place % 16);
}

/// Whether two patterns are the same, or both NaN.
inline bool same_bits(Type type, std::uint64_t a, std::uint64_t b) {
  return a == b || (type != s8 && type != s4 && std::isnan(narrow::decode(type, a)) &&
                    std::isnan(narrow::decode(type, b)));
}

/// Whether an element is next to a value, above or below it: none of the format's values is between them.
inline void check_neighbour(const NaiveFormat& format, double value, double got) {
  const double clamped = std::fmin(std::fmax(value, -format.largest), format.largest);
  if (got == clamped || std::isnan(value) || (value < -format.largest && got < -format.largest)) return;
  for (std::uint64_t code = 0; code < std::uint64_t{1} << format.element.bits; ++code) {
    const double other = narrow::decode(format.element, code);
    if ((got < other && other <= clamped) || (clamped <= other && other < got))
      FAIL("y is " << got << " for " << value << ", but " << other << " is nearer on the same side");
  }
}

/// The largest magnitude of a part of a row, or of the 128 rows around it; NaN if there is one.
inline double naive_largest(const RunResult& run, std::size_t row, std::size_t begin, std::size_t end) {
  const Settings& problem = run.kernel.problem;
  const auto size = [&](const char* name) { return static_cast<std::size_t>(std::stoull(problem.at(name))); };
  const HostTensor& x = tensor_of(run, "x");
  const bool blocks = problem.at("scales") == "block";
  const std::size_t first = blocks ? row / 128 * 128 : row,
                    last = blocks ? std::min(first + 128, size("rows")) : row + 1;
  double largest = 0;
  for (std::size_t r = first; r < last; ++r)
    for (std::size_t i = begin; i < end; ++i) {
      const double one = std::abs(
          narrow::decode(x.plan.type, narrow::load(x.plan.type, x.bytes, place_in_x(problem, r, i))));
      if (!(one <= largest) && !std::isnan(largest)) largest = one;
    }
  return largest;
}

inline double naive_largest_of_tensor(const RunResult& run) {
  const auto size = [&](const char* name) {
    return static_cast<std::size_t>(std::stoull(run.kernel.problem.at(name)));
  };
  double largest = 0;
  for (std::size_t row = 0; row < size("rows"); ++row) {
    const double one = naive_largest(run, row, 0, size("n"));
    if (!(one <= largest) && !std::isnan(largest)) largest = one;
  }
  return largest;
}

/// Of nvfp4: the largest group gets the largest scale.
inline void check_tensor_scale(const RunResult& run, double largest) {
  const double got = first_value(run, "tensor_scale");
  if (!std::isfinite(largest)) {
    CHECK(std::isnan(got));
    return;
  }
  CHECK(got == static_cast<double>(std::fmax(static_cast<float>(largest), 0x1p-100F) / 2688.0F));
}

inline void check_block(const RunResult& run, const NaiveFormat& format, std::size_t row, std::size_t begin,
                        std::size_t group, double largest) {
  const Settings& problem = run.kernel.problem;
  const auto size = [&](const char* name) { return static_cast<std::size_t>(std::stoull(problem.at(name))); };
  const HostTensor& x = tensor_of(run, "x");
  const std::size_t end = std::min(begin + group, size("n"));
  std::vector<double> values;
  for (std::size_t i = begin; i < end; ++i)
    values.push_back(
        narrow::decode(x.plan.type, narrow::load(x.plan.type, x.bytes, place_in_x(problem, row, i))));
  const bool tensor = problem.at("scales") == "tensor",
             given = tensor && problem.at("scale_of_tensor") == "given";
  const double tensor_scale = problem.at("format") == "nvfp4" ? first_value(run, "tensor_scale") : 0;
  NaiveBlock block = naive_block(format, problem.at("scale_round") == "up", largest, tensor_scale);
  if (given) {
    block.factor = 1 / static_cast<float>(first_value(run, "scale"));
  } else {
    const HostTensor& scale = tensor_of(run, "scale");
    const std::size_t columns = (size("n") + group - 1) / group, column = begin / group;
    // A tile has 128 rows of 4 scales: 32 rows after the other, each with those 32, 64 and 96 rows below.
    const std::size_t tile = row / 128 * ((columns + 3) / 4) + column / 4;
    const std::size_t index = problem.at("scale_layout") == "tiles"
                                  ? ((tile * 32 + row % 32) * 4 + row % 128 / 32) * 4 + column % 4
                                  : (problem.at("scales") == "block" ? row / 128
                                     : tensor                        ? 0
                                                                     : row) *
                                            columns +
                                        column;
    const std::uint64_t got = narrow::load(format.scale, scale.bytes, index);
    if (!same_bits(format.scale, got, block.scale))
      FAIL("scale[" << index << "] is " << got << " in place of " << block.scale);
  }
  for (std::size_t i = begin; i < end; ++i) {
    const float scaled = static_cast<float>(values[i - begin]) * static_cast<float>(block.factor);
    const bool integer = format.element == s8 || format.element == s4;
    const std::uint64_t wanted =
        integer && std::isnan(scaled) ? 0 : narrow::encode(format.element, scaled, narrow::Overflow::finite);
    const std::uint64_t got = code_at(run, format.element, row, i);
    if (problem.at("round") == "stochastic") {
      check_neighbour(format, scaled, narrow::decode(format.element, got));
      continue;
    }
    if (!same_bits(format.element, got, wanted))
      FAIL("y[" << row << ", " << i << "] is " << got << " in place of " << wanted << " for "
                << values[i - begin] << " times " << block.factor);
  }
}

/// Runs a problem, and compares every element with the template's reference and with this one.
inline RunResult run_quantize(const Settings& given, const Settings& config = {},
                              const std::vector<HostTensor>& inputs = {},
                              const std::string& target = "sm_100a") {
  INFO("problem " << words(given) << ", config " << words(config) << " on " << target << ", seed "
                  << Catch::getSeed());
  RunResult run =
      run_template(quantize_executor(target), quantize(),
                   {.problem = given, .config = config, .inputs = inputs, .seed = Catch::getSeed()});
  INFO("all parameters " << words(run.kernel.problem) << words(run.kernel.config));
  CHECK(run.verdict.first == "");
  REQUIRE(run.verdict.ok());
  const Settings& problem = run.kernel.problem;
  const auto size = [&](const char* name) { return static_cast<std::size_t>(std::stoull(problem.at(name))); };
  CHECK(run.verdict.checked >= size("rows") * size("n"));
  const NaiveFormat format = naive_format(problem.at("format"));
  const std::size_t group = problem.at("scales") == "group"   ? size("group")
                            : problem.at("scales") == "block" ? 128
                                                              : size("n");
  const bool blocks = problem.at("scales") == "block", computed = problem.at("scale_of_tensor") == "computed";
  const double of_tensor = computed ? naive_largest_of_tensor(run) : 0;
  if (computed && problem.at("format") == "nvfp4") check_tensor_scale(run, of_tensor);
  for (std::size_t begin = 0; begin < size("n"); begin += group) {
    double largest = of_tensor;
    for (std::size_t row = 0; row < size("rows"); ++row) {
      if (problem.at("scales") != "tensor" && (!blocks || row % 128 == 0))
        largest = naive_largest(run, row, begin, std::min(begin + group, size("n")));
      check_block(run, format, row, begin, group, largest);
    }
  }
  return run;
}

/// Values of one block that reach the boundaries of the arithmetic.
inline double boundary_value(std::mt19937& random, unsigned kind, const NaiveFormat& format, std::size_t i) {
  const auto unit = [&] { return static_cast<double>(random()) / 0x1p31 - 1; };  // in [-1, 1)
  const std::uint64_t codes = std::uint64_t{1} << (format.element.bits - 1);
  const auto code = [&](std::uint64_t number) { return narrow::decode(format.element, number % codes); };
  const double sign = random() % 2 == 0 ? 1 : -1, where = double(random() % 32);
  switch (kind % 10) {
    case 0:
      return 0;
    case 1:
      return -0.0;
    case 2:
      return double(i) == where ? std::numeric_limits<double>::quiet_NaN() : unit();
    case 3:
      return double(i) == where ? sign * std::numeric_limits<double>::infinity() : unit();
    case 4:
      return unit() * 0x1p-130;  // around the smallest scales, subnormal in f32 and bf16
    case 5:
      return unit() * 0x1.fep127;
    case 6: {  // an element, or a tie between two, times a power of two
      const std::uint64_t number = random();
      const double low = code(number), high = code(number + 1);
      const double exact = number % 3 == 0 ? low : (low + high) / 2;
      return std::isfinite(exact) ? sign * exact * 0x1p-3 : 1;
    }
    case 7:
      return sign * format.largest * (1 + (double(random() % 3) - 1) / 64);
    case 8:
      return std::ldexp(unit(), static_cast<int>(random() % 60) - 30);
    default:
      return unit();
  }
}

/// x with a kind of values for each part of 16 elements, and NaN in its padding.
inline HostTensor boundary_x(const Settings& given, std::mt19937& random) {
  const Settings problem = quantize().problem(given);
  const auto size = [&](const char* name) { return static_cast<std::size_t>(std::stoull(problem.at(name))); };
  const NaiveFormat format = naive_format(problem.at("format"));
  const bool transposed = problem.at("transpose") == "yes";
  std::vector<double> values(size(transposed ? "n" : "rows") * size("pitch_x"),
                             std::numeric_limits<double>::quiet_NaN());
  for (std::size_t row = 0; row < size("rows"); ++row) {
    unsigned kind = 0;
    for (std::size_t i = 0; i < size("n"); ++i) {
      if (i % 32 == 0 || (i % 16 == 0 && random() % 4 == 0)) kind = static_cast<unsigned>(random() % 10);
      // Scales of whole rows and blocks would be NaN nearly always.
      const bool rare = problem.at("scales") == "block" || problem.at("scale_of_tensor") == "computed" ||
                        (problem.at("scales") == "row" && row % 4 != 0);
      if (rare && (kind == 2 || kind == 3) && random() % 64 != 0) kind = 9;
      values[place_in_x(problem, row, i)] = boundary_value(random, kind, format, i % 32);
    }
  }
  return quantize_tensor(given, "x", values);
}

}  // namespace ptxloom::test
