// SPDX-License-Identifier: Apache-2.0
#include "config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "cluster_sum.hpp"
#include "rules.hpp"
#include "walk.hpp"
#include "wgmma_plan.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr int kRegisterLimit = 255;  // per thread, on every target
constexpr int kOfAddresses = 40;   // registers per thread, roughly: addresses and temporaries of the epilogue
constexpr int kOfPortions = 16;    // more with stream_k: the bounds of portions
constexpr int kOfSizes = 8;        // more with stream_k if sizes are not baked in
constexpr int kTypicalSms = 128;   // a data-center chip; the tuner corrects what this gets wrong
constexpr double kSumDepth = 80;   // adding a tile of another thread block takes as long as this much k
constexpr double kMeeting = 16e6;  // cost of a split in multiply-adds: only chosen where it won on an H200

int tile_bytes(const Problem& p, const Config& c) {
  return c.tile_k * (c.tile_m * p.a.type.bytes() + c.tile_n * p.b.type.bytes());
}

// Time of the problem in arbitrary units: waves of thread blocks, each as fast as its warps keep the tensor
// cores busy.
double estimate(const Target& target, const Problem& p, const Config& c) {
  const TargetInfo& chip = target.info();
  const double blocks = tiles_of(p, c) * c.split;
  const int by_shared = chip.shared_per_sm / (shared_bytes(target, p, c) + 1024);
  const int by_registers =
      chip.registers_per_sm / (c.threads() * std::min(kRegisterLimit, estimated_registers(target, p, c)));
  const int fitting = std::max(1, std::min({by_shared, by_registers, chip.threads_per_sm / c.threads()}));
  const double resident = c.stream_k ? 1 : std::min<double>(fitting, std::ceil(blocks / kTypicalSms));
  const double waves = std::ceil(blocks / (kTypicalSms * resident));
  const double busy = std::min(1.0, std::pow(resident * c.warps() / 8, 0.6));
  const double intensity = double(c.warp_m()) * c.warp_n() / (c.warp_m() + c.warp_n());
  const double hidden = 1 - 0.1 / (c.stages - 1) - 0.02 / c.k_steps();  // latency, by stages and k-steps
  const double padded_k = std::ceil(std::ceil(double(p.k) / c.tile_k) / c.split) * c.tile_k;
  const double tile = double(c.tile_m) * c.tile_n;
  const double sum = c.split == 1 ? 0 : kMeeting + (c.split - 1) * tile * kSumDepth;
  const double speed = busy * hidden * intensity / (intensity + 8);
  if (c.stream_k)
    return tile * StreamShare(StreamPlan(p, c, 0), p, c, kTypicalSms).steps * c.tile_k / speed + kMeeting +
           2 * tile * kSumDepth;
  return waves * resident * (tile * padded_k / speed + sum);
}

struct Scored {
  double time;
  Config config;
};

constexpr Axis kMmaAxes[] = {{"tile_k", &Config::tile_k},   {"tile_m", &Config::tile_m},
                             {"tile_n", &Config::tile_n},   {"warps_n", &Config::warps_n},
                             {"warps_m", &Config::warps_m}, {"stages", &Config::stages}};

}  // namespace

Problem seen_by(const Config& c, const Problem& p) { return c.swap ? transposed(p) : p; }

double tiles_of(const Problem& p, const Config& c) {
  return std::ceil(double(p.m) / c.cluster_m()) * std::ceil(double(p.n) / c.cluster_n()) * c.sharing() *
         p.results();
}

std::vector<int> choices(const ParameterSpace& space, const Settings& given, std::string_view name) {
  if (const auto found = given.find(name); found != given.end()) return {std::stoi(found->second)};
  std::vector<int> values;
  for (const TemplateParameter& parameter : space.config())
    if (parameter.name == name)
      for (const std::string& value : parameter.values) values.push_back(std::stoi(value));
  return values;
}

