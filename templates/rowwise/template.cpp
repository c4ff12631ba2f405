// SPDX-License-Identifier: Apache-2.0
#include "rowwise/template.hpp"

#include <fmt/format.h>

#include "rowwise/config.hpp"
#include "rowwise/kernel.hpp"
#include "rowwise/reference.hpp"
#include "templates/rowwise/digest.hpp"
#include "templates/rowwise/space.json.hpp"

namespace ptxloom {
namespace rowwise_kernel {
namespace {

using spaces::rowwise::kSpaceJson;

constexpr double kOperations = 8;  // for each element, about
constexpr std::size_t kCandidates = 256;

void require_conversions(const Specs& specs, const Target& target, const Problem& p) {
  if (!kit::can_pack(specs, target, p.y))
    throw Error(ErrorKind::refused, "no-configuration",
                fmt::format("rowwise: {} cannot round to {}", target.name(), p.y.name),
                "use y=f32 or y=f16; bf16 is from sm_80 on, e4m3 from sm_89 on");
}

class RowwiseTemplate final : public Template {
 public:
  RowwiseTemplate() : space_(kSpaceJson) {}

  std::string_view name() const override { return space_.name(); }
  std::string_view space() const override { return kSpaceJson; }
  std::string_view digest() const override { return spaces::rowwise::digest(); }
  Settings problem(const Settings& given) const override { return complete_problem(space_, given); }
  std::vector<TensorPlan> tensors(const Settings& words) const override { return tensors_of(Problem(words)); }

  double operations(const Settings& words) const override {
    const Problem p(words);
    return kOperations * p.rows * p.n;
  }
  std::string unit(const Settings& /*words*/) const override { return "f32"; }
  double input_bytes(const Settings& words) const override {
    return rowwise_kernel::input_bytes(Problem(words));
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
                fmt::format("rowwise: no configuration is admissible with{} on {}", line, target.name()),
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
                  "rowwise: this configuration is not admissible: " + std::string(why),
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
}  // namespace rowwise_kernel

const Template& rowwise_template() {
  static const rowwise_kernel::RowwiseTemplate instance;
  return instance;
}

}  // namespace ptxloom
