// SPDX-License-Identifier: Apache-2.0
#include "conform/tolerance.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "ptxloom/numeric.hpp"

namespace ptxloom::conform_kernels {
namespace {

// The distance to the next larger magnitude.
double ulp_of(const Type& type, double value) {
  const std::uint64_t bits = encode(type, std::abs(value));
  return decode(type, bits + 1) - decode(type, bits);
}

}  // namespace

Tolerance::Tolerance(std::string_view text) {
  constexpr std::array kUnits = {std::pair{std::string_view("ulp:"), Unit::ulp},
                                 std::pair{std::string_view("rel:"), Unit::relative},
                                 std::pair{std::string_view("abs:"), Unit::absolute}};
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    for (const auto& [name, unit] : kUnits) {
      if (!one.starts_with(name)) continue;
      double number = 0;
      std::from_chars(one.data() + name.size(), one.data() + one.size(), number);
      bounds_.push_back({unit, unit == Unit::ulp ? number : std::exp2(number)});
    }
  }
}

bool Tolerance::allows(const Type& element, int bytes, std::uint64_t device, std::uint64_t executor) const {
  if (device == executor) return true;
  if (bounds_.empty() || !element.is_float()) return false;
  const std::uint64_t mask = element.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << element.bits) - 1;
  for (int at = 0; at < 8 * bytes; at += element.bits) {
    if (!near(element, device >> at & mask, executor >> at & mask)) return false;
  }
  return true;
}

bool Tolerance::near(const Type& type, std::uint64_t device, std::uint64_t executor) const {
  if (device == executor) return true;
  const double x = decode(type, device), y = decode(type, executor);
  if (!std::isfinite(x) || !std::isfinite(y) || y == 0) return false;
  const double ulp = ulp_of(type, y);
  double largest = 0;
  for (const Bound& bound : bounds_) {
    const double unit = bound.unit == Unit::ulp ? ulp : bound.unit == Unit::relative ? std::abs(y) : 1;
    largest = std::max(largest, bound.amount * unit);
  }
  return std::abs(x - y) <= largest + ulp / 2;
}

}  // namespace ptxloom::conform_kernels
