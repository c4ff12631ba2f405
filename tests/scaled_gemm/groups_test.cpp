// SPDX-License-Identifier: Apache-2.0
// scaled_gemm of several experts in the executor: batches, and groups of rows whose sizes are in memory. Each
// product is compared with a launch of its own.
#include <algorithm>
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <optional>

#include "ptxloom/context.hpp"
#include "ptxloom/runner.hpp"
#include "scaled_gemm/running.hpp"
#include "scaled_gemm/weight_case.hpp"

namespace ptxloom::scaled_gemm_test::groups {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

constexpr std::uint32_t kPoison = 0xa5a5'a5a5;

struct Formats {
  const char *a, *b, *target;
};
constexpr std::array kAll = {Formats{"bf16", "s4", "sm_90a"},      Formats{"bf16", "nvfp4", "sm_90a"},
                             Formats{"f16", "u4", "sm_80"},        Formats{"bf16", "nvfp4", "sm_80"},
                             Formats{"nvfp4", "nvfp4", "sm_120a"}, Formats{"mxfp8_e4m3", "mxfp4", "sm_120a"},
                             Formats{"e4m3", "mxfp4", "sm_90a"},   Formats{"e4m3", "s4", "sm_89"},
                             Formats{"s8", "s4", "sm_90a"}};

Settings of(const Formats& formats) {
  return {{"format_a", formats.a}, {"format_b", formats.b}, {"d", "f32"}};
}

HostTensor vector_of(const Settings& problem, std::string_view name,
                     const std::vector<std::int32_t>& values) {
  for (const TensorPlan& plan : scaled_gemm().tensors(scaled_gemm().problem(problem))) {
    if (plan.name != name) continue;
    HostTensor made{plan, std::vector<std::byte>(plan.bytes())};
    REQUIRE(made.bytes.size() == 4 * values.size());
    std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    return made;
  }
  FAIL("no tensor " << name);
  return {};
}

RunResult run(const Settings& problem, const Formats& formats, const std::vector<HostTensor>& in = {},
              const Settings& config = {}) {
  INFO("problem " << test::words(problem) << ", config " << test::words(config) << ", " << formats.target
                  << ", seed " << Catch::getSeed());
  RunResult result =
      run_template(executor_of(formats.target), scaled_gemm(),
                   {.problem = problem, .config = config, .inputs = in, .seed = Catch::getSeed()});
  INFO("all parameters " << test::words(result.kernel.config));
  CHECK(result.verdict.first.empty());
  REQUIRE(result.verdict.ok());
  return result;
}

const HostTensor& tensor(const RunResult& result, std::string_view name) {
  for (const HostTensor& one : result.tensors)
    if (one.plan.name == name) return one;
  FAIL("no tensor " << name);
  return result.tensors.front();
}

/// Part `index` of `count` of a tensor, as `name`'s tensor of another problem.
HostTensor part(const RunResult& from, std::string_view name, const Settings& into, std::size_t index,
                std::size_t count) {
  const HostTensor& all = tensor(from, name);
  for (const TensorPlan& plan : scaled_gemm().tensors(scaled_gemm().problem(into))) {
    if (plan.name != name) continue;
    const std::size_t bytes = all.bytes.size() / count;
    REQUIRE(plan.bytes() == bytes);
    const auto begin = all.bytes.begin() + static_cast<std::ptrdiff_t>(index * bytes);
    return {plan, {begin, begin + static_cast<std::ptrdiff_t>(bytes)}};
  }
  FAIL("no tensor " << name);
  return {};
}

std::vector<float> floats(const HostTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

/// D of the product of all rows of an A with one of several B. `rows`: of A, D and its vectors, part of
/// `parts`.
std::vector<float> alone(const RunResult& several, const Formats& formats, std::size_t batches,
                         std::size_t batch, std::size_t a_parts, std::size_t a_part) {
  Settings problem;
  for (const char* name : {"m", "n", "k", "format_a", "format_b", "d", "row_weights"})
    problem[name] = several.kernel.problem.at(name);
  std::vector<HostTensor> in;
  for (const HostTensor& one : several.tensors) {
    const std::string& name = one.plan.name;
    if (name == "d" || name == "group_rows" || name == "group_of_rows") continue;
    const bool of_a = name == "a" || name == "scale_a" || name == "tensor_scale_a" || name == "row_weights";
    in.push_back(of_a ? part(several, name, problem, a_part, a_parts)
                      : part(several, name, problem, batch, batches));
  }
  // The same configuration: sums in another order differ in their last bits.
  return floats(tensor(run(problem, formats, in, several.kernel.config), "d"));
}

void check_rows(const RunResult& several, const std::vector<float>& wanted, std::size_t d_row,
                std::size_t row, std::size_t rows) {
  const std::size_t n = std::stoull(several.kernel.problem.at("n"));
  const std::vector<float> d = floats(tensor(several, "d"));
  for (std::size_t i = 0; i < rows * n; ++i) {
    INFO("element " << i);
    REQUIRE(d[d_row * n + i] == wanted[row * n + i]);
  }
}

void check_kept(const RunResult& several, std::size_t row, std::size_t rows) {
  const std::size_t n = std::stoull(several.kernel.problem.at("n"));
  const std::vector<std::byte>& d = tensor(several, "d").bytes;
  for (std::size_t i = row * n; i < (row + rows) * n; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, d.data() + 4 * i, 4);
    REQUIRE(word == kPoison);
  }
}

}  // namespace

