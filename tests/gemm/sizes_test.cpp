// SPDX-License-Identifier: Apache-2.0
// Launches of one Gemm with various sizes, leading dimensions, alpha and beta; and problems that a context
// remembers.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "gemm/executor.hpp"
#include "support/errors.hpp"
#include "support/naive_gemm.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::sizes_test {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t end) { return random() % end; }

std::string refusal(const Gemm& made, const GemmOperands& operands, const GemmSizes& sizes) {
  return error_of([&] { made.launch(nullptr, operands, sizes); }).diagnostics().front().code;
}

/// The problem of a launch, as for a Gemm made for exactly that.
GemmProblem with(GemmProblem problem, const GemmSizes& sizes) {
  problem.m = sizes.m.value_or(problem.m);
  problem.n = sizes.n.value_or(problem.n);
  problem.k = sizes.k.value_or(problem.k);
  problem.lda = sizes.lda.value_or(problem.lda);
  problem.ldb = sizes.ldb.value_or(problem.ldb);
  problem.ldc = sizes.ldc.value_or(problem.ldc);
  problem.ldd = sizes.ldd.value_or(problem.ldd);
  problem.alpha = sizes.alpha.value_or(problem.alpha);
  problem.beta = sizes.beta.value_or(problem.beta);
  return problem;
}

/// Launches with random tensors in the executor's memory, and checks D against the naive reference.
void check_launch(const Gemm& made, const GemmProblem& problem, const GemmSizes& sizes, std::uint64_t seed,
                  CUstream_st* stream = nullptr) {
  const Settings words = gemm_template().problem(with(problem, sizes).settings());
  INFO("a launch of " << test::words(words) << " by a Gemm for " << test::words(made.problem()) << ", seed "
                      << seed);
  std::vector<HostTensor> tensors = make_tensors(gemm_template(), words, {}, seed);
  std::map<std::string, Buffer> buffers;
  for (const HostTensor& tensor : tensors) {
    Buffer& buffer = buffers[tensor.plan.name] = executor().alloc(tensor.bytes.size());
    buffer.write(tensor.bytes);
  }
  GemmOperands operands{.a = buffers["a"], .b = buffers["b"], .d = buffers["d"]};
  if (buffers.contains("c")) operands.c = buffers["c"];
  made.launch(stream, operands, sizes);
  buffers["d"].read(tensors.back().bytes);
  const Comparison found = compare_gemm(words, tensors);
  CHECK(found.ok());
  INFO(found.first);
  CHECK(found.wrong == 0);
}

GemmSizes random_sizes(Random& random, const GemmProblem& largest) {
  GemmSizes sizes;
  if (below(random, 4) != 0) sizes.m = 1 + below(random, largest.m);
  if (below(random, 2) != 0) sizes.n = 1 + below(random, largest.n);
  if (below(random, 2) != 0) sizes.k = 1 + below(random, largest.k);
  if (below(random, 3) == 0) sizes.lda = sizes.k.value_or(largest.k) + below(random, 20);
  if (below(random, 3) == 0) sizes.ldb = sizes.k.value_or(largest.k) + below(random, 20);
  if (below(random, 3) == 0) sizes.ldd = sizes.n.value_or(largest.n) + below(random, 20);
  if (below(random, 2) != 0) sizes.alpha = double(below(random, 7)) - 3;
  if (below(random, 2) != 0) sizes.beta = double(below(random, 5)) - 2;
  return sizes;
}

}  // namespace

TEST_CASE("one Gemm serves random sizes, leading dimensions, alpha and beta of every type", "[gemm]") {
  Random random(Catch::getSeed());
  for (const Type type : {bf16, tf32, s8, e4m3, f64}) {
    const GemmProblem largest{.m = 130, .n = 96, .k = 160, .a = type};
    const Gemm made = gemm(executor(), largest);
    check_launch(made, largest, {}, random());
    for (int i = 0; i < 6; ++i) check_launch(made, largest, random_sizes(random, largest), random());
  }
}

