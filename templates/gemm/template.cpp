// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "batch.hpp"
#include "config.hpp"
#include "function.hpp"
#include "kernel.hpp"
#include "ptxloom/gemm.hpp"
#include "reference.hpp"
#include "rules.hpp"
#include "templates/gemm/digest.hpp"
#include "templates/gemm/space.json.hpp"

namespace ptxloom {
namespace gemm_kernel {

using spaces::gemm::kSpaceJson;

namespace {

std::string words_line(const char* title, const Settings& words) {
  std::string line = title;
  for (const auto& [name, value] : words) line += fmt::format(" {}={}", name, value);
  return line;
}

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

  std::vector<TensorPlan> tensors(const Settings& words) const override {
    const Problem p(space_, words);
    using enum TensorPlan::Role;
    std::vector<TensorPlan> plans = {{"a", p.a.type, tensor_shape(p, p.a, p.a.rows, p.a.cols), in},
                                     {"b", p.b.type, tensor_shape(p, p.b, p.b.rows, p.b.cols), in}};
    if (p.reads_c()) plans.push_back({"c", p.c.type, tensor_shape(p, p.c, p.m, p.n), in});
    for (const FunctionTensor& tensor : function_tensors(p))
      plans.push_back({std::string(tensor.name), tensor.type, tensor.shape, in});
    if (const auto groups = group_tensor(p)) plans.push_back(*groups);
    plans.push_back({"d", p.d.type, tensor_shape(p, p.d, p.m, p.n), out});
    return plans;
  }

  double operations(const Settings& words) const override {
    const Problem p(space_, words);
    return 2.0 * p.m * p.n * p.k * p.results();
  }
  std::string unit(const Settings& words) const override { return unit_of(Problem(space_, words)); }
  double input_bytes(const Settings& words) const override {
    return gemm_kernel::input_bytes(Problem(space_, words));
  }

  std::optional<MatrixProduct> product(const Settings& words) const override {
    const Problem p(space_, words);
    if (p.groups != GemmGroups::none) return std::nullopt;
    if (!p.function.none() || p.arithmetic != p.accumulator || (p.d.type.bits == 8)) return std::nullopt;
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

  Settings config(const Specs& specs, const Target& target, const Settings& words,
                  const Settings& given) const override {
    const Problem p(space_, words);
    Settings wanted = space_.complete(space_.config(), given);
    const std::vector<std::string> shapes = shapes_for(specs, target, p, wanted);
    // A parameter with a single value counts as given.
    if (shapes.size() == 1) wanted["mma"] = shapes.front();
    if (std::ranges::none_of(shapes, is_wgmma)) wanted.try_emplace("strategy", "mma");
    for (const std::string& shape : shapes) {
      const std::vector<Config> fitting = fitting_configs(specs, target, p, wanted, shape);
      if (!fitting.empty()) return words_of(fitting.front());
    }
    throw Error(
        ErrorKind::refused, "no-configuration",
        words_line("gemm: no configuration is admissible with", wanted) + " on " + std::string(target.name()),
        reason(specs, target, p, wanted, shapes.front()));
  }

  std::vector<Settings> candidates(const Specs& specs, const Target& target, const Settings& words,
                                   const Settings& given) const override {
    const Problem p(space_, words);
    const Settings wanted = space_.complete(space_.config(), given);
    std::vector<Settings> wgmma, mma;
    for (const std::string& shape : shapes_for(specs, target, p, wanted))
      for (const Config& fitting : fitting_configs(specs, target, p, wanted, shape))
        (fitting.strategy == Strategy::wgmma ? wgmma : mma).push_back(words_of(fitting));
    // After the best few, the same again with the parameters that the estimate ignores.
    vary(wgmma, wanted, {{"raster", "4"}, {"raster", "16"}});
    vary(mma, wanted,
         {{"raster", "4"},
          {"raster", "16"},
          {"epilogue", "direct"},
          {"prefetch", "step"},
          {"prefetch", "tile"}});
    wgmma.insert(wgmma.end(), mma.begin(), mma.end());
    return wgmma;
  }

  tune::Space tuning_space(const Specs& specs, const Target& target, const Settings& words) const override {
    const Problem p(space_, words);
    shapes_for(specs, target, p, {});  // the error says which targets have such an mma
    return gemm_kernel::tuning_space(space_, specs, target, p);
  }

  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& words,
               const Settings& config) const override {
    const Problem p(space_, words);
    const Config c = read_config(*specs, target, p, config);
    if (const std::string_view why = inadmissible(target, seen_by(c, p), c); !why.empty())
      throw Error(ErrorKind::refused, "bad-configuration",
                  "gemm: this configuration is not admissible: " + std::string(why),
                  "leave parameters out to have them chosen");
    return emit_kernel(std::move(specs), target, p, c);
  }

  Expectation expect(const Settings& words, std::span<const HostTensor> inputs) const override {
    return reference(Problem(space_, words), inputs);
  }

 private:
  static constexpr std::size_t kVaried = 24;

