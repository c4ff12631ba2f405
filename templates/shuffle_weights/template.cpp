// SPDX-License-Identifier: Apache-2.0
#include "shuffle_weights/template.hpp"

#include <cstring>

#include "ptxloom/numeric.hpp"
#include "ptxloom/sampling.hpp"
#include "ptxloom/typed_template.hpp"
#include "shuffle_weights/config.hpp"
#include "shuffle_weights/kernel.hpp"
#include "templates/shuffle_weights/digest.hpp"
#include "templates/shuffle_weights/space.json.hpp"

namespace ptxloom {
namespace shuffle_weights {
namespace {

using spaces::shuffle_weights::kSpaceJson;
using Strategy = TypedStrategy<Problem, Config>;

constexpr int kRegisters = 40;                    // of a thread, estimated
constexpr double kOfThread = 300;                 // instructions that write 16 bytes, counted in PTX
constexpr std::uint64_t kMostCompared = 1 << 20;  // elements of an output; of larger ones some are tried

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  return {.threads = c.threads,
          .registers = kRegisters,
          .blocks = c.grid(p),
          .unit = "f32",
          .operations = input_bytes(p),
          .instructions = kOfThread * double(c.grid(p)) * c.threads / 32,
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .loads = tune::Loads::streamed};
}

const Strategy& strategy_for(const Specs&, const Target&, const Problem&, const Settings&) {
  static const Strategy only{.rules = {}, .demand = demand_of, .emit = emit_kernel};
  return only;
}

double operations_of(const Problem& p) { return double(p.batch) * p.n * p.k; }
std::string unit_of(const Problem&) { return "f32"; }

/// What the host makes of a matrix of each batch, one after the other.
std::vector<std::byte> shuffled(const Problem& p, const HostTensor& plain, std::uint64_t bytes,
                                const auto& shuffle) {
  std::vector<std::byte> all(bytes * p.batch);
  const std::uint64_t each = plain.bytes.size() / p.batch;
  for (std::uint64_t i = 0; i < p.batch; ++i)
    shuffle(std::span(plain.bytes).subspan(i * each, each), std::span(all).subspan(i * bytes, bytes));
  return all;
}

Expectation expectation(std::string name, Type type, const std::vector<std::byte>& bytes) {
  constexpr std::uint64_t kColumns = kit::WeightLayout::kTileRows;  // divides all sizes
  const std::uint64_t count = bytes.size() / static_cast<std::uint64_t>(type.bytes());
  Expectation made{.tensor = std::move(name), .complete = count <= kMostCompared};
  const auto add = [&](std::uint64_t i) {
    made.points.push_back({i, decode(type, load_element(type, bytes, i)), 0});
  };
  for (std::uint64_t i = 0; made.complete && i < count; ++i) add(i);
  if (made.complete) return made;
  std::mt19937_64 random(count);
  for (const auto& [row, column] : sampled_elements(count / kColumns, kColumns, kMostCompared, random))
    add(row * kColumns + column);
  return made;
}

std::vector<Expectation> reference(const Problem& p, std::span<const HostTensor> in) {
  const kit::WeightLayout layout = p.layout();
  const auto weights = shuffled(p, in[0], layout.bytes(), [&](auto plain, auto into) {
    kit::shuffle_weights(layout, plain, p.pitch, into);
  });
  const auto groups = [&](const HostTensor& plain, Type type) {
    const std::uint64_t bytes = layout.group_values(p.group) * static_cast<std::uint64_t>(type.bytes());
    return shuffled(p, plain, bytes,
                    [&](auto from, auto into) { kit::shuffle_groups(layout, type, p.group, from, into); });
  };
  std::vector<Expectation> all{expectation("b", u8, weights),
                               expectation("scale_b", p.scale, groups(in[1], p.scale))};
  if (p.zero_points()) all.push_back(expectation("zero_b", u8, groups(in[2], u8)));
  return all;
}

}  // namespace
}  // namespace shuffle_weights

const Template& shuffle_weights_template() {
  using namespace shuffle_weights;
  static const TypedTemplate<Problem, Config> instance({.space = kSpaceJson,
                                                        .digest = spaces::shuffle_weights::digest(),
                                                        .parameters = kParameters,
                                                        .problem = complete_problem,
                                                        .tensors = tensors_of,
                                                        .operations = operations_of,
                                                        .unit = unit_of,
                                                        .input_bytes = shuffle_weights::input_bytes,
                                                        .strategy = strategy_for,
                                                        .expect = reference});
  return instance;
}

}  // namespace ptxloom