namespace {

std::array<Choice, 4> mma_words(const Problem& p, std::string_view shape) {
  return {{{"shape", shape}, {"a", p.a.type.name}, {"b", p.b.type.name}, {"d", p.accumulator.name}}};
}

int number(std::string_view word) {
  int value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

Multicast read_multicast(std::string_view word) {
  if (word == "none") return Multicast::none;
  return word == "a" ? Multicast::a : Multicast::b;
}

Schedule read_schedule(std::string_view word) {
  return word == "pingpong" ? Schedule::pingpong : Schedule::cooperative;
}

Bake read_bake(std::string_view word) {
  if (word == "none") return Bake::none;
  return word == "nk" ? Bake::nk : Bake::mnk;
}

struct Word {
  std::string_view name;
  void (*read)(Config&, std::string_view);
};
/// In the order of Settings. (`mma` sets more than one field: set_shape.)
constexpr Word kWords[] = {
    {"epilogue", [](Config& c, std::string_view word) { c.staged = word == "staged"; }},
    {"loads",
     [](Config& c, std::string_view word) { c.loads = word == "thread" ? Loads::thread : Loads::warp; }},
    {"multicast", [](Config& c, std::string_view word) { c.multicast = read_multicast(word); }},
    {"prefetch", [](Config& c, std::string_view word) { c.across_tiles = word == "tile"; }},
    {"raster", [](Config& c, std::string_view word) { c.raster = number(word); }},
    {"schedule", [](Config& c, std::string_view word) { c.schedule = read_schedule(word); }},
    {"split", [](Config& c, std::string_view word) { c.split = number(word); }},
    {"stages", [](Config& c, std::string_view word) { c.stages = number(word); }},
    {"static", [](Config& c, std::string_view word) { c.bake = read_bake(word); }},
    {"strategy",
     [](Config& c, std::string_view word) {
       c.strategy = word == "wgmma" ? Strategy::wgmma : Strategy::mma;
     }},
    {"stream_k", [](Config& c, std::string_view word) { c.stream_k = word == "yes"; }},
    {"swap", [](Config& c, std::string_view word) { c.swap = word == "yes"; }},
    {"tile_k", [](Config& c, std::string_view word) { c.tile_k = number(word); }},
    {"tile_m", [](Config& c, std::string_view word) { c.tile_m = number(word); }},
    {"tile_n", [](Config& c, std::string_view word) { c.tile_n = number(word); }},
    {"warps_m", [](Config& c, std::string_view word) { c.warps_m = number(word); }},
    {"warps_n", [](Config& c, std::string_view word) { c.warps_n = number(word); }}};
static_assert(std::ranges::is_sorted(kWords, {}, &Word::name));

/// Reads the options that are given, in one pass over both lists, because a search reads millions.
void read_words(Config& config, const Settings& words) {
  auto given = words.begin();
  for (const Word& word : kWords) {
    int order = -1;
    while (given != words.end() && (order = given->first.compare(word.name)) < 0) ++given;
    if (given == words.end()) return;
    if (order == 0) word.read(config, (given++)->second);
  }
}

bool whole(std::uint32_t extent, int tile) { return extent % static_cast<std::uint32_t>(tile) == 0; }

// Whole tiles everywhere: with baked sizes the main loop checks no bounds.
bool divides(const Problem& p, const Config& c) {
  return whole(p.m, c.tile_m) && whole(p.n, c.tile_n) && whole(p.k, c.tile_k);
}

constexpr std::string_view kLeastColumns = "8";
constexpr std::string_view kOddColumns = "40";  // only some types have it, besides 8 and 24

std::string with_columns(std::string shape, std::string_view columns) {
  return shape.replace(shape.find('N'), 1, columns);
}

// Selects a dense wgmma. (N is part of the shape; giving it separately makes the lookup faster.)
std::array<Choice, 7> wgmma_words(const Problem& p, std::string_view shape, std::string_view columns) {
  return {{{"shape", shape},
           {"N", columns},
           {"ratio", "1"},
           {"a", p.a.type.name},
           {"b", p.b.type.name},
           {"d", p.accumulator.name},
           {"source", "descriptor"}}};
}

bool has_wgmma(const Specs& specs, const Target& target, const Problem& p, const std::string& shape,
               std::string_view columns) {
  const std::string whole = with_columns(shape, columns);
  return std::apply(
      [&](auto... word) { return specs.find("wgmma.mma_async", {word...}, target).has_value(); },
      wgmma_words(p, whole, columns));
}

Variant select_wgmma(const Specs& specs, const Target& target, const Problem& p, const std::string& shape,
                     std::string_view columns) {
  const std::string whole = with_columns(shape, columns);
  return specs.select("wgmma.mma_async", wgmma_words(p, whole, columns), target);
}

bool has_mma(const Specs& specs, const Target& target, const Problem& p, const std::string& shape) {
  if (is_wgmma(shape)) return has_wgmma(specs, target, p, shape, kLeastColumns);
  return std::apply([&](auto... word) { return specs.find("mma.sync", {word...}, target).has_value(); },
                    mma_words(p, shape));
}

bool has_clusters(const Specs& specs, const Target& target) {
  return std::ranges::any_of(specs.match("barrier.cluster.arrive"),
                             [&](Variant v) { return v.since(target).has_value(); });
}

void set_shape(Config& config, const std::string& shape) {
  config.shape = shape;
  const auto extent = [&](char axis) { return std::atoi(shape.c_str() + shape.find(axis) + 1); };
  config.mma_m = extent('m');
  config.mma_n = extent('n');
  config.mma_k = extent('k');
}

}  // namespace

OperandPlan plan_a(const Problem& p, const Config& c) {
  return {.name = "A",
          .matrix = p.a,
          .access = c.a,
          .tile = c.tile_m,
          .warp = c.warp_m(),
          .mma = c.mma_m,
          .whole_extent = c.bake == Bake::mnk && whole(p.m, c.tile_m),
          .whole_k = c.bake != Bake::none && whole(p.k, c.tile_k)};
}

OperandPlan plan_b(const Problem& p, const Config& c) {
  return {.name = "B",
          .matrix = p.b,
          .access = c.b,
          .tile = c.tile_n,
          .warp = c.warp_n(),
          .mma = c.mma_n,
          .whole_extent = c.bake != Bake::none && whole(p.n, c.tile_n),
          .whole_k = c.bake != Bake::none && whole(p.k, c.tile_k)};
}

bool offers_shared_steps(const Problem& p, const Settings& given) {
  return !given.contains("stream_k") && p.m > kFewRows && shares_steps(p);
}

int shared_bytes(const Target& target, const Problem& problem, const Config& config) {
  if (config.strategy == Strategy::wgmma) return WgmmaPlan(target.info(), problem, config).shared_bytes;
  const int pipeline = config.stages * tile_bytes(problem, config);
  const int result = config.staged ? config.tile_m * config.tile_n * problem.d.type.bytes() : 0;
  if (!config.stream_k) return std::max({pipeline, result, cluster_sum_bytes(problem, config)});
  const int most = std::max({pipeline, result, stream_slice_bytes(problem, config)});
  return (most + 15) / 16 * 16 + StreamDivision::kBytes;
}

namespace {
// Registers of a thread that hold a tile between load and store.
int staging_registers(const Matrix& matrix, const Access& access, int extent, const Config& c) {
  if (access.asynchronous) return 0;
  const int bytes = extent * c.tile_k * matrix.type.bytes() / c.threads();
  return bytes / std::min(access.bytes, 4);
}
}  // namespace

Access access_of(const Specs& specs, const Target& target, const Matrix& matrix) {
  // cp.async zero-fills the end of a row; plain loads take whole units or none.
  const int wide = alignment(matrix, false);
  const std::vector<Variant> copies = specs.match("cp.async.ca.shared.global");
  const bool has_copy =
      std::any_of(copies.begin(), copies.end(), [&](Variant v) { return v.since(target).has_value(); });
  if (has_copy && wide >= 4) return {wide, true};
  return {alignment(matrix, true), false};
}

int estimated_registers(const Target& target, const Problem& p, const Config& c) {
  if (c.strategy == Strategy::wgmma) return WgmmaPlan(target.info(), p, c).needed_registers;
  const int staging = staging_registers(p.a, c.a, c.tile_m, c) + staging_registers(p.b, c.b, c.tile_n, c);
  const int sums = p.function.by_block() ? 2 : 1;  // of a scale block, and the total
  const int accumulators = sums * c.warp_m() * c.warp_n() * p.accumulator.bytes() / 128;
  const int fragments = (c.warp_m() * p.a.type.bytes() + c.warp_n() * p.b.type.bytes()) * c.mma_k / 128;
  const int portions = c.stream_k ? kOfPortions + (c.bake == Bake::mnk ? 0 : kOfSizes) : 0;
  return accumulators + 2 * fragments + staging + kOfAddresses + portions;
}

std::vector<std::string> mma_shapes(const ParameterSpace& space, const Specs& specs, const Target& target,
                                    const Problem& problem) {
  std::vector<std::pair<int, std::string>> found;  // by multiply-adds, wgmma first
  for (const TemplateParameter& parameter : space.config()) {
    if (parameter.name != "mma") continue;
    for (const std::string& shape : parameter.values) {
      if (!has_mma(specs, target, problem, shape)) continue;
      Config config;
      set_shape(config, shape);
      found.emplace_back(
          is_wgmma(shape) ? std::numeric_limits<int>::min() : -config.mma_m * config.mma_n * config.mma_k,
          shape);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> shapes;
  for (auto& [size, shape] : found) shapes.push_back(std::move(shape));
  return shapes;
}

Config read_config(const Specs& specs, const Target& target, const Problem& problem, const Settings& words) {
  Config c = base_config(specs, target, problem, words, words.at("mma"));
  const Problem seen = seen_by(c, problem);
  if (c.strategy == Strategy::wgmma && inadmissible(target, seen, c).empty()) {
    c.mma_n = c.group_n();
    c.mma = select_wgmma(specs, target, seen, c.shape, std::to_string(c.mma_n));
  }
  return c;
}

bool is_wgmma(std::string_view shape) { return shape.find('N') != std::string_view::npos; }

Config partial_config(const Config& base, const Settings& words) {
  Config c = base;
  c.tile_m = c.tile_n = c.tile_k = 256;
  c.warps_m = c.warps_n = 1;
  c.stages = 2;
  c.split = 1;
  read_words(c, words);
  return c;
}

Settings words_of(const Config& c) {
  constexpr std::array kBakes = {"none", "nk", "mnk"}, kMulticasts = {"none", "a", "b"};
  constexpr std::array kSchedules = {"cooperative", "pingpong"};
  const auto number = [](int value) { return std::to_string(value); };
  return {{"strategy", c.strategy == Strategy::wgmma ? "wgmma" : "mma"},
          {"swap", c.swap ? "yes" : "no"},
          {"tile_m", number(c.tile_m)},
          {"tile_n", number(c.tile_n)},
          {"tile_k", number(c.tile_k)},
          {"warps_m", number(c.warps_m)},
          {"warps_n", number(c.warps_n)},
          {"stages", number(c.stages)},
          {"split", number(c.split)},
          {"stream_k", c.stream_k ? "yes" : "no"},
          {"multicast", kMulticasts[static_cast<std::size_t>(c.multicast)]},
          {"schedule", kSchedules[static_cast<std::size_t>(c.schedule)]},
          {"loads", c.loads == Loads::thread ? "thread" : "warp"},
          {"raster", number(c.raster)},
          {"epilogue", c.staged ? "staged" : "direct"},
          {"prefetch", c.across_tiles ? "tile" : "step"},
          {"mma", c.shape},
          {"static", kBakes[static_cast<std::size_t>(c.bake)]}};
}

std::vector<Config> admissible_configs(const ParameterSpace& space, const Target& target,
                                       const Problem& problem, const Settings& given, const Config& base) {
  if (base.strategy == Strategy::wgmma) return wgmma_configs(space, target, problem, given, base);
  std::vector<Scored> scored;
  const std::vector<int> splits = choices(space, given, "split");
  const auto consider = [&](Config c) {
    bool any = false;
    for (const int split : splits) {
      c.split = split;
      if (!inadmissible(target, problem, c).empty()) continue;
      scored.push_back({estimate(target, problem, c), c});
      any = true;
    }
    return any;
  };
  const bool open_epilogue = !given.contains("epilogue"), open_prefetch = !given.contains("prefetch"),
             open_static = !given.contains("static");
  const Walk walk(space, target, problem, given, kMmaAxes);
  const auto visit = [&](Config c) {
    // Large warp tiles leave room for few warps, which must hide latency themselves.
    if (open_prefetch) c.across_tiles = c.warp_m() * c.warp_n() >= 64 * 32;
    if (open_static) c.bake = divides(problem, c) ? Bake::mnk : Bake::none;
    if (open_epilogue) c.staged = problem.d.type.bits == 16;
    if (consider(c) || !c.staged || !open_epilogue) return;
    c.staged = false;
    consider(c);
  };
  walk.run(base, visit);
  if (offers_shared_steps(problem, given)) {
    Config sharing = base;
    sharing.stream_k = true;
    walk.run(sharing, visit);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& x, const Scored& y) { return x.time < y.time; });
  std::vector<Config> configs;
  for (Scored& one : scored) configs.push_back(std::move(one.config));
  return configs;
}

Config base_config(const Specs& specs, const Target& target, const Problem& problem, const Settings& given,
                   const std::string& shape) {
  Config base;
  base.raster = 8;
  base.clusters = has_clusters(specs, target);
  base.a = access_of(specs, target, problem.a);
  base.b = access_of(specs, target, problem.b);
  set_shape(base, shape);
  if (is_wgmma(shape)) {
    base.strategy = Strategy::wgmma;
    base.mma = select_wgmma(specs, target, problem, shape, kLeastColumns);
    base.every_width = has_wgmma(specs, target, problem, shape, kOddColumns);
  } else {
    base.mma = specs.select("mma.sync", mma_words(problem, shape), target);
  }
  read_words(base, given);
  return base;
}

}  // namespace ptxloom::gemm_kernel
