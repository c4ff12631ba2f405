// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "spec/database.hpp"

// Selects a variant by meaning: values for slots, or for names that the form's `select` field defines in
// terms of slots ("shape": "m<M>n8k<K>"). Slots that no choice names stay unwritten if possible.
namespace ptxloom::spec {

struct Selection {
  std::vector<Variant> legal;      // on the target; a single one is the answer
  std::vector<Variant> elsewhere;  // on other targets only
};

Selection select(const Database& database, std::string_view family, std::span<const Choice> choices,
                 const Target& target);

/// Why the selection is not a single variant.
Diagnostic explain_selection(const Database& database, std::string_view family,
                             std::span<const Choice> choices, const Target& target,
                             const Selection& selection);

/// The targets that have a variant, each with the required PTX version, without those implied by another:
/// "sm_90 (PTX 7.8)", "sm_100a (PTX 8.6) or sm_100f (PTX 8.8)"; with the
/// release of CUDA and the driver for what is newer than the default version: "sm_107f (PTX 9.4: CUDA 13.4,
/// driver 615)".
std::string where_legal(Variant variant);

}  // namespace ptxloom::spec
