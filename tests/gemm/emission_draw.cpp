// SPDX-License-Identifier: Apache-2.0
#include "gemm/emission_draw.hpp"

#include <optional>
#include <random>

#include "ptxloom/gemm.hpp"
#include "ptxloom/space.hpp"
#include "ptxloom/target.hpp"
#include "support/settings.hpp"

namespace ptxloom::test {
namespace {

using Words = std::vector<std::string>;

class Random {
 public:
  explicit Random(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return random_() % end; }
  bool one_in(std::size_t many) { return below(many) == 0; }
  template <typename T>
  const T& pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  /// From 1 to 8191, small ones as often as large ones; half of them multiples of 64.
  std::size_t size() {
    const std::size_t least = std::size_t{1} << below(13);
    const std::size_t size = least + below(least);
    return one_in(2) ? (size + 63) / 64 * 64 : size;
  }

 private:
  std::mt19937 random_;
};

struct TypeRow {
  Words ab, d;
};
const std::vector<TypeRow> kTypes = {{{"f16"}, {"f32", "f16", "bf16", "e4m3", "e5m2", "s8"}},
                                     {{"bf16"}, {"f32", "f16", "bf16", "e4m3", "e5m2", "s8"}},
                                     {{"tf32"}, {"f32", "f16", "bf16", "s8"}},
                                     {{"f64"}, {"f64"}},
                                     {{"e4m3", "e5m2"}, {"f32", "f16", "bf16", "e4m3"}},
                                     {{"s8", "u8"}, {"s32", "f32", "f16", "bf16", "s8"}}};

void draw_matrices(Random& random, Settings& problem) {
  if (random.one_in(3)) problem["a_layout"] = "col";
  if (random.one_in(3)) problem["b_layout"] = "row";
  for (const char* name : {"lda", "ldb", "ldc", "ldd"})
    if (random.one_in(8)) problem[name] = std::to_string(8192 + random.below(3) * 8 + random.below(2));
  if (random.one_in(4)) problem["batch"] = std::to_string(2 + random.below(6));
  for (const char* name : {"stride_a", "stride_b"})
    if (problem.contains("batch") && random.one_in(4)) problem[name] = "0";
  if (random.one_in(6)) problem["groups"] = "masked";
  if (random.one_in(8)) {
    problem["groups"] = "contiguous";
    problem["m"] = std::to_string(128 * (1 + random.below(20)));
  }
}

void draw_epilogue(Random& random, Settings& problem) {
  problem["alpha"] = random.pick<std::string>({"1", "1", "-3"});
  problem["beta"] = random.pick<std::string>({"0", "0", "2"});
  if (problem["d"] == "s32" || random.one_in(2)) return;
  problem["bias"] = random.pick<std::string>({"none", "f32", "f16", "bf16"});
  problem["activation"] = random.pick<std::string>({"none", "relu", "gelu", "gelu_tanh", "silu"});
  problem["add_c"] = random.pick<std::string>({"before", "after"});
  problem["scale_a"] = random.pick<std::string>({"none", "tensor", "row", "block"});
  problem["scale_b"] = random.pick<std::string>({"none", "tensor", "col", "block"});
  problem["scale_d"] = random.pick<std::string>({"none", "tensor"});
}

Settings draw_problem(Random& random, const TypeRow& types) {
  Settings problem{{"a", random.pick(types.ab)}, {"b", random.pick(types.ab)}, {"d", random.pick(types.d)}};
  for (const char* size : {"m", "n", "k"}) problem[size] = std::to_string(random.size());
  if (types.ab.front() == "e4m3" && random.one_in(3)) problem["sums"] = "promoted";
  draw_matrices(random, problem);
  draw_epilogue(random, problem);
  return problem;
}

/// What the configurations are about, in turn. The default choice comes with {}.
const std::vector<Settings> kTopics = {{},
                                       {},
                                       {{"strategy", "mma"}},
                                       {{"strategy", "wgmma"}},
                                       {{"strategy", "wgmma"}, {"loads", "warp"}},
                                       {{"strategy", "mma"}, {"stream_k", "yes"}},
                                       {{"strategy", "wgmma"}, {"stream_k", "yes"}},
                                       {{"stream_k", "yes"}, {"multicast", "a"}},
                                       {{"stream_k", "yes"}, {"multicast", "b"}},
                                       {{"strategy", "mma"}, {"split", "2"}},
                                       {{"strategy", "mma"}, {"split", "4"}},
                                       {{"strategy", "wgmma"}, {"split", "2"}},
                                       {{"strategy", "wgmma"}, {"split", "8"}},
                                       {{"multicast", "a"}},
                                       {{"multicast", "b"}},
                                       {{"schedule", "pingpong"}},
                                       {{"schedule", "pingpong"}, {"epilogue", "direct"}},
                                       {{"loads", "thread"}},
                                       {{"loads", "thread"}, {"swap", "yes"}},
                                       {{"swap", "yes"}},
                                       {{"swap", "yes"}, {"multicast", "b"}},
                                       {{"epilogue", "staged"}},
                                       {{"epilogue", "direct"}},
                                       {{"strategy", "mma"}, {"static", "none"}},
                                       {{"strategy", "wgmma"}, {"static", "none"}},
                                       {{"static", "nk"}},
                                       {{"prefetch", "tile"}},
                                       {{"prefetch", "step"}, {"strategy", "mma"}}};

bool needs_wgmma(const Settings& config) {
  const auto is = [&](const char* name, std::string_view value) {
    const auto found = config.find(name);
    return found != config.end() && found->second == value;
  };
  return is("strategy", "wgmma") || config.contains("multicast") || is("schedule", "pingpong") ||
         is("loads", "thread") || is("swap", "yes");
}

std::string draw_target(Random& random, const Settings& config) {
  if (needs_wgmma(config) || random.one_in(4)) return "sm_90a";
  if (!config.contains("split") && random.one_in(4)) return random.pick<std::string>({"sm_75", "sm_80"});
  std::vector<std::string> names;
  for (const TargetInfo& info : targets())
    if (info.number >= (config.contains("split") ? 90 : 75)) names.emplace_back(info.name);
  return random.pick(names);
}

/// Some parameters besides those of the topic.
Settings draw_given(Random& random, const Settings& topic) {
  static const ParameterSpace space(gemm_template().space());
  Settings given = topic;
  if (topic.empty()) return given;
  for (const TemplateParameter& parameter : space.config())
    if (parameter.name != "mma" && parameter.name != "strategy" && random.one_in(5))
      given.try_emplace(parameter.name, random.pick(parameter.values));
  return given;
}

/// The kernel of a topic; nullopt if what was drawn does not exist.
std::optional<EmissionCase> draw_kernel(const std::shared_ptr<const Specs>& specs, Random& random,
                                        const Settings& topic, const TypeRow& types) {
  EmissionCase one{
      .target = draw_target(random, topic), .problem = draw_problem(random, types), .config = {}};
  const Template& gemm = gemm_template();
  const Settings given = draw_given(random, topic);
  try {
    const Target target(one.target);
    const Settings problem = gemm.problem(one.problem);
    one.config = gemm.config(*specs, target, problem, given);
    gemm.emit(specs, target, problem, one.config);  // older targets lack some conversions
  } catch (const Error&) {
    return std::nullopt;
  }
  if (given.empty()) one.config.clear();
  return one;
}

}  // namespace

std::vector<EmissionCase> draw_emissions(const std::shared_ptr<const Specs>& specs, std::size_t count,
                                         std::uint32_t seed) {
  constexpr int kTries = 60;  // with the same types; some topics do not have all
  Random random(seed);
  std::vector<EmissionCase> cases;
  while (cases.size() < count) {
    const std::size_t round = cases.size() / kTopics.size();
    for (int tries = 0; tries < 10 * kTries; ++tries) {
      const TypeRow& types = tries < kTries ? kTypes[round % kTypes.size()] : random.pick(kTypes);
      auto one = draw_kernel(specs, random, kTopics[cases.size() % kTopics.size()], types);
      if (!one) continue;
      cases.push_back(std::move(*one));
      break;
    }
  }
  return cases;
}

}  // namespace ptxloom::test
