// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/findings.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace ptxloom::exec {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr const char* kUndefined = "undefined-value";

// Memory that a racing or too early access reads is not there yet: what it reads looks undefined.
bool reads_too_early(const std::string& code) { return code == "data-race" || code == "copy-not-awaited"; }

}  // namespace

bool Findings::count(const Key& key, std::uint64_t order) {
  const std::scoped_lock lock(mutex_);
  const auto [place, added] = entries_.try_emplace(key);
  Entry& entry = place->second;
  ++entry.count;
  if (!added && entry.order <= order) return false;
  entry.order = order;
  return true;
}

void Findings::count_again(const Key& key, std::uint64_t times) {
  const std::scoped_lock lock(mutex_);
  if (const auto entry = entries_.find(key); entry != entries_.end()) entry->second.count += times;
}

void Findings::add(const Key& key, Finding finding) {
  const std::scoped_lock lock(mutex_);
  entries_[key].finding = std::move(finding);
}

void Findings::add_all(const Findings& others) {
  const std::scoped_lock lock(mutex_, others.mutex_);
  for (const auto& [key, entry] : others.entries_) {
    const auto [place, added] = entries_.try_emplace(key, entry);
    if (!added) place->second.count += entry.count;
  }
}

std::vector<Finding> Findings::all() const {
  const std::scoped_lock lock(mutex_);
  std::set<std::pair<std::string, std::uint32_t>> early;
  for (const auto& [key, entry] : entries_) {
    const auto& [kernel, code, first, second] = key;
    if (!reads_too_early(code)) continue;
    for (const std::uint32_t number : {first, second})
      if (number != kNone) early.emplace(kernel, number);
  }
  std::vector<Finding> findings;
  for (const auto& [key, entry] : entries_) {
    const auto& [kernel, code, first, second] = key;
    if (code == kUndefined && early.contains({kernel, second})) continue;
    findings.push_back(entry.finding);
    findings.back().count = entry.count;
  }
  std::ranges::stable_sort(findings, {}, [](const Finding& finding) {
    return std::tuple(finding.kernel, finding.at.line, finding.other ? finding.other->line : 0);
  });
  return findings;
}

}  // namespace ptxloom::exec
