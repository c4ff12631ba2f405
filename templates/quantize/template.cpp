// SPDX-License-Identifier: Apache-2.0
#include "quantize/template.hpp"

#include <fmt/format.h>

#include <array>

#include "ptxloom/numeric.hpp"
#include "ptxloom/typed_template.hpp"
#include "quantize/config.hpp"
#include "quantize/kernel.hpp"
#include "quantize/reference.hpp"
#include "templates/quantize/digest.hpp"
#include "templates/quantize/space.json.hpp"

namespace ptxloom {
namespace quantize_kernel {
namespace {

using spaces::quantize::kSpaceJson;

constexpr double kOperations = 6;      // for each element, about
constexpr double kLargestScale = 448;  // in ue4m3

using Strategy = TypedStrategy<Problem, Config>;

const Strategy& strategy_for(const Specs& specs, const Target& target, const Problem& p, const Settings&) {
  static const Strategy only{.rules = rules(), .demand = demand_of, .emit = emit_kernel};
  if (can_quantise(specs, target, *p.format)) return only;
  throw Error(ErrorKind::refused, "no-configuration",
              fmt::format("quantize: {} cannot round to {}", target.name(), p.format->name),
              "it has neither the conversion nor what the fallback is made of");
}

/// The scale that is right for values up to 1, and with a scale for each block for blocks up to 1.
double usual_scale(const Problem& p) {
  return p.format->tensor_scale ? 1 / (p.format->largest * kLargestScale) : 1 / p.format->largest;
}

std::vector<HostTensor> inputs_of(const Problem& p, std::uint64_t seed) {
  std::vector<HostTensor> all = random_inputs(tensors_of(p), seed);
  for (HostTensor& tensor : all)
    if (tensor.plan.name != "x") encode(f32, std::array{usual_scale(p)}, tensor.bytes);
  return all;
}

double operations_of(const Problem& p) { return kOperations * p.rows * p.n; }
std::string unit_of(const Problem&) { return "f32"; }

}  // namespace
}  // namespace quantize_kernel

const Template& quantize_template() {
  using namespace quantize_kernel;
  static const TypedTemplate<Problem, Config> instance({.space = kSpaceJson,
                                                        .digest = spaces::quantize::digest(),
                                                        .parameters = kParameters,
                                                        .problem = complete_problem,
                                                        .tensors = tensors_of,
                                                        .inputs = inputs_of,
                                                        .operations = operations_of,
                                                        .unit = unit_of,
                                                        .input_bytes = quantize_kernel::input_bytes,
                                                        .strategy = strategy_for,
                                                        .expect = reference});
  return instance;
}

}  // namespace ptxloom
