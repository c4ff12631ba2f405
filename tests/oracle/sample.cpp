// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {
namespace {

/// Notes the pairs of values that a variant has; true if there is a new one.
bool add_pairs(const spec::VariantData& data, std::unordered_set<std::size_t>& seen) {
  bool added = false;
  std::vector<std::size_t> hashes;
  for (std::size_t slot = 0; slot < data.values.size(); ++slot) {
    const std::size_t value = std::hash<std::string_view>{}(data.values[slot]);
    hashes.push_back((value * 31 + slot) * 2 + (data.hidden[slot] ? 1U : 0U));
  }
  for (std::size_t a = 0; a < hashes.size(); ++a) {
    for (std::size_t b = a; b < hashes.size(); ++b)
      added = seen.insert(hashes[a] * 0x9E3779B97F4A7C15U + hashes[b]).second || added;
  }
  return added;
}

}  // namespace

std::vector<Variant> sample(std::vector<Variant> variants, std::size_t limit, std::mt19937& random) {
  std::shuffle(variants.begin(), variants.end(), random);
  if (variants.size() <= limit) return variants;
  std::unordered_set<std::size_t> seen;
  std::stable_partition(variants.begin(), variants.end(),
                        [&](Variant variant) { return add_pairs(*variant.data(), seen); });
  variants.resize(limit);
  return variants;
}

}  // namespace ptxloom::oracle