TEST_CASE("sizes with the same requirements share a Gemm's kernels", "[gemm]") {
  const GemmProblem largest{.m = 512, .n = 128, .k = 64, .a = bf16};
  const Gemm made = gemm(executor(), largest,
                         {{"strategy", "mma"},
                          {"tile_m", "32"},
                          {"tile_n", "32"},
                          {"tile_k", "64"},
                          {"stages", "2"},
                          {"warps_m", "2"},
                          {"warps_n", "1"},
                          {"split", "1"}});
  CHECK(made.kernels() == 1);
  for (std::uint64_t m = 1; m <= 512; m += 73) made.prepare({.m = m});
  CHECK(made.kernels() == 2);  // one with the problem's sizes as constants, and one for all other sizes
  made.prepare({.beta = 2});
  CHECK(made.kernels() == 3);  // it reads C
  made.prepare({.m = 7, .alpha = 3});
  made.prepare({.m = 512, .n = 128, .k = 64});
  CHECK(made.kernels() == 3);
  made.prepare({.lda = 65});  // rows of A start at odd elements
  CHECK(made.kernels() == 4);
  const Gemm copy = made;
  copy.prepare({.m = 3});
  CHECK(copy.kernels() == 4);
}

TEST_CASE("a kernel that needs its sizes as constants is made for each of them", "[gemm]") {
  const GemmProblem largest{.m = 65, .n = 33, .k = 51, .a = bf16};
  const Gemm made = gemm(executor(), largest, {{"strategy", "wgmma"}});
  for (const GemmSizes& sizes : {GemmSizes{}, {.m = 64}, {.m = 3, .k = 50}, {.n = 32, .k = 48}})
    check_launch(made, largest, sizes, Catch::getSeed());
  CHECK(made.kernels() == 4);
}

