// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gemm/choice/ranking.hpp"
#include "gemm/config/config.hpp"
#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"
#include "gemm/epilogue/terms.hpp"
#include "gemm/launch/batch.hpp"
#include "gemm/problem/reference.hpp"
#include "ptxloom/gemm.hpp"
#include "templates/gemm/digest.hpp"
#include "templates/gemm/space.json.hpp"

namespace ptxloom {
namespace gemm_kernel {

using spaces::gemm::kSpaceJson;

namespace {

// If batches do not follow each other in whole rows, the gap after a batch counts as part of it.
std::vector<std::uint64_t> tensor_shape(const Problem& p, const auto& matrix, std::uint64_t rows,
                                        std::uint64_t cols) {
  const std::uint64_t others = matrix.stride > 0 ? p.batch - 1 : 0, one = rows * matrix.ld;
  if (others * matrix.stride + cols <= matrix.ld) return {rows, matrix.ld};  // one, or all side by side
  if (matrix.stride == one) return {p.batch, rows, matrix.ld};
  if (matrix.stride > one) return {p.batch, matrix.stride};
  return {others * matrix.stride + one};
}

class GemmTemplate final : public Template {
 public:
  GemmTemplate() : space_(kSpaceJson) {}

  std::string_view name() const override { return space_.name(); }
  std::string_view space() const override { return kSpaceJson; }
  std::string_view digest() const override { return spaces::gemm::digest(); }
  Settings problem(const Settings& given) const override { return complete_problem(space_, given); }

  std::vector<TensorPlan> tensors(const Settings& settings) const override {
    const Problem p(space_, settings);
    using enum TensorPlan::Role;
    std::vector<TensorPlan> plans = {{"a", p.a.type, tensor_shape(p, p.a, p.a.rows, p.a.cols), in},
                                     {"b", p.b.type, tensor_shape(p, p.b, p.b.rows, p.b.cols), in}};
    if (p.reads_c()) plans.push_back({"c", p.c.type, tensor_shape(p, p.c, p.m, p.n), in});
    for (const TermTensor& tensor : term_tensors(p))
      plans.push_back({std::string(tensor.name), tensor.type, tensor.shape, in});
    if (const auto groups = group_tensor(p)) plans.push_back(*groups);
    plans.push_back({"d", p.d.type, tensor_shape(p, p.d, p.m, p.n), out});
    return plans;
  }

  double operations(const Settings& settings) const override {
    const Problem p(space_, settings);
    return 2.0 * p.m * p.n * p.k * p.results();
  }
  std::string unit(const Settings& settings) const override { return unit_of(Problem(space_, settings)); }
  double input_bytes(const Settings& settings) const override {
    return gemm_kernel::input_bytes(Problem(space_, settings));
  }

  std::optional<MatrixProduct> product(const Settings& settings) const override {
    const Problem p(space_, settings);
    if (p.groups != GemmGroups::none) return std::nullopt;
    if (!p.terms.none() || p.arithmetic != p.accumulator || (p.d.type.bits == 8)) return std::nullopt;
    return MatrixProduct{.m = p.m,
                         .n = p.n,
                         .k = p.k,
                         .a = p.a.type,
                         .b = p.b.type,
                         .c = p.c.type,
                         .d = p.d.type,
                         .a_rows = p.a.k_contiguous,
                         .b_rows = !p.b.k_contiguous,
                         .lda = p.a.ld,
                         .ldb = p.b.ld,
                         .ldc = p.c.ld,
                         .ldd = p.d.ld,
                         .batch = p.batch,
                         .stride_a = p.a.stride,
                         .stride_b = p.b.stride,
                         .stride_c = p.c.stride,
                         .stride_d = p.d.stride,
                         .alpha = p.alpha,
                         .beta = p.beta,
                         .fast_sums = p.a.type.bits == 8 && p.accumulator == f32 && !p.promoted};
  }

  Settings config(const Specs& specs, const Target& target, const Settings& settings,
                  const Settings& given) const override {
    const Problem p(space_, settings);
    Settings wanted = space_.complete(space_.config(), given);
    const std::vector<std::string> shapes = shapes_for(specs, target, p, wanted);
    // A parameter with a single value counts as given.
    if (shapes.size() == 1) wanted["mma"] = shapes.front();
    const Strategy& first = strategy_of(shapes.front());
    if (std::ranges::all_of(shapes, [&](const std::string& shape) { return first.owns(shape); }))
      wanted.try_emplace("strategy", first.name());
    const std::vector<RankedConfig> ranked =
        ranked_configs(space_, specs, target, p, wanted, shapes, Shapes::first);
    if (!ranked.empty()) return print_parameters(ranked.front().config);
    throw space_.no_configuration(wanted, target, reason(specs, target, p, wanted, shapes.front()));
  }

