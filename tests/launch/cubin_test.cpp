// SPDX-License-Identifier: Apache-2.0
#include "launch/cubin.hpp"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "fake_cubin.hpp"

using ptxloom::launch::damage_of_cubin;

TEST_CASE("a whole cubin is sound, and every truncation of it is told") {
  const std::vector<std::byte> whole = fake_cubin();
  CHECK_FALSE(damage_of_cubin(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(damage_of_cubin(std::span(whole).first(size)));
  }
}

TEST_CASE("what is no GPU code is told") {
  std::vector<std::byte> bytes = fake_cubin();
  bytes[EI_CLASS] = std::byte{ELFCLASS32};
  CHECK(damage_of_cubin(bytes) == "it is not a 64-bit ELF file");
  bytes = fake_cubin(EM_X86_64);
  CHECK(damage_of_cubin(bytes) == "it is not GPU code");
  bytes[0] = std::byte{'#'};
  CHECK(damage_of_cubin(bytes) == "it is not an ELF file");
}
