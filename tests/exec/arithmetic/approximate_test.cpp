// SPDX-License-Identifier: Apache-2.0
#include "exec/arithmetic/approximate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "exec/harness.hpp"

// Where a polynomial cannot tell how a function is rounded it asks the host's library: that is right as long
// as its error is what it says.
namespace ptxloom::exec::test::approximate_test {

TEMPLATE_TEST_CASE("polynomials are as near to the function as they say", "", PowerOfTwo, HyperbolicTangent,
                   BinaryLogarithm, Sine, Cosine) {
  Random random;
  INFO("seed " << random.seed);
  double most = 0;
  for (int i = 0; i < 400'000; ++i) {
    // A third of any magnitude, a third around 1, a third next to a multiple of pi/4.
    const std::uint64_t bits = random.bits();
    double x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (i % 3 == 1) x = random.uniform(-20, 20);
    if (i % 3 == 2) x = random.below(1 << 12) * 0x1.921fb54442d18p-1;
    x = static_cast<float>(x);
    const double exact = TestType::exact(x), found = TestType::of(x);
    if (TestType::is_far(x) || std::fabs(exact) < 0x1p-160 || std::fabs(exact) > 0x1p160) continue;
    if (exact != exact) {
      CHECK(found != found);
      continue;
    }
    most = std::max(most, std::fabs(found - exact) / std::fabs(exact));
  }
  CHECK(most < kApproximationError);
}

}  // namespace ptxloom::exec::test::approximate_test
