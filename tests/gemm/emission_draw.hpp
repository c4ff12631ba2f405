// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ptxloom/plan.hpp"
#include "ptxloom/specs.hpp"

// Random kernels of gemm, for the golden file of emission_test.cpp.
namespace ptxloom::test {

/// A kernel to be emitted: the parameters of its problem that are given, and the whole configuration, or
/// nothing for the default choice.
struct EmissionCase {
  std::string target;
  Settings problem, config;
};

/// `count` kernels, drawn so that each type, layout, epilogue, kind of batch, strategy and target comes up.
/// The same seed gives the same problems; configurations also depend on the template.
std::vector<EmissionCase> draw_emissions(const std::shared_ptr<const Specs>& specs, std::size_t count,
                                         std::uint32_t seed);

}  // namespace ptxloom::test
