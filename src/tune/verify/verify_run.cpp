// SPDX-License-Identifier: Apache-2.0
// Compares all outputs of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "ptxloom/error.hpp"
#include "ptxloom/plan.hpp"

namespace ptxloom {
namespace {

constexpr auto kName = [](const HostTensor& tensor) -> const std::string& { return tensor.plan.name; };

/// One for each expectation.
std::vector<Verdict> verify_each(std::span<const Expectation> expected, std::span<const HostTensor> tensors,
                                 std::byte poison) {
  std::vector<Verdict> verdicts;
  for (const Expectation& one : expected)
    verdicts.push_back(verify(one, *std::ranges::find(tensors, one.tensor, kName), poison));
  return verdicts;
}

void keep_common(std::vector<std::uint64_t>& indices, const std::vector<std::uint64_t>& others) {
  std::vector<std::uint64_t> both;
  std::ranges::set_intersection(indices, others, std::back_inserter(both));
  indices = std::move(both);
}

Verdict join(const std::vector<Verdict>& verdicts) {
  Verdict all;
  for (const Verdict& one : verdicts) {
    if (all.wrong == 0) all.first = one.first;
    all.checked += one.checked;
    all.wrong += one.wrong;
    all.worst = std::fmax(all.worst, one.worst);
    all.unwritten.insert(all.unwritten.end(), one.unwritten.begin(), one.unwritten.end());
  }
  return all;
}

}  // namespace

void check_expected(std::span<const Expectation> expected, std::span<const HostTensor> tensors) {
  for (const Expectation& one : expected) {
    const auto found = std::ranges::find(tensors, one.tensor, kName);
    if (found == tensors.end() || found->plan.role == TensorPlan::Role::in)
      throw Error(
          ErrorKind::usage, "missing-tensor",
          fmt::format("the reference expects an output '{}', but there is none of this name", one.tensor),
          "name an output");
  }
  for (const HostTensor& tensor : tensors) {
    if (tensor.plan.role != TensorPlan::Role::in &&
        std::ranges::find(expected, tensor.plan.name, &Expectation::tensor) == expected.end())
      throw Error(ErrorKind::usage, "missing-expectation",
                  fmt::format("the reference does not say what output '{}' must hold", tensor.plan.name),
                  "give an expectation for each output");
  }
}

Verdict verify_run(std::span<const Expectation> expected,
                   const std::function<std::span<const HostTensor>(std::byte poison)>& run) {
  const std::span<const HostTensor> tensors = run(kPoison);
  check_expected(expected, tensors);
  std::vector<Verdict> verdicts = verify_each(expected, tensors, kPoison);
  if (std::ranges::all_of(verdicts, [](const Verdict& v) { return v.unwritten.empty(); }))
    return join(verdicts);
  constexpr std::byte kOther = ~kPoison;
  const std::vector<Verdict> second = verify_each(expected, run(kOther), kOther);
  for (std::size_t i = 0; i < verdicts.size(); ++i) keep_common(verdicts[i].unwritten, second[i].unwritten);
  return join(verdicts);
}

}  // namespace ptxloom
