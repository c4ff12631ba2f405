// SPDX-License-Identifier: Apache-2.0
#include "dequantize/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "dequantize/config.hpp"
#include "dequantize/kernel.hpp"
#include "dequantize/reference.hpp"
#include "ptxloom/numeric.hpp"
#include "templates/dequantize/digest.hpp"
#include "templates/dequantize/space.json.hpp"

namespace ptxloom {
namespace dequantize_kernel {
namespace {

using spaces::dequantize::kSpaceJson;

constexpr double kOperations = 4;        // for each element, about
constexpr unsigned kScaleExponents = 9;  // of random scales
constexpr std::size_t kCandidates = 256;

void require_conversions(const Specs& specs, const Target& target, const Problem& p) {
  if (!can_dequantise(specs, target, p))
    throw Error(
        ErrorKind::refused, "no-configuration",
        fmt::format("dequantize: {} cannot convert {} to {}", target.name(), p.format->name, p.y.name),
        "s8 and s4 are on all targets, e4m3, e5m2 and mxfp8 from sm_89 on, the others on targets such as "
        "sm_100a and sm_120a; bf16 is from sm_80 on");
}

/// All codes, with scales around 1.
HostTensor drawn(const TensorPlan& plan, std::mt19937_64& random) {
  HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
  if (plan.name == "x") {
    for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random());
    return tensor;
  }
  for (std::size_t i = 0; i < plan.elements(); ++i) {
    const double scale = std::exp2(static_cast<double>(random() % kScaleExponents) - kScaleExponents / 2.0);
    store_element(plan.type, tensor.bytes, i, encode(plan.type, scale));
  }
  return tensor;
}

class DequantizeTemplate final : public Template {
 public:
  DequantizeTemplate() : space_(kSpaceJson) {}

  std::string_view name() const override { return space_.name(); }
  std::string_view space() const override { return kSpaceJson; }
  std::string_view digest() const override { return spaces::dequantize::digest(); }
  Settings problem(const Settings& given) const override { return complete_problem(space_, given); }
  std::vector<TensorPlan> tensors(const Settings& words) const override { return tensors_of(Problem(words)); }

  std::vector<HostTensor> inputs(const Settings& words, std::uint64_t seed) const override {
    std::mt19937_64 random(seed);
    std::vector<HostTensor> all;
    for (const TensorPlan& plan : tensors(words))
      if (plan.role != TensorPlan::Role::out) all.push_back(drawn(plan, random));
    return all;
  }

  double operations(const Settings& words) const override {
    const Problem p(words);
    return kOperations * p.rows * p.n;
  }
  std::string unit(const Settings& /*words*/) const override { return "f32"; }
  double input_bytes(const Settings& words) const override {
    return dequantize_kernel::input_bytes(Problem(words));
  }

  Settings config(const Specs& specs, const Target& target, const Settings& words,
                  const Settings& given) const override {
    const Problem p(words);
    require_conversions(specs, target, p);
    const Settings wanted = space_.complete(space_.config(), given);
    const std::vector<Config> fitting = ranked_configs(space_, target, p, wanted);
    if (!fitting.empty()) return words_of(fitting.front());
    std::string line;
    for (const auto& [name, value] : wanted) line += fmt::format(" {}={}", name, value);
    throw Error(ErrorKind::refused, "no-configuration",
                fmt::format("dequantize: no configuration is admissible with{} on {}", line, target.name()),
                reason(target, p, wanted));
  }

  tune::Space tuning_space(const Specs& specs, const Target& target, const Settings& words) const override {
    const auto p = std::make_shared<const Problem>(words);
    require_conversions(specs, target, *p);
    tune::Space result;
    for (const TemplateParameter& parameter : space_.config())
      result.parameters.push_back({parameter.name, parameter.values});
    for (const Rule& rule : rules())
      result.rules.push_back({.name = std::string(rule.says),
                              .reads = rule.reads,
                              .allows = [p, target, &rule](const Settings& w) {
                                return rule.allows(target, *p, read_config(w));
                              }});
    result.demand = [p](const Settings& w) { return demand_of(*p, read_config(w)); };
    return result;
  }

  std::vector<Settings> candidates(const Specs& specs, const Target& target, const Settings& words,
                                   const Settings& given) const override {
    const Problem p(words);
    require_conversions(specs, target, p);
    std::vector<Settings> list;
    const Settings wanted = space_.complete(space_.config(), given);
    for (const Config& c : ranked_configs(space_, target, p, wanted)) {
      if (list.size() == kCandidates) break;
      list.push_back(words_of(c));
    }
    return list;
  }

  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& words,
               const Settings& config) const override {
    const Problem p(words);
    const Config c = read_config(config);
    if (const std::string_view why = inadmissible(target, p, c); !why.empty())
      throw Error(ErrorKind::refused, "bad-configuration",
                  "dequantize: this configuration is not admissible: " + std::string(why),
                  "leave parameters out to have them chosen");
    return emit_kernel(std::move(specs), target, p, c);
  }

  std::vector<Expectation> expect(const Settings& words, std::span<const HostTensor> inputs) const override {
    return reference(Problem(words), inputs);
  }

 private:
  /// The first rule that the given parameters break by themselves.
  static std::string reason(const Target& target, const Problem& p, const Settings& wanted) {
    const Config c = read_config(wanted);
    for (const Rule& rule : rules()) {
      const bool decided =
          std::ranges::all_of(rule.reads, [&](const auto& name) { return wanted.contains(name); });
      if (decided && !rule.allows(target, p, c)) return std::string(rule.says);
    }
    return "leave parameters out to have them chosen";
  }

  ParameterSpace space_;
};

}  // namespace
}  // namespace dequantize_kernel

const Template& dequantize_template() {
  static const dequantize_kernel::DequantizeTemplate instance;
  return instance;
}

}  // namespace ptxloom
