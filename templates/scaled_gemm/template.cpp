// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/template.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scaled_gemm/block_scale.hpp"
#include "scaled_gemm/config.hpp"
#include "scaled_gemm/reference.hpp"
#include "templates/scaled_gemm/digest.hpp"
#include "templates/scaled_gemm/space.json.hpp"

namespace ptxloom {
namespace scaled_gemm {
namespace {

using spaces::scaled_gemm::kSpaceJson;

constexpr std::size_t kCandidates = 64;

void require_instruction(const Specs& specs, const Target& target, const Problem& p) {
  const std::vector<Variant> found = specs.match(mma_opcode(p));
  if (!found.empty() && found.front().since(target)) return;
  std::string serving;
  for (const TargetInfo& info : targets())
    if (!found.empty() && found.front().since(Target(info.name)))
      serving += (serving.empty() ? "" : ", ") + std::string(info.name);
  throw Error(ErrorKind::refused, "no-configuration",
              fmt::format("scaled_gemm: {} has no mma.sync with block scales for {} and {}", target.name(),
                          p.a.format.name, p.b.format.name),
              "these targets have it: " + serving);
}

class ScaledGemmTemplate final : public Template {
 public:
  ScaledGemmTemplate() : space_(kSpaceJson) {}

  std::string_view name() const override { return space_.name(); }
  std::string_view space() const override { return kSpaceJson; }
  std::string_view digest() const override { return spaces::scaled_gemm::digest(); }
  Settings problem(const Settings& given) const override { return complete_problem(space_, given); }
  std::vector<TensorPlan> tensors(const Settings& words) const override { return tensors_of(Problem(words)); }

  double operations(const Settings& words) const override {
    const Problem p(words);
    return 2.0 * p.m * p.n * p.k;
  }
  std::string unit(const Settings& words) const override {
    return std::string(Problem(words).a.format.element.name);
  }
  double input_bytes(const Settings& words) const override {
    return scaled_gemm::input_bytes(Problem(words));
  }

  Settings config(const Specs& specs, const Target& target, const Settings& words,
                  const Settings& given) const override {
    const Problem p(words);
    require_instruction(specs, target, p);
    const Settings wanted = space_.complete(space_.config(), given);
    const std::vector<Config> fitting = ranked_configs(space_, target, p, wanted);
    if (!fitting.empty()) return words_of(fitting.front());
    std::string line;
    for (const auto& [name, value] : wanted) line += fmt::format(" {}={}", name, value);
    throw Error(ErrorKind::refused, "no-configuration",
                fmt::format("scaled_gemm: no configuration is admissible with{} on {}", line, target.name()),
                reason(target, p, wanted));
  }

  tune::Space tuning_space(const Specs& specs, const Target& target, const Settings& words) const override {
    const auto p = std::make_shared<const Problem>(words);
    require_instruction(specs, target, *p);
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
    require_instruction(specs, target, p);
    std::vector<Settings> list;
    for (const Config& c : ranked_configs(space_, target, p, space_.complete(space_.config(), given))) {
      if (list.size() == kCandidates) break;
      list.push_back(words_of(c));
    }
    return list;
  }

  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& words,
               const Settings& config) const override {
    const Problem p(words);
    const Config c = read_config(config);
    require_instruction(*specs, target, p);
    if (const std::string_view why = inadmissible(target, p, c); !why.empty())
      throw Error(ErrorKind::refused, "bad-configuration",
                  "scaled_gemm: this configuration is not admissible: " + std::string(why),
                  "leave parameters out to have them chosen");
    return emit_kernel(std::move(specs), target, p, c);
  }

  std::vector<Expectation> expect(const Settings& words, std::span<const HostTensor> inputs) const override {
    return {expected(Problem(words), inputs)};
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
}  // namespace scaled_gemm

const Template& scaled_gemm_template() {
  static const scaled_gemm::ScaledGemmTemplate instance;
  return instance;
}

}  // namespace ptxloom