  std::vector<Settings> candidates(const Specs& specs, const Target& target, const Settings& settings,
                                   const Settings& given) const override {
    const Problem p(space_, settings);
    const Settings wanted = space_.complete(space_.config(), given);
    const std::vector<std::string> shapes = shapes_for(specs, target, p, wanted);
    const std::vector<RankedConfig> ranked =
        ranked_configs(space_, specs, target, p, wanted, shapes, Shapes::all);
    // Those of the strategy with the best one first.
    std::vector<const Strategy*> order;
    for (const RankedConfig& one : ranked)
      if (std::ranges::find(order, one.config.strategy) == order.end()) order.push_back(one.config.strategy);
    std::vector<Settings> all;
    for (const Strategy* strategy : order) {
      std::vector<Settings> list;
      for (const RankedConfig& one : ranked)
        if (one.config.strategy == strategy) list.push_back(print_parameters(one.config));
      vary(list, wanted, strategy->variations());
      all.insert(all.end(), list.begin(), list.end());
    }
    return all;
  }

  tune::Space tuning_space(const Specs& specs, const Target& target,
                           const Settings& settings) const override {
    const Problem p(space_, settings);
    shapes_for(specs, target, p, {});  // the error says which targets have such an mma
    return gemm_kernel::tuning_space(space_, specs, target, p);
  }

  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& settings,
               const Settings& config) const override {
    const Problem p(space_, settings);
    const Config c = read_config(*specs, target, p, config);
    if (const std::string_view why = inadmissible(target, seen_by(c, p), c); !why.empty())
      throw space_.inadmissible(why);
    return c.strategy->emit(std::move(specs), target, p, c);
  }

  std::vector<Expectation> expect(const Settings& settings,
                                  std::span<const HostTensor> inputs) const override {
    return {reference(Problem(space_, settings), inputs)};
  }

 private:
  static constexpr std::size_t kVaried = 24;

  // As mma_shapes; if the target has none, the error says which targets have one.
  std::vector<std::string> shapes_for(const Specs& specs, const Target& target, const Problem& p,
                                      const Settings& wanted) const {
    if (const auto given = wanted.find("mma"); given != wanted.end()) return {given->second};
    std::vector<std::string> shapes = mma_shapes(space_, specs, target, p);
    const auto name = wanted.find("strategy");
    const Strategy& strategy = name == wanted.end() ? *strategies().back() : strategy_named(name->second);
    if (name != wanted.end())
      std::erase_if(shapes, [&](const std::string& shape) { return !strategy.owns(shape); });
    if (shapes.empty())
      specs.select(strategy.opcode(), {{"a", p.a.type.name}, {"b", p.b.type.name}, {"d", p.accumulator.name}},
                   target);
    return shapes;
  }

  // After the best few, the same again with other values.
  static void vary(std::vector<Settings>& list, const Settings& wanted,
                   std::span<const Strategy::Variation> changes) {
    const auto end = list.begin() + static_cast<std::ptrdiff_t>(std::min(kVaried, list.size()));
    const std::vector<Settings> first(list.begin(), end);
    std::vector<Settings> varied;
    for (const auto& [name, value] : changes) {
      if (wanted.contains(name)) continue;
      for (Settings settings : first) {
        if (settings.find(name)->second == value) continue;
        settings.find(name)->second = value;
        const auto is_new = [&](const std::vector<Settings>& known) {
          return std::ranges::find(known, settings) == known.end();
        };
        if (is_new(list) && is_new(varied)) varied.push_back(std::move(settings));
      }
    }
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(first.size()), varied.begin(), varied.end());
  }

  bool fits(const Specs& specs, const Target& target, const Problem& p, const Settings& wanted) const {
    return std::ranges::any_of(shapes_for(specs, target, p, wanted), [&](const std::string& shape) {
      const Config base = base_config(specs, target, p, wanted, shape);
      return !base.strategy->choose(space_, target, p, wanted, base).empty();
    });
  }

  // Why the given parameters admit nothing, if they alone decide it; else which of them to drop.
  std::string reason(const Specs& specs, const Target& target, const Problem& p, const Settings& wanted,
                     const std::string& shape) const {
    const Config c = partial_config(base_config(specs, target, p, wanted, shape), wanted);
    const Problem seen = seen_by(c, p);
    if (const std::string_view rule = rule_broken_by(wanted, rules(), target, seen, c); !rule.empty())
      return std::string(rule);
    return admissible_without(wanted, [&](const Settings& some) { return fits(specs, target, p, some); });
  }

  ParameterSpace space_;
};

}  // namespace
}  // namespace gemm_kernel

const Template& gemm_template() {
  static const gemm_kernel::GemmTemplate instance;
  return instance;
}

}  // namespace ptxloom
