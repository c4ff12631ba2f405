// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "spec/database.hpp"

// Choosing a variant by meaning: words for slots, or for what the form's `select` field makes of slots
// ("shape": "m<M>n8k<K>"). Slots that no word names stay unwritten where they can.
namespace ptxloom::spec {

struct Selection {
  std::vector<Variant> legal;      // on the target; one is the answer
  std::vector<Variant> elsewhere;  // on other targets only
};

Selection select(const Database& database, std::string_view family, std::span<const Choice> choices,
                 const Target& target);

/// Why the selection is no single variant.
Diagnostic explain_selection(const Database& database, std::string_view family,
                             std::span<const Choice> choices, const Target& target,
                             const Selection& selection);

/// The targets that have a variant, each with the PTX version it takes, without those that follow from
/// another: "sm_90 (PTX 7.8)", "sm_100a (PTX 8.6) or sm_100f (PTX 8.8)".
std::string where_legal(Variant variant);

}  // namespace ptxloom::spec
