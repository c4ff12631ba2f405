// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/target.hpp"
#include "spec/form_data.hpp"
#include "spec/spec_error.hpp"
#include "spec/vocabulary.hpp"
#include "target/releases.hpp"

// "sm_100a:8.6|sm_100f:8.8": the target and PTX version that a row requires, any one of the alternatives. All
// needs that apply to a variant must hold; none overrides another. "sm_90:7.8/13.0-13.2" is an alternative
// that only the assemblers of these releases of CUDA know.
namespace ptxloom::spec {

struct NeedAlternative {
  const TargetInfo* target = nullptr;  // any if null
  Version from, until{9999, 0};
  target::Releases assemblers = {};
};
using Need = std::vector<NeedAlternative>;
/// All must hold.
using Needs = std::vector<const Need*>;

/// The last PTX version of a fact about these assemblers, where no assembler is meant: later ones they do not
/// read. Without an end, none.
Version last_version_of(const target::Releases& releases);

class Sets;  // cell.hpp
/// Without the alternatives that the vocabulary's assembler does not know; none left: nothing meets the need.
Need parse_need(std::string_view text, const Sets& sets, const Vocabulary& vocabulary, Place place);

bool allowed(const Needs& needs, const Target& target, Version version);
/// The lowest PTX version that satisfies target and needs.
std::optional<Version> lowest_version(const Needs& needs, const Target& target);

}  // namespace ptxloom::spec
