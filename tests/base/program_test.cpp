// SPDX-License-Identifier: Apache-2.0
#include "base/program.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace ptxloom;
using namespace std::chrono_literals;

TEST_CASE("a program is run to its end, and no longer than its limit") {
  const auto shell = [](const char* text, std::chrono::milliseconds limit) {
    return run_program("/bin/sh", {"-c", text}, limit);
  };
  for (const std::chrono::milliseconds limit : {0ms, 60'000ms}) {
    const Ended good = shell("echo one; echo two >&2", limit);
    CHECK(good.success);
    CHECK(good.output == "one\ntwo\n");
    CHECK_FALSE(shell("exit 3", limit).success);
  }
  const auto begin = std::chrono::steady_clock::now();
  const Ended late = shell("echo one; exec sleep 100", 300ms);
  CHECK_FALSE(late.success);
  CHECK(late.output == "it did not end in 0.3 seconds");
  CHECK(std::chrono::steady_clock::now() - begin < 50s);
  // More than a pipe holds.
  CHECK(shell("head -c 300000 /dev/zero", 60'000ms).output.size() == 300000);
}
