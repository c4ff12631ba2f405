// SPDX-License-Identifier: Apache-2.0
#include "exec/watch/traffic.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "exec/machine/block.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::uint32_t kBanks = 32, kWord = 4, kLine = kBanks * kWord, kSector = 32;

template <class T>
std::uint64_t units(T bytes, T unit) {
  return (bytes + unit - 1) / unit;
}

}  // namespace

void Traffic::executes(const Warp& warp, const Operation& op, Mask lanes) {
  flush();
  current_ = warp.block().grid().code().number_of(op);
  ++(*counts_)[current_].executed;
  (*counts_)[current_].lanes += static_cast<std::uint64_t>(std::popcount(lanes));
}

void Traffic::access(Kind kind, std::uint64_t address, std::uint32_t bytes) {
  if (bytes != 0) (kind == Kind::shared ? shared_ : global_).push_back({address, bytes});
}

void Traffic::flush() {
  if (!shared_.empty()) (*counts_)[current_].shared += passes(shared_);
  if (!global_.empty()) (*counts_)[current_].global += sectors(global_);
  shared_.clear();
  global_.clear();
}

// As many lanes are combined as request 128 bytes: all, or if each requests 8 or 16, a half or a quarter.
Count::Memory Traffic::passes(const std::vector<Access>& accesses) {
  Count::Memory result{.requests = 1};
  const std::size_t together = std::max<std::size_t>(1, kLine / std::max(accesses[0].bytes, kWord));
  for (std::size_t first = 0; first < accesses.size(); first += together) {
    std::array<std::set<std::uint64_t>, kBanks> words;
    for (std::size_t i = first; i < std::min(first + together, accesses.size()); ++i) {
      const auto& [address, bytes] = accesses[i];
      for (std::uint64_t word = address / kWord; word * kWord < address + bytes; ++word)
        words[word % kBanks].insert(word);
    }
    std::size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    result.units += most;
    result.needed += 1;
  }
  return result;
}

Count::Memory Traffic::sectors(const std::vector<Access>& accesses) {
  std::set<std::uint64_t> touched, bytes;
  for (const Access& access : accesses) {
    for (std::uint64_t at = access.address; at < access.address + access.bytes; ++at) {
      touched.insert(at / kSector);
      bytes.insert(at);
    }
  }
  return {.requests = 1, .units = touched.size(), .needed = units<std::uint64_t>(bytes.size(), kSector)};
}

}  // namespace ptxloom::exec
