// SPDX-License-Identifier: Apache-2.0
#include "quantize/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ptxloom/numeric.hpp"
#include "quantize/config.hpp"
#include "quantize/kernel.hpp"
#include "quantize/reference.hpp"
#include "templates/quantize/digest.hpp"
#include "templates/quantize/space.json.hpp"

namespace ptxloom {
namespace quantize_kernel {
namespace {

using spaces::quantize::kSpaceJson;

constexpr double kOperations = 6;      // for each element, about
constexpr double kLargestScale = 448;  // in ue4m3
constexpr std::size_t kCandidates = 256;

void require_conversions(const Specs& specs, const Target& target, const Problem& p) {
  if (!can_quantise(specs, target, *p.format))
    throw Error(
        ErrorKind::refused, "no-configuration",
        fmt::format("quantize: {} cannot round to {}", target.name(), p.format->name),
        "s8 and s4 are on all targets, e4m3, e5m2 and mxfp8 from sm_89 on, the others on targets such as "
        "sm_100a and sm_120a");
}

/// The scale that is right for values up to 1, and with a scale for each block for blocks up to 1.
double usual_scale(const Problem& p) {
  return p.format->tensor_scale ? 1 / (p.format->largest * kLargestScale) : 1 / p.format->largest;
}

class QuantizeTemplate final : public Template {
 public:
  QuantizeTemplate() : space_(kSpaceJson) {}

  std::string_view name() const override { return space_.name(); }
  std::string_view space() const override { return kSpaceJson; }
  std::string_view digest() const override { return spaces::quantize::digest(); }
  Settings problem(const Settings& given) const override { return complete_problem(space_, given); }
  std::vector<TensorPlan> tensors(const Settings& words) const override { return tensors_of(Problem(words)); }

  std::vector<HostTensor> inputs(const Settings& words, std::uint64_t seed) const override {
    std::vector<HostTensor> all = Template::inputs(words, seed);
    for (HostTensor& tensor : all)
      if (tensor.plan.name != "x") encode(f32, std::array{usual_scale(Problem(words))}, tensor.bytes);
    return all;
  }

  double operations(const Settings& words) const override {
    const Problem p(words);
    return kOperations * p.rows * p.n;
  }
  std::string unit(const Settings& /*words*/) const override { return "f32"; }
  double input_bytes(const Settings& words) const override {
    return quantize_kernel::input_bytes(Problem(words));
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
                fmt::format("quantize: no configuration is admissible with{} on {}", line, target.name()),
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
                  "quantize: this configuration is not admissible: " + std::string(why),
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
}  // namespace quantize_kernel

const Template& quantize_template() {
  static const quantize_kernel::QuantizeTemplate instance;
  return instance;
}

}  // namespace ptxloom
