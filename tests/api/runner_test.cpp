// SPDX-License-Identifier: Apache-2.0
// Running templates, with a small one of the test's own that can be told to fail.
#include "ptxloom/runner.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "ptxloom/tuner.hpp"
#include "support/errors.hpp"
#include "support/small_templates.hpp"

using namespace ptxloom;

namespace {

/// y[i] = x[i] + 1 for the first n of n + 2 elements; `fault` in the configuration makes it go wrong. The
/// workspace, which is zeros, is added too.
class AddOne : public test::SmallTemplate {
 public:
  AddOne() : SmallTemplate({"none", "wrong", "hole", "spill"}) {}
  std::string_view name() const override { return "add_one"; }
  std::vector<TensorPlan> tensors(const Settings& problem) const override {
    const std::uint64_t n = std::stoull(problem.at("n"));
    return {{.name = "x", .type = s32, .shape = {n}, .role = TensorPlan::Role::in},
            {.name = "y", .type = s32, .shape = {n + 2}, .role = TensorPlan::Role::out}};
  }
  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& problem,
               const Settings& config) const override {
    const auto n = static_cast<std::uint32_t>(std::stoul(problem.at("n")));
    const std::string& fault = config.at("fault");
    KernelBuilder k(std::move(specs), "add_one", target);
    const Reg count = k.param(u32, "n");
    const Pointer x = k.pointer(s32, "x"), y = k.pointer(s32, "y"), zeros = k.pointer(s32, "zeros");
    const Reg i = k.global_thread_x();
    const auto body = [&] {
      k.store(y[i], k.add(k.add(k.load(x[i]), k.load(zeros[i])), fault == "wrong" ? 2 : 1));
    };
    const Reg last = k.sub(count, 1);
    if (fault == "hole")
      k.if_(k.lt(i, last), body);
    else
      k.if_(k.lt(i, count), body);
    if (fault == "spill") k.if_(k.eq(i, 0), [&] { k.store(y[n + 1], 7); });
    return {.module = k.finish(),
            .launches = {{.entry = "add_one",
                          .grid = {(n + 31) / 32, 1, 1},
                          .block = {32, 1, 1},
                          .workspace_bytes = std::uint64_t{4} * n,
                          .arguments = {{.name = "n", .type = u32, .bits = n},
                                        {.name = "x", .type = u64, .tensor = "x"},
                                        {.name = "y", .type = u64, .tensor = "y"},
                                        {.name = "zeros", .type = u64, .tensor = std::string(kWorkspace)}}}}};
  }
  std::vector<Expectation> expect(const Settings& problem,
                                  std::span<const HostTensor> inputs) const override {
    const std::uint64_t n = std::stoull(problem.at("n"));
    Expectation expected{.tensor = "y"};
    for (std::uint64_t i = 0; i < n; i += 3) {
      std::int32_t x = 0;
      std::memcpy(&x, inputs[0].bytes.data() + 4 * i, 4);
      // Wraps around as the kernel does.
      const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) + 1U);
      expected.points.push_back({.index = i, .value = static_cast<double>(sum), .tolerance = 0});
    }
    expected.untouched = {n, n + 1};
    return {expected};
  }
};

RunResult run(const Settings& config, std::vector<HostTensor> inputs = {}) {
  static const AddOne add_one;
  return run_template(
      Context({.device = "cpu"}), add_one,
      {.problem = {{"n", "100"}}, .config = config, .inputs = std::move(inputs), .seed = Catch::getSeed()});
}

}  // namespace

TEST_CASE("a correct kernel is found correct") {
  const RunResult result = run({});
  CHECK(result.verdict.ok());
  CHECK(result.verdict.checked == 34);
  CHECK(result.verdict.worst == 0);
}

TEST_CASE("a wrong value is found and named") {
  const Verdict verdict = run({{"fault", "wrong"}}).verdict;
  CHECK(!verdict.ok());
  CHECK(verdict.wrong == 34);
  CHECK(verdict.first.starts_with("y[0] is "));
}

TEST_CASE("an unwritten element is found, between the points too") {
  // Element 99 is a point as well, so both ways of looking must see it: as a wrong value, and with n = 101 as
  // a hole.
  CHECK(run({{"fault", "hole"}}).verdict.wrong == 1);
  const AddOne add_one;
  const RunResult result =
      run_template(Context({.device = "cpu"}), add_one,
                   {.problem = {{"n", "101"}}, .config = {{"fault", "hole"}}, .seed = Catch::getSeed()});
  CHECK(result.verdict.wrong == 0);
  CHECK(result.verdict.unwritten == std::vector<std::uint64_t>{100});
  CHECK(!result.verdict.ok());
}

TEST_CASE("a write outside the result is found") {
  const Verdict verdict = run({{"fault", "spill"}}).verdict;
  CHECK(verdict.wrong == 1);
  CHECK(verdict.first == "y[101] was written, but is outside the result");
}

TEST_CASE("a value that looks like poison is not mistaken for it") {
  HostTensor x{.plan = {.name = "x", .type = s32, .shape = {100}}, .bytes = std::vector<std::byte>(400)};
  const std::uint32_t before_poison = 0xA5A5A5A5U - 1;
  std::memcpy(x.bytes.data() + 4, &before_poison, 4);  // element 1 is between the points
  CHECK(run({}, {x}).verdict.ok());
}

TEST_CASE("given inputs are used, and must fit") {
  HostTensor x{.plan = {.name = "x", .type = s32, .shape = {100}},
               .bytes = std::vector<std::byte>(400, std::byte{1})};
  const RunResult result = run({}, {x});
  std::int32_t first = 0;
  std::memcpy(&first, result.tensors[1].bytes.data(), 4);
  CHECK(first == 0x01010102);
  x.bytes.pop_back();
  CHECK(error_of([&] { run({}, {x}); }).diagnostics().front().code == "wrong-tensor");
  x.plan.name = "z";
  CHECK(error_of([&] { run({}, {x}); }).diagnostics().front().code == "wrong-tensor");
}

TEST_CASE("tuning without a GPU says what is missing") {
  const AddOne add_one;
  const Error error =
      error_of([&] { tune_template(Context({.device = "cpu"}), add_one, {.problem = {{"n", "1"}}}); });
  CHECK(error.kind() == ErrorKind::missing);
}