TEST_CASE("scaled_gemm, groups: batches are products of their own") {
  for (const Formats& formats : kAll) {
    const Settings problem =
        with(with(shape(21, 70, 160), of(formats)), {{"batch", "3"}, {"row_weights", "yes"}});
    const RunResult all = run(problem, formats);
    for (std::size_t i = 0; i < 3; ++i) check_rows(all, alone(all, formats, 3, i, 3, i), 21 * i, 0, 21);
  }
}

TEST_CASE("scaled_gemm, groups: masked batches have their first rows only") {
  for (const Formats& formats : kAll) {
    const Settings problem =
        with(with(shape(40, 70, 160), of(formats)), {{"batch", "5"}, {"groups", "masked"}});
    const std::vector<std::int32_t> rows{17, 0, 40, -3, 99};
    const RunResult all = run(problem, formats, {vector_of(problem, "group_rows", rows)});
    for (std::size_t i = 0; i < 5; ++i) {
      const auto count = static_cast<std::size_t>(std::clamp(rows[i], 0, 40));
      if (count > 0) check_rows(all, alone(all, formats, 5, i, 5, i), 40 * i, 0, count);
      check_kept(all, 40 * i + count, 40 - count);
    }
  }
}

TEST_CASE("scaled_gemm, groups: runs of 128 rows are products with the B that the vector names") {
  for (const Formats& formats : kAll) {
    const Settings problem = with(with(shape(400, 70, 160), of(formats)),
                                  {{"batch", "3"}, {"groups", "contiguous"}, {"row_weights", "yes"}});
    const std::vector<std::int32_t> of_rows{2, -1, 2, 0};
    const RunResult all = run(problem, formats, {vector_of(problem, "group_of_rows", of_rows)});
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t count = std::min<std::size_t>(400 - 128 * i, 128);
      if (of_rows[i] < 0)
        check_kept(all, 128 * i, count);
      else
        check_rows(all, alone(all, formats, 3, static_cast<std::size_t>(of_rows[i]), 1, 0), 128 * i, 128 * i,
                   count);
    }
  }
}

