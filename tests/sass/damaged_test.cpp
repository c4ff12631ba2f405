// SPDX-License-Identifier: Apache-2.0
// Cubins that were cut off or changed are read without a fault, or refused in clear words.
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "assembled.hpp"
#include "ptxloom/error.hpp"
#include "sass/listing.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::sass;

/// Reads all that there is. Whether it was a cubin; anything but the two errors that are meant for this
/// fails.
bool read_all(const std::string& bytes) {
  try {
    // A copy of its own, so that the sanitizer notices a byte too many.
    const std::vector<char> copy(bytes.begin(), bytes.end());
    const CubinView view(std::as_bytes(std::span(copy)), "f");
    const Listing listing = list({.cubin = view, .name = "f"});
    CHECK_FALSE(listing_text(listing).empty());
    CHECK_FALSE(listing_json(listing).empty());
    return true;
  } catch (const Error& error) {
    CHECK((error.code() == "bad-cubin" || error.code() == "unknown-target"));
    return false;
  }
}

}  // namespace

TEST_CASE("a cubin that was cut off is told, wherever it ends", "[oracle]") {
  test::targets_or_skip();
  const std::string whole = test::assemble(test::kKernels, "sm_90", "-lineinfo").cubin;
  CHECK(read_all(whole));
  // The table of sections is at the end, or program headers are.
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(read_all(whole.substr(0, size)));
}

TEST_CASE("a cubin with wrong bits is read without a fault", "[oracle]") {
  test::targets_or_skip();
  for (const std::string_view target : {"sm_75", "sm_100"}) {
    const std::string whole = test::assemble(test::kKernels, target, "-lineinfo").cubin;
    std::mt19937 random(std::random_device{}());
    const auto seed = random();
    CAPTURE(target, seed);
    random.seed(seed);
    int read = 0;
    for (int i = 0; i < 800; ++i) {
      std::string changed = whole;
      // Most of the bytes are code, which no reader interprets; so half of the changes are in the headers.
      for (auto flips = 1 + random() % 4; flips > 0; --flips) {
        const std::size_t headers = std::min<std::size_t>(whole.size(), 2048);
        const std::size_t at =
            random() % 2 == 0 ? random() % whole.size() : whole.size() - 1 - random() % headers;
        changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
      }
      read += read_all(changed) ? 1 : 0;
    }
    CHECK(read > 0);
    CHECK(read < 800);
  }
}
