// SPDX-License-Identifier: Apache-2.0
// Both references, the template's and the tests' naive one, accept a correct D and refuse a slightly wrong
// one: a slice of 16 along k missing, rows or columns exchanged, alpha ignored, an element unwritten. So
// their acceptance in other tests means something.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "gemm/executor.hpp"
#include "support/errors.hpp"
#include "support/narrow.hpp"

namespace ptxloom::test::reference_mutants_test {
namespace {

struct Run {
  Settings problem;
  std::vector<HostTensor> tensors;  ///< a, b, and c if there is one
  TensorPlan d;
};

enum class Data { random, whole };

Run make_run(const Settings& problem, Data data, std::uint64_t seed) {
  Run run{.problem = problem, .tensors = {}, .d = {}};
  for (const TensorPlan& plan : gemm_template().tensors(gemm_template().problem(problem))) {
    if (plan.role == TensorPlan::Role::out)
      run.d = plan;
    else
      run.tensors.push_back(data == Data::whole ? whole_tensor(plan, seed) : random_tensor(plan, seed));
  }
  return run;
}

HostTensor& operand(Run& run, std::string_view name) {
  return *std::ranges::find(run.tensors, name, [](const HostTensor& t) { return t.plan.name; });
}

/// The rows of a contiguous A, or the columns of a contiguous B, each with k elements.
struct Rows {
  HostTensor& tensor;
  std::size_t k;
  std::size_t count() const { return tensor.plan.elements() / k; }
  std::uint64_t get(std::size_t row, std::size_t i) const {
    return narrow::load(tensor.plan.type, tensor.bytes, row * k + i);
  }
  void set(std::size_t row, std::size_t i, std::uint64_t bits) {
    narrow::store(tensor.plan.type, tensor.bytes, row * k + i, bits);
  }
};

Rows rows_of(Run& run, std::string_view name) {
  return {operand(run, name), std::stoull(run.problem.at("k"))};
}

/// Leaves out the products of 16 of k in rows of D from `first` on.
Run without_slice(Run run, std::size_t begin, std::size_t first) {
  Rows a = rows_of(run, "a");
  for (std::size_t row = first; row < a.count(); ++row)
    for (std::size_t i = begin; i < std::min(a.k, begin + 16); ++i) a.set(row, i, 0);
  return run;
}

Run exchanged(Run run, std::string_view name, std::size_t one, std::size_t other) {
  Rows rows = rows_of(run, name);
  for (std::size_t i = 0; i < rows.k; ++i) {
    const std::uint64_t kept = rows.get(one, i);
    rows.set(one, i, rows.get(other, i));
    rows.set(other, i, kept);
  }
  return run;
}

/// Column j of D gets the values of column j + 1.
Run off_by_one(Run run) {
  Rows b = rows_of(run, "b");
  for (std::size_t row = 0; row + 1 < b.count(); ++row)
    for (std::size_t i = 0; i < b.k; ++i) b.set(row, i, b.get(row + 1, i));
  return run;
}

Run with_words(Run run, const Settings& words) {
  run.problem = with(run.problem, words);
  return run;
}

struct Answers {
  bool naive = false, reference = false;
};

Answers judge(const Run& right, const HostTensor& d) {
  std::vector<HostTensor> all = right.tensors;
  all.push_back(d);
  const Comparison comparison = compare_gemm(right.problem, all);
  const Expectation expected =
      gemm_template().expect(gemm_template().problem(right.problem), right.tensors).at(0);
  CHECK(comparison.enough());
  CHECK(comparison.compared > 0);
  return {.naive = comparison.ok(), .reference = verify(expected, d).ok()};
}

void check_refused(const Run& right, const HostTensor& d, const std::string& fault) {
  INFO(fault << " in " << words(right.problem) << ", seed " << Catch::getSeed());
  const Answers answers = judge(right, d);
  CHECK_FALSE(answers.naive);
  CHECK_FALSE(answers.reference);
}

/// `product` computes D for a run.
template <typename Product>
void check_mutants(const Run& right, std::mt19937& random, const Product& product) {
  {
    INFO("no fault in " << words(right.problem) << ", seed " << Catch::getSeed());
    const Answers answers = judge(right, product(right));
    CHECK(answers.naive);
    CHECK(answers.reference);
  }
  const std::size_t m = std::stoull(right.problem.at("m")), n = std::stoull(right.problem.at("n")),
                    k = std::stoull(right.problem.at("k"));
  const std::size_t slice = random() % (k / 16) * 16;
  check_refused(right, product(without_slice(right, slice, 0)), "no slice from " + std::to_string(slice));
  check_refused(right, product(without_slice(right, slice, m - 16)),
                "no slice from " + std::to_string(slice) + " in the last rows");
  const std::size_t row = random() % (m - 1), column = random() % (n - 1);
  check_refused(right, product(exchanged(right, "a", row, row + 1)), "rows exchanged");
  check_refused(right, product(exchanged(right, "b", column, column + 1)), "columns exchanged");
  check_refused(right, product(off_by_one(right)), "columns off by one");
  check_refused(with_words(right, {{"alpha", "3"}}), product(right), "alpha ignored");
}

struct Extents {
  int m, n, k;
};

}  // namespace

TEST_CASE("gemm's references notice small faults in every type and shape", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  const auto naive = [](const Run& run) { return naive_gemm(run.problem, run.d, run.tensors); };
  for (const char* type : {"e4m3", "e5m2", "f16", "bf16", "tf32", "f64", "s8", "u8"})
    for (const auto& [m, n, k] : {Extents{33, 40, 70}, {48, 24, 512}, {40, 32, 2048}})
      for (const Data data : {Data::random, Data::whole})
        check_mutants(make_run(with(shape(m, n, k), {{"a", type}}), data, random()), random, naive);
}

TEST_CASE("gemm's references notice a missing slice of a deep k with fp8", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  const auto naive = [](const Run& run) { return naive_gemm(run.problem, run.d, run.tensors); };
  for (const char* type : {"e4m3", "e5m2"})
    for (const char* sums : {"plain", "promoted"})
      check_mutants(
          make_run(with(shape(20, 17, 16384), {{"a", type}, {"sums", sums}}), Data::whole, random()), random,
          naive);
}

TEST_CASE("gemm's references notice small faults in the kernel's computation", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  for (const char* strategy : {"mma", "wgmma"})
    for (const char* type : {"e4m3", "bf16", "s8"})
      for (const Data data : {Data::random, Data::whole}) {
        const Run right = make_run(with(shape(48, 40, 528), {{"a", type}}), data, random());
        check_mutants(right, random, [&](const Run& run) {
          RunResult result = run_template(executor(), gemm_template(),
                                          {.problem = run.problem,
                                           .config = {{"strategy", strategy}},
                                           .inputs = run.tensors,
                                           .verify = false});
          return result.tensors.back();
        });
      }
}

TEST_CASE("both references notice an unwritten element, and a write outside the result", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  for (const char* type : {"e4m3", "bf16", "s8"}) {
    const Run right = make_run(with(shape(20, 30, 64), {{"a", type}, {"ldd", "33"}}), Data::random, random());
    const HostTensor d = naive_gemm(right.problem, right.d, right.tensors);
    const auto size = static_cast<std::size_t>(d.plan.type.bytes());
    const std::size_t row = random() % 20;
    std::size_t at = row * 33;  // the largest element of a row, because poison read as a float is tiny
    for (std::size_t i = at; i < row * 33 + 30; ++i)
      if (std::abs(narrow::decode(d.plan.type, narrow::load(d.plan.type, d.bytes, i))) >
          std::abs(narrow::decode(d.plan.type, narrow::load(d.plan.type, d.bytes, at))))
        at = i;
    HostTensor unwritten = d, written = d;
    std::fill_n(unwritten.bytes.begin() + static_cast<std::ptrdiff_t>(at * size), size, kPoison);
    check_refused(right, unwritten, "an element not written");
    written.bytes[(row * 33 + 31) * size] ^= std::byte{1};
    check_refused(right, written, "a written element of the padding");
  }
}

TEST_CASE("run_gemm fails if nothing was compared, or too little", "[gemm]") {
  const Settings problem = shape(4, 8, 16), masked = with(problem, {{"groups", "masked"}});
  const auto code = [](const Settings& words, const Verdict& verdict, const Comparison& naive) {
    return error_of([&] { require_compared(words, verdict, naive); }).diagnostics().front().code;
  };
  const Verdict all{.checked = 32}, none{};
  CHECK_NOTHROW(require_compared(problem, all, {.computed = 32, .compared = 32}));
  CHECK_NOTHROW(require_compared(masked, none, {}));
  CHECK_NOTHROW(require_compared(problem, {.checked = 5}, {.computed = 32, .compared = 7, .sampled = true}));
  CHECK(code(problem, none, {}) == "compared-too-little");
  CHECK(code(problem, none, {.computed = 32, .compared = 32}) == "compared-too-little");
  CHECK(code(problem, {.checked = 31}, {.computed = 32, .compared = 32}) == "compared-too-little");
  CHECK(code(problem, all, {.computed = 32, .compared = 31}) == "compared-too-little");
  CHECK(code(problem, all, {.computed = 32, .compared = 0, .sampled = true}) == "compared-too-little");
  CHECK(code(problem, none, {.computed = 32, .compared = 7, .sampled = true}) == "compared-too-little");
  CHECK(code(masked, none, {.computed = 32, .compared = 32}) == "compared-too-little");
}

}  // namespace ptxloom::test::reference_mutants_test
