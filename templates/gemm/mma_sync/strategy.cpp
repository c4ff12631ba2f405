// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/strategy.hpp"

#include <fmt/format.h>

#include <array>
#include <tuple>

#include "gemm/config/rules.hpp"
#include "gemm/mma_sync/choice.hpp"
#include "gemm/mma_sync/kernel.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

std::array<Choice, 4> choices_of(const Problem& p, std::string_view shape) {
  return {{{"shape", shape}, {"a", p.a.type.name}, {"b", p.b.type.name}, {"d", p.accumulator.name}}};
}

class MmaSync final : public Strategy {
 public:
  std::string_view name() const override { return "mma"; }
  std::string_view opcode() const override { return "mma.sync"; }

  bool owns(std::string_view shape) const override { return shape.find('N') == std::string_view::npos; }
  bool has(const Specs& specs, const Target& target, const Problem& p,
           const std::string& shape) const override {
    return std::apply([&](auto... choice) { return specs.find(opcode(), {choice...}, target).has_value(); },
                      choices_of(p, shape));
  }
  void select(const Specs& specs, const Target& target, const Problem& p, Config& c) const override {
    try {
      c.mma = specs.select(opcode(), choices_of(p, c.shape), target);
    } catch (const Error& error) {
      if (error.code() != "ambiguous-variant") throw;
      // m8n8k4 of f16 makes four products, each by a quarter of a warp, and has layouts to choose.
      throw Error(
          ErrorKind::refused, "no-variant",
          fmt::format("gemm: mma={} of {} is not an instruction that gemm uses", c.shape, p.a.type.name),
          "leave mma out, or take another shape");
    }
  }
  void complete(const Specs&, const Target&, const Problem&, Config&) const override {}

  std::span<const Parameter> parameters() const override { return kParameters<&Config::mma_sync>; }
  std::vector<Rule> rules() const override { return mma_sync::rules(); }
  bool can_swap() const override { return false; }
  bool loads_by_tma() const override { return false; }
  bool reduces_in_slices() const override { return false; }
  Cooperation cooperation(const Config&) const override { return {}; }
  AccumulatorPart part(const Config& c) const override { return {32, c.mma_m, c.warp_m()}; }
  bool packs(const Problem&) const override { return false; }
  void demand(const Target& target, const Problem& p, const Config& c, tune::Demand& d) const override {
    mma_sync::add_demand(target, p, c, d);
  }
  std::vector<Config> choose(const ParameterSpace& space, const Target& target, const Problem& problem,
                             const Settings& given, const Config& base) const override {
    return admissible_configs(space, target, problem, given, base);
  }
  std::span<const Variation> variations() const override {
    static constexpr std::array<Variation, 5> kAll = {{{"raster", "4"},
                                                       {"raster", "16"},
                                                       {"epilogue", "direct"},
                                                       {"prefetch", "step"},
                                                       {"prefetch", "tile"}}};
    return kAll;
  }

  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
               const Config& config) const override {
    return emit_kernel(std::move(specs), target, problem, config);
  }
};

}  // namespace

const Strategy& strategy() {
  static const MmaSync instance;
  return instance;
}

}  // namespace ptxloom::gemm_kernel::mma_sync