TEST_CASE("scaled_gemm, groups: clusters that divide k, and tiles stored by TMA") {
  const Formats formats{"bf16", "mxfp4", "sm_90a"};
  const auto config = [](const char* m, const char* split, const char* share) {
    return Settings{{"tile_m", m},   {"tile_n", "64"}, {"tile_k", "64"}, {"warps_n", "4"},
                    {"stages", "3"}, {"split", split}, {"share", share}};
  };
  const Settings masked{{"format_a", "bf16"}, {"format_b", "mxfp4"}, {"batch", "4"}, {"groups", "masked"}};
  for (const Settings& c : {config("16", "4", "1"), config("32", "1", "2"), config("64", "1", "1")})
    run(with(shape(37, 200, 520), masked), formats, {}, c);
  // Tiles of rows that are all computed, that are in part, and that are not; and the end of a batch.
  const std::vector<std::int32_t> rows{150, 64, 0, 97};
  for (const Settings& c : {config("64", "1", "1"), config("32", "1", "2"), config("96", "1", "1")})
    for (const char* groups : {"masked", "none"}) {
      const Settings problem =
          with(with(shape(150, 136, 200), masked), {{"groups", groups}, {"row_weights", "yes"}});
      const bool counted = std::string_view(groups) == "masked";
      run(problem, formats,
          counted ? std::vector{vector_of(problem, "group_rows", rows)} : std::vector<HostTensor>{}, c);
    }
  const Settings contiguous{{"format_a", "bf16"},
                            {"format_b", "mxfp4"},
                            {"batch", "4"},
                            {"groups", "contiguous"},
                            {"row_weights", "yes"}};
  for (const Settings& c : {config("64", "1", "1"), config("128", "1", "2"), config("32", "2", "1")})
    run(with(shape(300, 136, 130), contiguous), formats, {}, c);
  const Settings gates{{"format_a", "bf16"}, {"format_b", "mxfp4"}, {"swiglu", "yes"}};
  for (const Settings& c : {config("16", "4", "1"), config("32", "1", "2"), config("64", "2", "1")})
    run(with(shape(70, 144, 300), gates), formats, {}, c);
}

TEST_CASE("scaled_gemm, groups: gates and values of the same tokens") {
  for (const Formats& formats : kAll) {
    // D of gates and values apart, then of both.
    const Settings apart =
        with(with(shape(150, 80, 160), of(formats)), {{"batch", "2"}, {"groups", "contiguous"}});
    const std::vector<std::int32_t> of_rows{1, 0};
    const RunResult both = run(apart, formats, {vector_of(apart, "group_of_rows", of_rows)});
    const Settings problem = with(apart, {{"swiglu", "yes"}, {"row_weights", "yes"}, {"ldd", "43"}});
    std::vector<HostTensor> in;
    for (const HostTensor& one : both.tensors)
      if (one.plan.name != "d") in.push_back(one);
    const RunResult gated = run(problem, formats, in);
    const std::vector<float> sums = floats(tensor(both, "d")), d = floats(tensor(gated, "d")),
                             weights = floats(tensor(gated, "row_weights"));
    for (std::size_t row = 0; row < 150; ++row)
      for (std::size_t column = 0; column < 40; ++column) {
        const std::size_t gate = row * 80 + column / 8 * 16 + column % 8;
        const double silu = sums[gate] / (1 + std::exp(-double(sums[gate])));
        const double wanted = silu * sums[gate + 8] * weights[row];
        INFO("d[" << row << ", " << column << "]");
        REQUIRE(std::abs(d[row * 43 + column] - wanted) <= 1e-5 * std::abs(wanted) + 1e-30);
      }
  }
}

TEST_CASE("scaled_gemm, groups: what cannot be served is refused") {
  const Specs specs;
  const auto refused = [&](const Settings& problem, const Settings& config) {
    return refusal(
        [&] { scaled_gemm().config(specs, Target("sm_90a"), scaled_gemm().problem(problem), config); });
  };
  const Settings base = with(shape(256, 64, 256), {{"format_a", "bf16"}, {"format_b", "s4"}, {"batch", "2"}});
  CHECK_THAT(refused(with(base, {{"groups", "contiguous"}}), {{"tile_m", "96"}}),
             ContainsSubstring("divide 128"));
  CHECK_THAT(refused(with(base, {{"batch", "0"}}), {}), ContainsSubstring("batch"));
  CHECK_THAT(refused(with(base, {{"swiglu", "yes"}, {"n", "72"}}), {}), ContainsSubstring("groups of 16"));
  CHECK_THAT(refused(with(base, {{"batch", "10000000"}}), {}), ContainsSubstring("2^30"));
}

}  // namespace ptxloom::scaled_gemm_test::groups
