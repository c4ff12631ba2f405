// SPDX-License-Identifier: Apache-2.0
#include "conform/demand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "conform/subject.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::conform_kernels {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::usage, "spec-demand",
              fmt::format("'{}' does not describe the values of an operand", text),
              "see the section conform of specs/README.md");
}

std::uint64_t take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value).ptr;
  if (end == text.data()) refuse(text);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return static_cast<std::uint64_t>(value);
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// A matrix descriptor without its address: a swizzle and two offsets that keep 256 rows within the slots of a
// thread block, the same for all its threads.
std::uint64_t descriptor(std::size_t block) {
  constexpr std::array<std::uint64_t, 4> kOffsets = {1024, 512, 256, 128};
  const std::uint64_t swizzle = block % 4, stride = kOffsets[block / 4 % 4],
                      leading = kOffsets[block / 16 % 4];
  return swizzle << 62 | stride >> 4 << 32 | leading >> 4 << 16;
}

// Reduces a value that is too large, by taking a remainder.
std::uint64_t within(const Type& type, std::uint64_t bits, double most) {
  const double value = decode(type, bits);
  return std::isfinite(value) && std::abs(value) > most ? encode(type, std::fmod(value, most)) : bits;
}

}  // namespace

Demand::Demand(std::string_view text, const Type& type) : type_(type) {
  of_warp_ = take(text, "warp ");
  take(text, "start ");  // of a box: align_starts
  take(text, " ");       // left over by a slot without a value
  if (text.empty()) return;
  if (text == "descriptor" || text == "uniform") {
    kind_ = text == "uniform" ? Kind::uniform : Kind::descriptor;
    return;
  }
  kind_ = take(text, "nibbles ") ? Kind::nibbles
          : take(text, "<=")     ? Kind::magnitude
          : take(text, "!")      ? Kind::none_of
                                 : Kind::one_of;
  if (take(text, "threads")) values_.push_back(kBlockThreads);
  while (!text.empty()) {
    values_.push_back(take_number(text));
    if (take(text, ".."))
      kind_ = Kind::range;
    else if (take(text, "/"))
      step_ = take_number(text);
    else if (!take(text, ",") && !text.empty())
      refuse(text);
  }
}

std::uint64_t Demand::meet(std::uint64_t value, std::size_t block, std::mt19937_64& random) const {
  switch (kind_) {
    case Kind::anything:
      return value;
    case Kind::one_of:
      return values_[random() % values_.size()];
    case Kind::none_of:
      return std::ranges::find(values_, value) == values_.end() ? value : value + 1;
    case Kind::range:
      return values_[0] + value % ((values_[1] - values_[0]) / step_ + 1) * step_;
    case Kind::magnitude:
      return within(type_, value, static_cast<double>(values_[0]));
    case Kind::uniform:
      return block / 8 % 2;
    case Kind::descriptor:
      return descriptor(block);
    case Kind::nibbles:
      break;
  }
  std::uint64_t result = 0;
  for (int at = 0; at < 32; at += 4) result |= values_[random() % values_.size()] << at;
  return result;
}

}  // namespace ptxloom::conform_kernels
