// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/memory_shadow.hpp"

#include <algorithm>

namespace ptxloom::exec {
namespace {

constexpr std::size_t kNear = 32;  // how far before padding a larger member may be

}  // namespace

std::size_t MemoryShadow::largest_member(std::size_t begin, std::size_t end) const {
  std::size_t largest = 0;
  for (std::size_t i = begin; i < std::min(end, members_.size()); ++i)
    if (members_[i] != kPadding) largest = std::max<std::size_t>(largest, members_[i]);
  return largest;
}

bool MemoryShadow::is_padding(std::size_t byte, std::size_t begin, std::size_t end) const {
  if (members_[byte] == kPadding) return true;
  if (!is_unwritten(byte)) return false;
  std::size_t first = byte, last = byte + 1;
  while (first > begin && is_unwritten(first - 1)) --first;
  while (last < end && is_unwritten(last)) ++last;
  if (first == begin) return false;
  const auto aligned_to = [&](std::size_t member) {
    return member != 0 && last == (first + member - 1) / member * member;
  };
  return aligned_to(largest_member(last, last + 1)) ||
         aligned_to(largest_member(first - std::min(first, kNear), first));
}

}  // namespace ptxloom::exec
