// SPDX-License-Identifier: Apache-2.0
// A template library as its users write it: y = factor * x.
#include <cstring>
#include <ptxloom/builder.hpp>
#include <ptxloom/numeric.hpp>
#include <ptxloom/space.hpp>
#include <ptxloom/templates.hpp>

#ifdef TEST_VERSION  // of the library, to be refused
#undef PTXLOOM_VERSION
#define PTXLOOM_VERSION TEST_VERSION
#endif

namespace pl = ptxloom;

#ifndef TEST_PARAMETER  // of the configuration; the name of one of the problem's, to be refused
#define TEST_PARAMETER "threads"
#endif

namespace {

constexpr std::string_view kSpace =
    R"({
  "template": "scale",
  "doc": "y = factor * x in f32",
  "problem": [
    {"name": "n", "kind": "size", "doc": "elements of x and y"},
    {"name": "factor", "kind": "number", "default": "2", "doc": "what x is multiplied by"}
  ],
  "config": [{"name": ")" TEST_PARAMETER
    R"(", "values": "32|128|256", "default": "128", "doc": "threads of a thread block"}]
})";

class Scale final : public pl::Template {
 public:
  std::string_view name() const override { return space_.name(); }
  std::string_view space() const override { return kSpace; }
  pl::Settings problem(const pl::Settings& given) const override {
    pl::Settings whole = space_.complete(space_.problem(), given);
    if (!whole.contains("n"))
      throw pl::Error(pl::ErrorKind::usage, "missing-size", "scale: n is missing", "give --set n=1000");
    return whole;
  }
  std::vector<pl::TensorPlan> tensors(const pl::Settings& problem) const override {
    return {{"x", pl::f32, {size(problem)}, pl::TensorPlan::Role::in},
            {"y", pl::f32, {size(problem)}, pl::TensorPlan::Role::out}};
  }
  double operations(const pl::Settings& problem) const override { return static_cast<double>(size(problem)); }
  pl::Settings config(const pl::Specs&, const pl::Target&, const pl::Settings&,
                      const pl::Settings& given) const override {
    return space_.complete(space_.config(), given);
  }
  pl::tune::Space tuning_space(const pl::Specs&, const pl::Target&, const pl::Settings&) const override {
    return {.parameters = {{"threads", {"32", "128", "256"}}}};
  }
  std::vector<pl::Settings> candidates(const pl::Specs& specs, const pl::Target& target,
                                       const pl::Settings& problem,
                                       const pl::Settings& given) const override {
    return {config(specs, target, problem, given)};
  }
  pl::Emitted emit(std::shared_ptr<const pl::Specs> specs, const pl::Target& target,
                   const pl::Settings& problem, const pl::Settings& config) const override {
    const auto n = static_cast<std::uint32_t>(size(problem));
    const auto threads = static_cast<std::uint32_t>(std::stoul(config.at("threads")));
    pl::KernelBuilder k(std::move(specs), "scale", target);
    const auto count = k.param(pl::u32, "n");
    const auto x = k.pointer(pl::f32, "x"), y = k.pointer(pl::f32, "y");
    const auto i = k.global_thread_x();
    k.if_(k.lt(i, count), [&] { k.store(y[i], k.mul(k.load(x[i]), factor(problem))); });
    return {.module = k.finish(),
            .launches = {{.entry = "scale",
                          .grid = {(n + threads - 1) / threads, 1, 1},
                          .block = {threads, 1, 1},
                          .arguments = {{.name = "n", .type = pl::u32, .bits = n},
                                        {.name = "x", .type = pl::u64, .tensor = "x"},
                                        {.name = "y", .type = pl::u64, .tensor = "y"}}}}};
  }
  std::vector<pl::Expectation> expect(const pl::Settings& problem,
                                      std::span<const pl::HostTensor> inputs) const override {
    pl::Expectation expected{.tensor = "y", .complete = true};
    for (std::uint64_t i = 0; i < size(problem); ++i) {
      float x = 0;
      std::memcpy(&x, &inputs[0].bytes[4 * i], sizeof x);
      expected.points.push_back({.index = i, .value = x * factor(problem), .tolerance = 0});
    }
    return {expected};
  }

 private:
  static std::uint64_t size(const pl::Settings& problem) { return std::stoull(problem.at("n")); }
  static float factor(const pl::Settings& problem) { return std::stof(problem.at("factor")); }
  pl::ParameterSpace space_{kSpace};
};

// README library {
const pl::Template& scale() {
  static const Scale instance;  // derived from ptxloom::Template
  return instance;
}

}  // namespace

PTXLOOM_TEMPLATE_LIBRARY(&scale())
// }
