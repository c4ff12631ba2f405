// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/shared_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kit/integers.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

[[noreturn]] void refuse_part(const std::string& what, const std::string& hint) {
  throw Error(ErrorKind::usage, "bad-shared-layout", what, hint);
}

}  // namespace

SharedLayout& SharedLayout::add(std::string name, int bytes, int alignment) {
  if (std::ranges::find(parts_, name, &Part::name) != parts_.end())
    refuse_part(fmt::format("two parts '{}' of shared memory", name), "give each part a name of its own");
  if (bytes < 0 || !power_of_two(alignment))
    refuse_part(
        fmt::format("part '{}' of shared memory: {} bytes at a multiple of {}", name, bytes, alignment),
        "the alignment is a power of two, and the size is not negative");
  const int offset = rounded_up(size(), alignment);
  parts_.push_back({.name = std::move(name), .offset = offset, .bytes = bytes, .alignment = alignment});
  return *this;
}

int SharedLayout::size() const { return parts_.empty() ? 0 : parts_.back().offset + parts_.back().bytes; }

int SharedLayout::pitch() const { return rounded_up(size(), alignment()); }

int SharedLayout::alignment() const {
  int most = 1;
  for (const Part& part : parts_) most = std::max(most, part.alignment);
  return most;
}

Reg SharedLayout::address(KernelBuilder& k, Reg base, std::string_view name) const {
  const int offset = find(name).offset;
  return offset == 0 ? base : k.add(base, offset);
}

const SharedLayout::Part& SharedLayout::find(std::string_view name) const {
  const auto found = std::ranges::find(parts_, name, &Part::name);
  if (found != parts_.end()) return *found;
  std::string known;
  for (const Part& part : parts_) known += (known.empty() ? "" : ", ") + part.name;
  refuse_part(fmt::format("no part '{}' of shared memory", name),
              known.empty() ? "add it first" : "its parts are: " + known);
}

}  // namespace ptxloom::kit
