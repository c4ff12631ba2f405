// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/template.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxloom/typed_template.hpp"
#include "sparse_gemm/reference.hpp"
#include "sparse_gemm/strategy.hpp"
#include "templates/sparse_gemm/digest.hpp"
#include "templates/sparse_gemm/space.json.hpp"

namespace ptxloom {
namespace sparse_gemm {
namespace {

using spaces::sparse_gemm::kSpaceJson;

/// The first strategy that the target has, and that is the given one if there is one.
const TypedStrategy<Problem, Config>& choose_strategy(const Specs& specs, const Target& target,
                                                      const Problem& p, const Settings& given) {
  const auto wanted = given.find("strategy");
  const auto asked = [&](const Strategy* one) {
    return wanted == given.end() || wanted->second == one->kernels.name;
  };
  for (const Strategy* one : strategies())
    if (asked(one) && one->find(specs, target, p)) return one->kernels;
  std::string chips;
  for (const TargetInfo& info : targets())
    if (std::ranges::any_of(strategies(), [&](const Strategy* one) {
          return asked(one) && one->find(specs, Target(info.name), p).has_value();
        }))
      chips += (chips.empty() ? "" : ", ") + std::string(info.name);
  throw Error(ErrorKind::refused, "no-configuration",
              fmt::format("sparse_gemm: {} cannot multiply sparse {}{}{}", target.name(), p.type.name,
                          wanted == given.end() ? "" : " with strategy=",
                          wanted == given.end() ? "" : wanted->second),
              "these targets can: " + chips);
}

double operations_of(const Problem& p) { return 2.0 * p.m * p.n * p.k; }

}  // namespace
}  // namespace sparse_gemm

const Template& sparse_gemm_template() {
  using namespace sparse_gemm;
  static const TypedTemplate<Problem, Config> instance({.space = kSpaceJson,
                                                        .digest = spaces::sparse_gemm::digest(),
                                                        .parameters = kParameters,
                                                        .problem = complete_problem,
                                                        .tensors = tensors_of,
                                                        .inputs = inputs_of,
                                                        .operations = operations_of,
                                                        .unit = sparse_gemm::unit_of,
                                                        .input_bytes = sparse_gemm::input_bytes,
                                                        .strategy = choose_strategy,
                                                        .expect = reference});
  return instance;
}

}  // namespace ptxloom
