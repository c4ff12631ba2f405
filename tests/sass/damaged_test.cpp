// SPDX-License-Identifier: Apache-2.0
// Cubins that were cut off or changed are read without a fault, or refused in clear words.
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "assembled.hpp"
#include "ptxloom/error.hpp"
#include "sass/issue/issue_model.hpp"
#include "sass/lint/lint.hpp"
#include "sass/listing/listing.hpp"
#include "sass/listing/own_text.hpp"

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

void flip_bit(std::string& bytes, std::size_t at, std::mt19937& random) {
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
}

/// Wrong bits in one of three instructions, and in two other places.
std::string with_wrong_code(const std::string& whole, std::mt19937& random) {
  std::string changed = whole;
  const auto bytes = std::as_bytes(std::span(whole));
  const CubinView view(bytes, "f");
  for (const CubinFunction& function : view.functions()) {
    const auto begin = static_cast<std::size_t>(function.code.data() - bytes.data());
    for (std::size_t flips = function.code.size() / kInstructionBytes / 3; flips > 0; --flips)
      flip_bit(changed, begin + random() % function.code.size(), random);
  }
  for (int flips = 0; flips < 2; ++flips) flip_bit(changed, random() % changed.size(), random);
  return changed;
}

/// The model and the lint of what can be read. Its text is the library's own: nvdisasm does not read every
/// code.
bool study(const std::string& bytes) {
  try {
    const CubinView view(std::as_bytes(std::span(bytes)), "f");
    Listing listing = list({.cubin = view, .name = "f"});
    CHECK_FALSE(model_text(issue_model(listing, view.chip(), {.quick = true})).empty());
    const OwnText own(view.chip());
    for (ListedFunction& function : listing.functions) own.complete(function);
    CHECK_FALSE(lint_text(lint(listing, view.chip(), true)).empty());
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
    const auto seed = std::random_device{}();
    CAPTURE(target, seed);
    std::mt19937 random(seed);
    int read = 0;
    for (int i = 0; i < 800; ++i) {
      std::string changed = whole;
      // Most of the bytes are code, which no reader interprets; so half of the changes are in the headers.
      for (auto flips = 1 + random() % 4; flips > 0; --flips) {
        const std::size_t headers = std::min<std::size_t>(whole.size(), 2048);
        const std::size_t at =
            random() % 2 == 0 ? random() % whole.size() : whole.size() - 1 - random() % headers;
        flip_bit(changed, at, random);
      }
      read += read_all(changed) ? 1 : 0;
    }
    CHECK(read > 0);
    CHECK(read < 800);
  }
}

TEST_CASE("code with wrong bits is modelled and checked without a fault", "[oracle]") {
  test::targets_or_skip();
  for (const std::string_view target : {"sm_80", "sm_90a", "sm_120"}) {
    const std::string whole = test::assemble(test::kKernels, target, "").cubin;
    const auto seed = std::random_device{}();
    CAPTURE(target, seed);
    std::mt19937 random(seed);
    int read = 0;
    for (int i = 0; i < 30; ++i) read += study(with_wrong_code(whole, random)) ? 1 : 0;
    CHECK(read > 0);
  }
}
