// SPDX-License-Identifier: Apache-2.0
#include "rowwise/template.hpp"

#include <fmt/format.h>

#include "ptxloom/typed_template.hpp"
#include "rowwise/config.hpp"
#include "rowwise/kernel.hpp"
#include "rowwise/reference.hpp"
#include "templates/rowwise/digest.hpp"
#include "templates/rowwise/space.json.hpp"

namespace ptxloom {
namespace rowwise_kernel {
namespace {

using spaces::rowwise::kSpaceJson;

constexpr double kOperations = 8;  // for each element, about

using Strategy = TypedStrategy<Problem, Config>;

const Strategy& strategy_for(const Specs& specs, const Target& target, const Problem& p, const Settings&) {
  static const Strategy only{.rules = rules(), .demand = demand_of, .emit = emit_kernel};
  if (kit::can_pack(specs, target, p.y)) return only;
  throw Error(ErrorKind::refused, "no-configuration",
              fmt::format("rowwise: {} cannot round to {}", target.name(), p.y.name),
              "use y=f32, f16 or bf16");
}

double operations_of(const Problem& p) { return kOperations * p.rows * p.n; }
std::string unit_of(const Problem&) { return "f32"; }

}  // namespace
}  // namespace rowwise_kernel

const Template& rowwise_template() {
  using namespace rowwise_kernel;
  static const TypedTemplate<Problem, Config> instance({.space = kSpaceJson,
                                                        .digest = spaces::rowwise::digest(),
                                                        .parameters = kParameters,
                                                        .problem = complete_problem,
                                                        .tensors = tensors_of,
                                                        .operations = operations_of,
                                                        .unit = unit_of,
                                                        .input_bytes = rowwise_kernel::input_bytes,
                                                        .strategy = strategy_for,
                                                        .expect = reference});
  return instance;
}

}  // namespace ptxloom
