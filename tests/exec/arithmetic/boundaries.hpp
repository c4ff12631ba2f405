// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/numeric_format.hpp"

namespace ptxloom::exec::test {

/// Where formats turn, 36 magnitudes of both signs: both ends of the subnormal, the normal and the NaN, what
/// lies around 1 and beside it by half of its last bit, few bits, and factors whose product is next to an
/// end.
inline std::vector<std::uint64_t> boundaries(const base::FloatFormat& f) {
  using Bits = std::uint64_t;
  const auto m = static_cast<unsigned>(f.mantissa_bits);
  const Bits least = Bits{1} << m, half = Bits{1} << m / 2, one = f.one(), end = f.infinity(),
             root = one / 2 & ~(least - 1), large = ((one + end) / 2 & ~(least - 1)) - least;
  std::vector<Bits> result{0,
                           1,
                           2,
                           least / 2,
                           least - 1,
                           least,
                           least + 1,
                           least + 2,
                           one - 1,
                           one,
                           one + 1,
                           one + 2,
                           one + least / 2,
                           one + half,
                           one + (Bits{1} << (m + 1) / 2) - 1,
                           one + least,
                           one - least,
                           one - m * least,        // the last bit of 1
                           one - (m + 1) * least,  // its half, and what is next to that
                           one - (m + 1) * least + 1,
                           one - (m + 1) * least - 1,
                           one - (m + 2) * least,
                           one + (m + 1) * least + 1,
                           root,
                           root + 1,
                           root - 1,
                           root + half,
                           root + 8 * least + half,
                           large,
                           large + half,
                           end - least,
                           end - 1,
                           end,
                           end + 1,
                           end + least - 1,
                           m < 11 ? Bits{0x7ff7} : end + least / 2};
  for (std::size_t i = 0; i < 36; ++i) result.push_back(result[i] | f.sign(true));
  return result;
}

}  // namespace ptxloom::exec::test
