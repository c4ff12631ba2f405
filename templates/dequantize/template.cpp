// SPDX-License-Identifier: Apache-2.0
#include "dequantize/template.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "dequantize/config.hpp"
#include "dequantize/kernel.hpp"
#include "dequantize/reference.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/typed_template.hpp"
#include "templates/dequantize/digest.hpp"
#include "templates/dequantize/space.json.hpp"

namespace ptxloom {
namespace dequantize_kernel {
namespace {

using spaces::dequantize::kSpaceJson;

constexpr double kOperations = 4;        // for each element, about
constexpr unsigned kScaleExponents = 9;  // of random scales

using Strategy = TypedStrategy<Problem, Config>;

const Strategy& strategy_for(const Specs& specs, const Target& target, const Problem& p, const Settings&) {
  static const Strategy only{.rules = rules(), .demand = demand_of, .emit = emit_kernel};
  if (can_dequantise(specs, target, p)) return only;
  throw Error(ErrorKind::refused, "no-configuration",
              fmt::format("dequantize: {} cannot convert {} to {}", target.name(), p.format->name, p.y.name),
              "use y=f32, f16 or bf16");
}

/// All codes, with scales around 1.
HostTensor drawn(const TensorPlan& plan, std::mt19937_64& random) {
  HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
  if (plan.name == "x") {
    for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random());
    return tensor;
  }
  for (std::size_t i = 0; i < plan.elements(); ++i) {
    const double scale = std::exp2(static_cast<double>(random() % kScaleExponents) - kScaleExponents / 2.0);
    store_element(plan.type, tensor.bytes, i, encode(plan.type, scale));
  }
  return tensor;
}

std::vector<HostTensor> inputs_of(const Problem& p, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<HostTensor> all;
  for (const TensorPlan& plan : tensors_of(p))
    if (plan.role != TensorPlan::Role::out) all.push_back(drawn(plan, random));
  return all;
}

double operations_of(const Problem& p) { return kOperations * p.rows * p.n; }
std::string unit_of(const Problem&) { return "f32"; }

}  // namespace
}  // namespace dequantize_kernel

const Template& dequantize_template() {
  using namespace dequantize_kernel;
  static const TypedTemplate<Problem, Config> instance({.space = kSpaceJson,
                                                        .digest = spaces::dequantize::digest(),
                                                        .parameters = kParameters,
                                                        .problem = complete_problem,
                                                        .tensors = tensors_of,
                                                        .inputs = inputs_of,
                                                        .operations = operations_of,
                                                        .unit = unit_of,
                                                        .input_bytes = dequantize_kernel::input_bytes,
                                                        .strategy = strategy_for,
                                                        .expect = reference});
  return instance;
}

}  // namespace ptxloom
