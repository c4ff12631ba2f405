// SPDX-License-Identifier: Apache-2.0
// Many random shapes of every type with every strategy, every element compared. Hidden, because it takes
// minutes:
//   test_gpu "[.shapes]"      PTXLOOM_TEST_SHAPES: how many (200)
#include <atomic>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "ptxloom/gemm.hpp"
#include "support/gpu.hpp"
#include "support/naive_gemm.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::gemm_shapes_test {
namespace {

constexpr const char* kTypes[] = {"f16", "bf16", "tf32", "e4m3", "f64", "s8", "u8"};
constexpr const char* kStrategies[] = {"wgmma", "mma"};

/// The whole of D, of which gemm's own reference would only sample a large one: it is computed for some rows
/// at a time. A must be row-major.
Expectation whole_reference(const Settings& problem, const std::vector<HostTensor>& tensors,
                            std::uint64_t multiply_adds) {
  const Template& gemm = gemm_template();
  const auto size = [&](const char* name) { return std::stoull(problem.at(name)); };
  const std::uint64_t m = size("m"), step = std::max<std::uint64_t>(1, multiply_adds / size("n") / size("k"));
  const HostTensor& a = tensors.at(0);
  const auto pitch = static_cast<std::ptrdiff_t>(a.plan.bytes() / m);
  Expectation whole{.tensor = "d", .points = {}, .complete = true};
  for (std::uint64_t row = 0; row < m; row += step) {
    const std::uint64_t rows = std::min(step, m - row);
    std::vector<HostTensor> part = {a, tensors.at(1)};
    part[0].plan.shape[0] = rows;
    const auto begin = a.bytes.begin() + static_cast<std::ptrdiff_t>(row) * pitch;
    part[0].bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(rows) * pitch);
    const Expectation some = gemm.expect(with(problem, {{"m", std::to_string(rows)}}), part).at(0);
    whole.complete = whole.complete && some.complete;
    const std::uint64_t offset = row * size("ldd");
    for (Expectation::Point point : some.points) {
      point.index += offset;
      whole.points.push_back(point);
    }
    for (const std::uint64_t index : some.untouched) whole.untouched.push_back(index + offset);
  }
  return whole;
}

struct Case {
  Settings problem;
  std::uint64_t seed;
};

/// Every second one has rows at multiples of 16 elements, as TMA requires.
std::vector<Case> random_cases(int shapes, unsigned most) {
  std::mt19937 random(Catch::getSeed());
  std::vector<Case> cases;
  for (int i = 0; i < shapes; ++i) {
    const auto size = [&] { return static_cast<int>(1 + random() % most); };
    const Settings shape = test::shape(size(), size(), size());
    const int k = std::stoi(shape.at("k")), pitch = i % 2 == 0 ? (k + 15) / 16 * 16 : k;
    for (const std::string type : kTypes) {
      const bool narrow = i % 3 == 0 && (type == "f16" || type == "bf16");
      const Settings more = {{"a", type}, {"lda", std::to_string(pitch)}, {"ldb", std::to_string(pitch)}};
      cases.push_back({with(with(shape, more), narrow ? Settings{{"d", type}} : Settings{}), random()});
    }
  }
  return cases;
}

/// What all threads find.
struct Findings {
  std::mutex mutex;
  std::map<std::string, int> runs;  // by strategy
  std::vector<std::string> wrong;

  void add(const std::string& strategy, const std::string& problem) {
    const std::scoped_lock lock(mutex);
    ++runs[strategy];
    if (!problem.empty()) wrong.push_back(problem);
  }
};

/// One configuration of each applicable strategy: the default, or a random one.
void check(const Context& context, const Case& one, Findings& findings) {
  const Template& gemm = gemm_template();
  const Settings problem = gemm.problem(one.problem);
  const std::vector<HostTensor> tensors = make_tensors(gemm, problem, {}, one.seed);
  const std::vector<HostTensor> inputs = {tensors[0], tensors[1]};
  const Expectation expected = whole_reference(problem, tensors, std::uint64_t{1} << 27);
  for (const std::string strategy : kStrategies) {
    Settings config = {{"strategy", strategy}};
    std::string wrong;
    try {
      const auto found = gemm.candidates(context.specs(), context.target(), problem, config);
      if (found.empty()) continue;
      config = found[one.seed % 4 == 0 ? 0 : one.seed % found.size()];
      const RunResult result = run_template(
          context, gemm, {.problem = problem, .config = config, .inputs = inputs, .verify = false});
      const Verdict verdict = verify(expected, result.tensors.back());
      const Comparison naive = compare_gemm(one.problem, result.tensors);
      if (!expected.complete)
        wrong = "the reference is not whole";
      else if (!verdict.ok())
        wrong = verdict.first + ", " + std::to_string(verdict.wrong) + " are wrong";
      else if (!naive.ok() || naive.compared == 0)
        wrong = "by the naive product: " + naive.first + ", " + std::to_string(naive.wrong) +
                " are wrong of " + std::to_string(naive.compared);
    } catch (const Error& error) {
      const std::string& code = error.diagnostics().front().code;
      if (code == "no-configuration" || code == "no-variant")
        continue;  // not available for this type or
                   // target
      wrong = error.what();
    }
    if (!wrong.empty()) wrong += "\n  " + words(problem) + "| " + words(config);
    findings.add(strategy, wrong);
  }
}

/// Most of the time is spent on linking and the reference, so all cores are used.
void check_all(const Context& context, const std::vector<Case>& cases, Findings& findings) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < cases.size(); at = next++) check(context, cases[at], findings);
    });
}

}  // namespace

TEST_CASE("the reference of the whole D agrees with that of its rows") {
  const Settings problem = gemm_template().problem(with(shape(37, 21, 29), {{"a", "bf16"}, {"ldd", "24"}}));
  const auto tensors = make_tensors(gemm_template(), problem, {}, Catch::getSeed());
  const Expectation wanted = gemm_template().expect(problem, tensors).at(0);
  const Expectation whole = whole_reference(problem, tensors, std::uint64_t{5} * 21 * 29);
  REQUIRE(whole.points.size() == wanted.points.size());
  for (std::size_t i = 0; i < wanted.points.size(); ++i) {
    CHECK(whole.points[i].index == wanted.points[i].index);
    CHECK(whole.points[i].value == wanted.points[i].value);
    CHECK(whole.points[i].tolerance == wanted.points[i].tolerance);
  }
  CHECK(whole.untouched == wanted.untouched);
}

TEST_CASE("gemm in the executor computes D for a few random shapes of every type") {
  Findings findings;
  check_all(Context({.device = "cpu"}), random_cases(2, 60), findings);
  for (const std::string& wrong : findings.wrong) FAIL_CHECK(wrong);
  for (const char* strategy : kStrategies) CHECK(findings.runs[strategy] > 0);
}

TEST_CASE("gemm on the GPU computes D for many random shapes of every type", "[.shapes]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const char* const given = std::getenv("PTXLOOM_TEST_SHAPES");
  Findings findings;
  check_all(context, random_cases(given == nullptr ? 200 : std::stoi(given), 1100), findings);
  INFO("seed " << Catch::getSeed());
  for (const std::string& wrong : findings.wrong) FAIL_CHECK(wrong);
  for (const auto& [strategy, runs] : findings.runs) WARN(strategy << ": " << runs << " kernels");
  CHECK(findings.runs["mma"] > 0);
}

}  // namespace ptxloom::test::gemm_shapes_test
