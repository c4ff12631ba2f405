// SPDX-License-Identifier: Apache-2.0
// The cache serves what another process has emitted, if it is certain to be the same. The driver is a fake
// that only records calls.
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/fake_driver.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::emission_fake_test {
namespace {

/// gemm, counting the requests to emit.
class Counted final : public Template {
 public:
  explicit Counted(std::string digest) : digest_(std::move(digest)) {}
  mutable int emitted = 0;

  std::string_view name() const override { return gemm_.name(); }
  std::string_view space() const override { return gemm_.space(); }
  std::string_view digest() const override { return digest_; }
  Settings problem(const Settings& given) const override { return gemm_.problem(given); }
  std::vector<TensorPlan> tensors(const Settings& problem) const override { return gemm_.tensors(problem); }
  double operations(const Settings& problem) const override { return gemm_.operations(problem); }
  Settings config(const Specs& specs, const Target& target, const Settings& problem,
                  const Settings& given) const override {
    return gemm_.config(specs, target, problem, given);
  }
  tune::Space tuning_space(const Specs& specs, const Target& target, const Settings& problem) const override {
    return gemm_.tuning_space(specs, target, problem);
  }
  std::vector<Settings> candidates(const Specs& specs, const Target& target, const Settings& problem,
                                   const Settings& given) const override {
    return gemm_.candidates(specs, target, problem, given);
  }
  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& problem,
               const Settings& config) const override {
    ++emitted;
    return gemm_.emit(std::move(specs), target, problem, config);
  }
  std::vector<Expectation> expect(const Settings& problem,
                                  std::span<const HostTensor> inputs) const override {
    return gemm_.expect(problem, inputs);
  }

 private:
  std::string digest_;
  const Template& gemm_ = gemm_template();
};

struct Rig {
  FakeCuda& fake = fresh_fake();
  TemporaryFolder folder;
  Settings problem = gemm_template().problem({{"m", "128"}, {"n", "96"}, {"k", "64"}, {"a", "f16"}});

  Context context(std::vector<std::filesystem::path> specs = {}) const {
    return Context({.device = "gpu",
                    .specs = std::move(specs),
                    .cache_folder = folder / "cache",
                    .records_folder = folder / "records",
                    .libraries = {.folders = {fake_driver_folder()}}});
  }
  Rig() {
    const Context here = context();
    if (!here.libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
    const Settings config = gemm_template().config(here.specs(), here.target(), problem, {});
    const Emitted emitted = gemm_template().emit(here, here.target(), problem, config);
    fake.kernel = emitted.launches.front().entry;
    for (const auto& parameter : ir::signature(emitted.module.functions.front()).parameters)
      fake.parameters.emplace_back(parameter.offset, parameter.size);
  }
};

bool same(const LaunchPlan& a, const LaunchPlan& b) {
  return a.entry == b.entry && a.grid == b.grid && a.blocks_per_sm == b.blocks_per_sm &&
         a.cooperative == b.cooperative && a.block == b.block && a.cluster == b.cluster &&
         a.shared_bytes == b.shared_bytes &&
         std::ranges::equal(a.arguments, b.arguments, [](const ArgumentPlan& x, const ArgumentPlan& y) {
           return x.name == y.name && x.type == y.type && x.tensor == y.tensor && x.bits == y.bits &&
                  x.map.has_value() == y.map.has_value();
         });
}

}  // namespace

TEST_CASE("a kernel that one process has emitted is not emitted again by the next") {
  const Rig rig;
  const Counted first("1");
  const Specialised made = specialise(rig.context(), first, rig.problem);
  CHECK(first.emitted == 1);

  const Counted second("1");
  const Specialised found = specialise(rig.context(), second, rig.problem);
  CHECK(second.emitted == 0);
  CHECK(found.kernels.front().cached());
  CHECK(found.kernels.front().ptx() == made.kernels.front().ptx());
  CHECK(std::ranges::equal(found.kernels.front().cubin(), made.kernels.front().cubin()));
  CHECK(found.config == made.config);
  CHECK(same(found.launches.front(), made.launches.front()));
  CHECK(found.kernels.front().signature().parameters.size() ==
        made.kernels.front().signature().parameters.size());
  CHECK(found.kernels.front().signature().size() == made.kernels.front().signature().size());
}

TEST_CASE("a kernel that may differ is emitted anew") {
  const Rig rig;
  specialise(rig.context(), Counted("1"), rig.problem);
  const auto emitted = [&](const char* digest, const Context& context, const Settings& problem,
                           const Settings& config) {
    const Counted counted(digest);
    specialise(context, counted, problem, config);
    return counted.emitted;
  };
  CHECK(emitted("1", rig.context(), rig.problem, {}) == 0);
  CHECK(emitted("2", rig.context(), rig.problem, {}) == 1);
  CHECK(emitted("", rig.context(), rig.problem, {}) == 1);
  CHECK(emitted("", rig.context(), rig.problem, {}) == 1);
  CHECK(emitted("1", rig.context(), rig.problem, {{"maxnreg", "128"}}) == 1);
  CHECK(emitted("1", rig.context(), rig.problem, {{"maxnreg", "128"}}) == 0);
  CHECK(emitted("1", rig.context(), rig.problem, {{"maxnreg", "168"}}) == 1);
  const Settings other = gemm_template().problem({{"m", "160"}, {"n", "96"}, {"k", "64"}, {"a", "f16"}});
  CHECK(emitted("1", rig.context(), other, {}) == 1);

  std::filesystem::create_directory(rig.folder / "specs");
  std::ofstream(rig.folder / "specs/overlay.json")
      << R"({"form": "count", "text": "<op>.<type> D, A;", "ops": {"D": "out <type>", "A": "in <type>"},
             "mods": {"op": "turn|brev", "type": "b32"}})";
  CHECK(emitted("1", rig.context({rig.folder / "specs"}), rig.problem, {}) == 1);
  CHECK(emitted("1", Context({.device = "cpu", .cache_folder = rig.folder / "cache"}), rig.problem, {}) == 1);
}

}  // namespace ptxloom::test::emission_fake_test
