// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "ptxloom/specs.hpp"

namespace [[gnu::visibility("default")]] ptxloom {

/// Facts about variants, each worked out once: the instructions of a kernel have few, and often the same as
/// the one before. What `of` returns stays where it is.
template <class Fact>
class ByVariant {
 public:
  ByVariant() = default;
  ByVariant(ByVariant&&) = default;  // a copy would remember a fact of the original
  ByVariant& operator=(ByVariant&&) = default;

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
