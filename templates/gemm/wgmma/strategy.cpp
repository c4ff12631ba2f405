// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/strategy.hpp"

#include <array>
#include <tuple>

#include "gemm/wgmma/choice/choice.hpp"
#include "gemm/wgmma/choice/rules.hpp"
#include "gemm/wgmma/kernel.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr std::string_view kLeastN = "8";
constexpr std::string_view kOddN = "40";  // only some types have it, besides 8 and 24

// A dense wgmma. (N is part of the shape; giving it separately makes the lookup faster.)
std::array<Choice, 7> choices_of(const Problem& p, std::string_view shape, std::string_view n) {
  return {{{"shape", shape},
           {"N", n},
           {"ratio", "1"},
           {"a", p.a.type.name},
           {"b", p.b.type.name},
           {"d", p.accumulator.name},
           {"source", "descriptor"}}};
}

/// "m64nNk16" with this N.
std::string with_n(std::string shape, std::string_view n) { return shape.replace(shape.find('N'), 1, n); }

kit::TilePair pair_of(Multicast multicast) {
  if (multicast == Multicast::none) return kit::TilePair::none;
  return multicast == Multicast::a ? kit::TilePair::beside : kit::TilePair::below;
}

class Wgmma final : public Strategy {
 public:
  std::string_view name() const override { return "wgmma"; }
  std::string_view opcode() const override { return "wgmma.mma_async"; }

  bool owns(std::string_view shape) const override { return shape.find('N') != std::string_view::npos; }
  bool has(const Specs& specs, const Target& target, const Problem& p,
           const std::string& shape) const override {
    return has(specs, target, p, shape, kLeastN);
  }
  void select(const Specs& specs, const Target& target, const Problem& p, Config& c) const override {
    c.mma = select(specs, target, p, c.shape, kLeastN);
    c.wgmma.every_width = has(specs, target, p, c.shape, kOddN);
  }
  void complete(const Specs& specs, const Target& target, const Problem& p, Config& c) const override {
    c.mma_n = warpgroup_n(c);
    c.mma = select(specs, target, p, c.shape, std::to_string(c.mma_n));
  }

  std::span<const Parameter> parameters() const override { return kParameters<&Config::wgmma>; }
  std::vector<Rule> rules() const override { return wgmma::rules(); }
  bool can_swap() const override { return true; }
  bool loads_by_tma() const override { return true; }
  bool reduces_in_slices() const override { return true; }
  Cooperation cooperation(const Config& c) const override {
    return {.pair = pair_of(c.wgmma.multicast),
            .tiles_in_flight = c.wgmma.schedule == Schedule::pingpong ? 2 : 1,
            .producer_warps = c.wgmma.producer_warp() ? 1 : 0};
  }
  AccumulatorPart part(const Config& c) const override {
    return {kWarpgroupThreads, kWgmmaRows, warpgroup_m(c)};
  }
  bool packs(const Problem& p) const override { return PackPlan(p).any(); }
  void demand(const Target& target, const Problem& p, const Config& c, tune::Demand& d) const override {
    add_demand(target, p, c, d);
  }
  std::vector<Config> choose(const ParameterSpace& space, const Target& target, const Problem& problem,
                             const Settings& given, const Config& base) const override {
    return admissible_configs(space, target, problem, given, base);
  }
  std::span<const Variation> variations() const override {
    static constexpr std::array<Variation, 2> kAll = {{{"raster", "4"}, {"raster", "16"}}};
    return kAll;
  }

  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
               const Config& config) const override {
    return emit_kernel(std::move(specs), target, problem, config);
  }

 private:
  bool has(const Specs& specs, const Target& target, const Problem& p, const std::string& shape,
           std::string_view n) const {
    const std::string whole = with_n(shape, n);
    return std::apply([&](auto... choice) { return specs.find(opcode(), {choice...}, target).has_value(); },
                      choices_of(p, whole, n));
  }
  Variant select(const Specs& specs, const Target& target, const Problem& p, const std::string& shape,
                 std::string_view n) const {
    const std::string whole = with_n(shape, n);
    return specs.select(opcode(), choices_of(p, whole, n), target);
  }
};

}  // namespace

const Strategy& strategy() {
  static const Wgmma instance;
  return instance;
}

}  // namespace ptxloom::gemm_kernel::wgmma
