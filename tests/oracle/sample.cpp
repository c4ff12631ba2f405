// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {
bool SeenPairs::add(const spec::VariantData& data) {
  bool added = false;
  std::vector<std::size_t> hashes;
  for (std::size_t slot = 0; slot < data.values.size(); ++slot) {
    const std::size_t value = std::hash<std::string_view>{}(data.values[slot]);
    hashes.push_back((value * 31 + slot) * 2 + (data.hidden[slot] ? 1U : 0U));
  }
  for (std::size_t a = 0; a < hashes.size(); ++a) {
    for (std::size_t b = a; b < hashes.size(); ++b)
      added = seen_.insert(hashes[a] * 0x9E3779B97F4A7C15U + hashes[b]).second || added;
  }
  return added;
}

std::vector<Variant> sample(std::vector<Variant> variants, std::size_t limit, std::mt19937& random) {
  std::shuffle(variants.begin(), variants.end(), random);
  if (variants.size() <= limit) return variants;
  SeenPairs seen;
  std::stable_partition(variants.begin(), variants.end(),
                        [&](Variant variant) { return seen.add(*variant.data()); });
  variants.resize(limit);
  return variants;
}

}  // namespace ptxloom::oracle
