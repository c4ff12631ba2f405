// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ptxloom/numeric.hpp"
#include "scaled_gemm/problem/reference.hpp"
#include "scaled_gemm/strategy.hpp"
#include "templates/scaled_gemm/digest.hpp"
#include "templates/scaled_gemm/space.json.hpp"

namespace ptxloom {
namespace scaled_gemm {
namespace {

using spaces::scaled_gemm::kSpaceJson;

constexpr std::size_t kCandidates = 64;

/// The first strategy that serves the problem on the target, and is the given one if there is one.
const TypedStrategy<Problem, Config>& choose_strategy(const Specs& specs, const Target& target,
                                                      const Problem& p, const Settings& given) {
  const auto wanted = given.find("strategy");
  std::string names, chips;
  std::vector<const Strategy*> asked;
  for (const Strategy* one : strategies()) {
    if (!one->serves(p)) continue;
    names += (names.empty() ? "strategy=" : " or strategy=") + one->kernels.name;
    if (wanted != given.end() && wanted->second != one->kernels.name) continue;
    if (one->has(specs, target, p)) return one->kernels;
    asked.push_back(one);
  }
  for (const TargetInfo& info : targets())
    if (std::ranges::any_of(asked,
                            [&](const Strategy* one) { return one->has(specs, Target(info.name), p); }))
      chips += (chips.empty() ? "" : ", ") + std::string(info.name);
  if (chips.empty())
    throw Error(ErrorKind::refused, "no-configuration",
                fmt::format("scaled_gemm: strategy {} does not multiply {} and {}", wanted->second,
                            p.a.format.name, p.b.format.name),
                fmt::format("leave it out, or give {}", names));
  throw Error(ErrorKind::refused, "no-configuration",
              fmt::format("scaled_gemm: {} cannot multiply {} and {}: it lacks the instruction",
                          target.name(), p.a.format.name, p.b.format.name),
              "these targets have it: " + chips);
}

/// Random. No code of fp8 weights is NaN or infinite, or likely to be infinite in the type of A times its
/// scale, since those that fill k up must not be.
std::vector<HostTensor> inputs_of(const Problem& p, std::uint64_t seed) {
  constexpr std::byte kHighestExponentBit{0x40};
  constexpr double kMostBesideF16 = 2048;
  std::vector<HostTensor> all = random_inputs(tensors_of(p), seed);
  const Type element = p.b.format.element;
  if (!p.b.bytes() || element == s8) return all;
  const double most = p.a.format.element == f16 ? kMostBesideF16 : std::numeric_limits<float>::max();
  for (std::byte& code : all.at(1).bytes)
    if (!(std::abs(decode(element, std::to_integer<std::uint64_t>(code))) <= most))
      code &= ~kHighestExponentBit;
  return all;
}

double operations_of(const Problem& p) { return 2.0 * double(p.all_rows()) * p.n * p.k; }

}  // namespace
}  // namespace scaled_gemm

const Template& scaled_gemm_template() {
  using namespace scaled_gemm;
  static const TypedTemplate<Problem, Config> instance({.space = kSpaceJson,
                                                        .digest = spaces::scaled_gemm::digest(),
                                                        .parameters = kParameters,
                                                        .problem = complete_problem,
                                                        .tensors = tensors_of,
                                                        .inputs = inputs_of,
                                                        .operations = operations_of,
                                                        .unit = scaled_gemm::unit_of,
                                                        .input_bytes = scaled_gemm::input_bytes,
                                                        .strategy = choose_strategy,
                                                        .expect = reference,
                                                        .candidates = kCandidates});
  return instance;
}

}  // namespace ptxloom