  // wgmma first, then the deepest mma; if the target has none, the error of select says which targets do.
  std::vector<std::string> shapes_for(const Specs& specs, const Target& target, const Problem& p,
                                      const Settings& wanted) const {
    if (const auto given = wanted.find("mma"); given != wanted.end()) return {given->second};
    std::vector<std::string> shapes = mma_shapes(space_, specs, target, p);
    const auto strategy = wanted.find("strategy");
    if (strategy != wanted.end())
      std::erase_if(
          shapes, [&](const std::string& shape) { return is_wgmma(shape) != (strategy->second == "wgmma"); });
    if (!shapes.empty()) return shapes;
    const bool wgmma = strategy != wanted.end() && strategy->second == "wgmma";
    specs.select(wgmma ? "wgmma.mma_async" : "mma.sync",
                 {{"a", p.a.type.name}, {"b", p.b.type.name}, {"d", p.accumulator.name}}, target);
    return shapes;
  }

  std::vector<Config> fitting_configs(const Specs& specs, const Target& target, const Problem& p,
                                      const Settings& wanted, const std::string& shape) const {
    return admissible_configs(space_, target, p, wanted, base_config(specs, target, p, wanted, shape));
  }

  static void vary(std::vector<Settings>& list, const Settings& wanted,
                   std::initializer_list<std::pair<const char*, const char*>> changes) {
    const auto end = list.begin() + static_cast<std::ptrdiff_t>(std::min(kVaried, list.size()));
    const std::vector<Settings> first(list.begin(), end);
    std::vector<Settings> varied;
    for (const auto& [name, value] : changes) {
      if (wanted.contains(name)) continue;
      for (Settings words : first) {
        if (words[name] == value) continue;
        words[name] = value;
        varied.push_back(std::move(words));
      }
    }
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(first.size()), varied.begin(), varied.end());
  }

  bool fits(const Specs& specs, const Target& target, const Problem& p, const Settings& wanted) const {
    return std::ranges::any_of(shapes_for(specs, target, p, wanted), [&](const std::string& shape) {
      return !fitting_configs(specs, target, p, wanted, shape).empty();
    });
  }

  // Why the given parameters admit nothing, if they alone decide it; else which of them to drop.
  std::string reason(const Specs& specs, const Target& target, const Problem& p, const Settings& wanted,
                     const std::string& shape) const {
    const Config c = partial_config(base_config(specs, target, p, wanted, shape), wanted);
    const Problem seen = seen_by(c, p);
    const auto given = [&](const std::string& word) { return wanted.contains(word); };
    for (const Rule& rule : rules()) {
      if (rule.strategy && !given("strategy")) continue;
      if (std::ranges::all_of(rule.reads, given) && !rule.allows(target, seen, c))
        return std::string(rule.says);
    }
    std::string without;
    for (const auto& [word, value] : wanted) {
      Settings others = wanted;
      others.erase(word);
      if (fits(specs, target, p, others))
        without += fmt::format("{}{}={}", without.empty() ? "it is admissible without " : ", or without ",
                               word, value);
    }
    return without.empty() ? "leave parameters out to have them chosen" : without;
  }

  ParameterSpace space_;
};

}  // namespace
}  // namespace gemm_kernel

const Template& gemm_template() {
  static const gemm_kernel::GemmTemplate instance;
  return instance;
}

Settings GemmProblem::settings() const {
  const auto groups_word = [](GemmGroups of) {
    if (of == GemmGroups::none) return "none";
    return of == GemmGroups::masked ? "masked" : "contiguous";
  };
  const auto layout_word = [](MatrixLayout layout) { return layout == MatrixLayout::row ? "row" : "col"; };
  Settings words = {{"m", std::to_string(m)},
                    {"n", std::to_string(n)},
                    {"k", std::to_string(k)},
                    {"a", std::string(a.name)},
                    {"a_layout", layout_word(a_layout)},
                    {"b_layout", layout_word(b_layout)},
                    {"lda", std::to_string(lda)},
                    {"ldb", std::to_string(ldb)},
                    {"ldc", std::to_string(ldc)},
                    {"ldd", std::to_string(ldd)},
                    {"alpha", fmt::format("{}", alpha)},
                    {"beta", fmt::format("{}", beta)},
                    {"sums", promoted ? "promoted" : "plain"},
                    {"bias", bias ? std::string(bias->name) : "none"},
                    {"activation", gemm_kernel::activation_word(activation)},
                    {"add_c", c_last ? "after" : "before"},
                    {"scale_a", gemm_kernel::scale_word(scale_a, "row")},
                    {"scale_b", gemm_kernel::scale_word(scale_b, "col")},
                    {"scale_d", scale_d ? "tensor" : "none"},
                    {"batch", std::to_string(batch)},
                    {"groups", groups_word(groups)}};
  const std::pair<const char*, const std::optional<std::uint64_t>&> strides[] = {
      {"stride_a", stride_a}, {"stride_b", stride_b}, {"stride_c", stride_c}, {"stride_d", stride_d}};
  for (const auto& [word, stride] : strides)
    if (stride) words[word] = std::to_string(*stride);
  if (b) words["b"] = b->name;
  if (c) words["c"] = c->name;
  if (d) words["d"] = d->name;
  return words;
}

}  // namespace ptxloom
