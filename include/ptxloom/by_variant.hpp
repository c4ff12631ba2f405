// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "ptxloom/specs.hpp"

/// \file
/// A cache of facts about the variants that a kernel's instructions have.
namespace [[gnu::visibility("default")]] ptxloom {

/// Facts about variants, each computed once. A kernel has few different variants, and often the same one
/// twice in a row. The specs of the variants must outlive it. Not thread-safe.
template <class Fact>
class ByVariant {
 public:
  ByVariant() = default;             ///< empty
  ByVariant(ByVariant&&) = default;  ///< no copies: one would remember a fact of the original
  ByVariant& operator=(ByVariant&&) = default;

  /// The fact about a variant; `make(variant)` computes it at the first call. The reference stays valid.
  Fact& of(const Variant& variant, const auto& make) {
    if (variant.data() == last_) return *fact_;
    auto known = facts_.find(variant.data());
    if (known == facts_.end()) known = facts_.emplace(variant.data(), make(variant)).first;
    last_ = variant.data();
    fact_ = &known->second;
    return *fact_;
  }

 private:
  std::unordered_map<const spec::VariantData*, Fact> facts_;
  const spec::VariantData* last_ = nullptr;
  Fact* fact_ = nullptr;
};

}  // namespace ptxloom