TEST_CASE("factors that do not fit f32 are refused in the problem and at launch", "[gemm]") {
  for (const char* factor : {"alpha", "beta"})
    for (const char* value : {"1e39", "-3.5e38"}) {
      const Error error = error_of([&] {
        gemm_template().problem({{"m", "8"}, {"n", "8"}, {"k", "8"}, {"a", "f16"}, {factor, value}});
      });
      CHECK(error.diagnostics().front().code == "bad-value");
    }
  CHECK_NOTHROW(
      gemm_template().problem({{"m", "8"}, {"n", "8"}, {"k", "8"}, {"a", "f64"}, {"alpha", "1e39"}}));
  CHECK_NOTHROW(gemm(executor(), {.m = 8, .n = 8, .k = 8, .a = f64, .alpha = 1e-310}));
  const Gemm made = gemm(executor(), {.m = 16, .n = 8, .k = 16, .a = f16});
  const Buffer a = executor().alloc(512), b = executor().alloc(256), d = executor().alloc(512);
  const GemmOperands operands{.a = a, .b = b, .d = d};
  for (const double value : {1e300, -1e39, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK(refusal(made, operands, {.alpha = value}) == "bad-value");
}

TEST_CASE("values that an enumeration does not have are refused", "[gemm]") {
  const GemmProblem good{.m = 16, .n = 8, .k = 16, .a = f16};
  const auto code = [&](auto GemmProblem::* field, int value) {
    GemmProblem problem = good;
    problem.*field = static_cast<std::remove_reference_t<decltype(problem.*field)>>(value);
    return error_of([&] { gemm(executor(), problem); }).code();
  };
  CHECK(code(&GemmProblem::a_layout, 2) == "bad-value");
  CHECK(code(&GemmProblem::b_layout, 255) == "bad-value");
  CHECK(code(&GemmProblem::activation, 5) == "bad-value");
  CHECK(code(&GemmProblem::scale_a, 4) == "bad-value");
  CHECK(code(&GemmProblem::scale_b, 77) == "bad-value");
  CHECK(code(&GemmProblem::groups, 3) == "bad-value");
}

TEST_CASE("a moved-from Gemm is as good as before, and a parameter in the wrong place is named", "[gemm]") {
  const GemmProblem problem{.m = 16, .n = 8, .k = 16, .a = f16};
  Gemm made = gemm(executor(), problem);
  const Gemm moved = std::move(made);
  CHECK(made.ptx() == moved.ptx());
  check_launch(made, problem, {.m = 7}, Catch::getSeed());
  const Error error = error_of([&] { gemm(executor(), problem, {{"m", "5"}}); });
  CHECK(error.code() == "unknown-parameter");
  CHECK(error.diagnostics()[0].message.ends_with(
      "'m' is a parameter of the problem, but it is given in the configuration"));
  CHECK(error.diagnostics()[0].hint == "move it to the problem");
}

TEST_CASE("sizes that a Gemm was not made for are refused before anything runs", "[gemm]") {
  const GemmProblem largest{.m = 64, .n = 48, .k = 32, .a = s8};
  const Gemm made = gemm(executor(), largest);
  Buffer a = executor().alloc(64 * 64), b = executor().alloc(64 * 64), d = executor().alloc(64 * 64 * 4);
  d.fill(kPoison);
  const GemmOperands operands{.a = a, .b = b, .d = d};
  CHECK(refusal(made, operands, {.m = 65}) == "size-out-of-range");
  CHECK(refusal(made, operands, {.m = 0}) == "size-out-of-range");
  CHECK(refusal(made, operands, {.n = 49}) == "size-out-of-range");
  CHECK(refusal(made, operands, {.k = ~std::uint64_t{0}}) == "size-out-of-range");
  CHECK(refusal(made, operands, {.lda = 31}) == "bad-stride");
  CHECK(refusal(made, operands, {.alpha = 0.5}) == "bad-value");
  CHECK(refusal(made, operands, {.m = 8, .alpha = 1e10}) == "bad-value");
  CHECK(refusal(made, operands, {.beta = 1}) == "missing-operand");
  CHECK(refusal(made, {.a = a, .b = b, .c = d, .d = b}, {.m = 8, .beta = 1}) == "overlapping-operands");
  CHECK_THROWS_AS(made.prepare({.n = 0}), Error);
  std::vector<std::byte> left(64 * 48 * 4);
  d.read(left);
  CHECK(std::ranges::all_of(left, [](std::byte byte) { return byte == kPoison; }));
}

TEST_CASE("launches with other sizes share a stream's workspace", "[gemm]") {
  const GemmProblem largest{.m = 72, .n = 136, .k = 712, .a = bf16};
  const Gemm made = gemm(executor(), largest, {{"stream_k", "yes"}});
  const GemmSizes sizes[] = {{}, {.m = 60, .k = 512}, {.n = 40}, {.m = 60, .k = 512}, {}};
  for (const GemmSizes& one : sizes) {
    REQUIRE(made.workspace_bytes(one) > 0);
    check_launch(made, largest, one, Catch::getSeed());
    check_launch(made, largest, one, Catch::getSeed() + 1, reinterpret_cast<CUstream_st*>(64));
  }
}

TEST_CASE("a context remembers the problems it was asked for", "[gemm]") {
  const Context context({.device = "cpu"});
  const GemmProblem problem{.m = 40, .n = 24, .k = 32, .a = bf16};
  const auto specialised = [&](const GemmProblem& of, const Settings& config = {}) {
    return &gemm(context, of, config).specialised();
  };
  const Gemm first = gemm(context, problem);
  CHECK(specialised(problem) == &first.specialised());
  GemmProblem other = problem;
  other.activation = Activation::relu;
  const Gemm second = gemm(context, other);
  CHECK(&second.specialised() != &first.specialised());
  CHECK(specialised(problem, {{"strategy", "mma"}}) != &first.specialised());
  CHECK(specialised(problem) == &first.specialised());
  CHECK(specialised(other) == &second.specialised());
  const Context stranger({.device = "cpu"});
  CHECK(&gemm(stranger, problem).specialised() != &first.specialised());
}

TEST_CASE("a tuning record makes a context forget its problems", "[gemm]") {
  const TemporaryFolder folder;
  const Context context({.device = "cpu", .records_folder = folder / "records"});
  const GemmProblem problem{.m = 40, .n = 24, .k = 32, .a = bf16};
  const Gemm before = gemm(context, problem);
  context.records().add({.device = {.name = "GPU", .sm = "sm_90a", .sms = 1, .memory_mhz = 1},
                         .kernel_template = "gemm",
                         .problem = before.problem(),
                         .config = before.config(),
                         .time_us = 1});
  const Gemm after = gemm(context, problem);
  CHECK(&after.specialised() != &before.specialised());
  CHECK(&gemm(context, problem).specialised() == &after.specialised());
}

TEST_CASE("a context forgets the problem that was asked for longest ago", "[gemm]") {
  const Context context({.device = "cpu"});
  const GemmProblem problem{.m = 1, .n = 8, .k = 8, .a = f16};
  const Settings small{{"strategy", "mma"}, {"tile_m", "16"}, {"tile_n", "16"}, {"tile_k", "16"}};
  const Gemm first = gemm(context, problem, small);
  for (std::uint64_t m = 2; m <= 128; ++m) {
    GemmProblem next = problem;
    next.m = m;
    gemm(context, next, small);
  }
  CHECK(&gemm(context, problem, small).specialised() == &first.specialised());
  GemmProblem next = problem;
  next.m = 129;
  const Gemm last = gemm(context, next, small);
  CHECK(&gemm(context, problem, small).specialised() == &first.specialised());  // it was asked for last
  next.m = 2;
  const Gemm again = gemm(context, next, small);
  CHECK(again.problem().at("m") == "2");
}

}  // namespace ptxloom::test::sizes_test
