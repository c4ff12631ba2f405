// SPDX-License-Identifier: Apache-2.0
// A kernel family of its own: parameters, tensors, what the tuner searches. See swiglu.hpp.
#include "swiglu.hpp"

#include <ptxloom/space.hpp>
#include <ptxloom/templates.hpp>

#include "space.json.hpp"

namespace swiglu {
namespace {

std::uint32_t number(const pl::Settings& settings, std::string_view name) {
  return static_cast<std::uint32_t>(std::stoul(settings.find(name)->second));
}

pl::Type type_of(const std::string& name) {
  return name == "bf16" ? pl::bf16 : name == "f16" ? pl::f16 : pl::f32;
}

[[noreturn]] void refuse(pl::ErrorKind kind, const char* code, const std::string& what, const char* hint) {
  throw pl::Error(kind, code, "swiglu: " + what, hint);
}

class Swiglu final : public pl::Template {
 public:
  std::string_view name() const override { return space_.name(); }
  std::string_view space() const override { return kSpaceJson; }

  pl::Settings problem(const pl::Settings& given) const override {
    pl::Settings whole = space_.complete(space_.problem(), given);
    for (const char* size : {"m", "n", "k"})
      if (!whole.contains(size))
        refuse(pl::ErrorKind::usage, "missing-size", std::string(size) + " is missing",
               "give --set m=100 n=300 k=200");
    if (number(whole, "n") >= 1U << 30)
      refuse(pl::ErrorKind::usage, "too-large", "n is above 2^30 - 1", "divide n");
    leading(whole, "lda", number(whole, "k"));
    leading(whole, "ldb", number(whole, "k"));
    leading(whole, "ldd", number(whole, "n"));
    return whole;
  }

  std::vector<pl::TensorPlan> tensors(const pl::Settings& problem) const override {
    const Problem p(problem);
    return {{"a", p.type, {pl::kit::span(p.m, p.k, p.lda, 0, 1)}},
            {"b", p.type, {pl::kit::span(p.columns(), p.k, p.ldb, 0, 1)}},
            {"d", p.d, {pl::kit::span(p.m, p.n, p.ldd, 0, 1)}, pl::TensorPlan::Role::out}};
  }

  double operations(const pl::Settings& problem) const override {
    const Problem p(problem);
    return 2.0 * p.m * p.columns() * p.k;
  }
  std::string unit(const pl::Settings& problem) const override { return problem.at("type"); }

  pl::Settings config(const pl::Specs& specs, const pl::Target& target, const pl::Settings& problem,
                      const pl::Settings& given) const override {
    pl::Settings whole = space_.complete(space_.config(), given);
    const Config c(whole);
    const std::vector<pl::Variant> mma = specs.match(mma_opcode(Problem(problem)));
    if (!mma.front().since(target))
      refuse(pl::ErrorKind::refused, "not-on-target",
             "target " + std::string(target.name()) + " has no mma.sync of m16n8k16",
             "choose sm_80 or later");
    if (!c.divides())
      refuse(pl::ErrorKind::refused, "bad-configuration", "a warp has less than 16 rows or 8 columns",
             "choose fewer warps_m, or a larger tile");
    if (c.shared_bytes() > target.info().shared_per_block)
      refuse(pl::ErrorKind::refused, "bad-configuration", "the stages do not fit into shared memory",
             "choose fewer stages");
    return whole;
  }

  pl::tune::Space tuning_space(const pl::Specs&, const pl::Target& target,
                               const pl::Settings& problem) const override {
    pl::tune::Space space;
    for (const pl::TemplateParameter& parameter : space_.config())
      space.parameters.push_back({parameter.name, parameter.values});
    space.rules = {{"warps have whole instructions",
                    {"tile_m", "tile_n", "warps_m"},
                    [](const pl::Settings& s) { return Config(s).divides(); }},
                   {"stages fit into shared memory",
                    {"tile_m", "tile_n", "stages"},
                    [most = target.info().shared_per_block](const pl::Settings& s) {
                      return Config(s).shared_bytes() <= most;
                    }}};
    space.demand = [p = Problem(problem)](const pl::Settings& s) { return demand_of(p, Config(s)); };
    return space;
  }

  std::vector<pl::Settings> candidates(const pl::Specs& specs, const pl::Target& target,
                                       const pl::Settings& problem,
                                       const pl::Settings& given) const override {
    return {config(specs, target, problem, given)};
  }
  pl::Emitted emit(std::shared_ptr<const pl::Specs> specs, const pl::Target& target,
                   const pl::Settings& problem, const pl::Settings& config) const override {
    return emit_kernel(std::move(specs), target, Problem(problem), Config(config));
  }
  std::vector<pl::Expectation> expect(const pl::Settings& problem,
                                      std::span<const pl::HostTensor> inputs) const override {
    return {expected(Problem(problem), inputs)};
  }

 private:
  static void leading(pl::Settings& problem, const char* name, std::uint32_t least) {
    const std::uint32_t given = number(problem, name);
    if (given != 0 && given < least)
      refuse(
          pl::ErrorKind::usage, "bad-stride",
          std::string(name) + "=" + std::to_string(given) + " is less than a row, " + std::to_string(least),
          "give 0 for contiguous rows, or at least the length of a row");
    if (given == 0) problem[name] = std::to_string(least);
  }

  static pl::tune::Demand demand_of(const Problem& p, const Config& c) {
    const auto parts = [](std::uint64_t x, int by) {
      return (x + static_cast<std::uint64_t>(by) - 1) / static_cast<std::uint64_t>(by);
    };
    pl::tune::Demand demand;
    demand.threads = Config::kThreads;
    demand.registers = 40 + c.warp_m() * c.warp_n() / 32 + c.warp_m() / 4 + c.warp_n() / 4;
    demand.shared_bytes = static_cast<std::uint64_t>(c.shared_bytes());
    demand.blocks = parts(p.m, c.tile_m) * parts(p.columns(), c.tile_n);
    demand.unit = p.type.name;
    demand.steps = parts(p.k, Config::kTileK);
    const double k_blocks = double(demand.blocks) * double(demand.steps);
    demand.operations = 2.0 * c.tile_m * c.tile_n * Config::kTileK * k_blocks;
    demand.l2_bytes = 2.0 * (c.tile_m + c.tile_n) * Config::kTileK * k_blocks;
    demand.shared_traffic = 2 * demand.l2_bytes;
    demand.in_flight = c.stages;
    return demand;
  }

  pl::ParameterSpace space_{kSpaceJson};
};

const Swiglu swiglu;

}  // namespace

Problem::Problem(const pl::Settings& s)
    : m(number(s, "m")),
      n(number(s, "n")),
      k(number(s, "k")),
      type(type_of(s.at("type"))),
      d(type_of(s.at("d"))),
      lda(number(s, "lda")),
      ldb(number(s, "ldb")),
      ldd(number(s, "ldd")) {}

// A rule of the tuner reads some of the parameters only.
Config::Config(const pl::Settings& s) {
  const auto read = [&](const char* name, int otherwise) {
    const auto found = s.find(name);
    return found == s.end() ? otherwise : std::stoi(found->second);
  };
  tile_m = read("tile_m", 128), tile_n = read("tile_n", 128), warps_m = read("warps_m", 1);
  stages = read("stages", 2);
}

}  // namespace swiglu

PTXLOOM_TEMPLATE_LIBRARY(&swiglu::swiglu)
