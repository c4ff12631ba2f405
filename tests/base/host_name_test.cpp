// SPDX-License-Identifier: Apache-2.0
#include "base/host_name.hpp"

#include <sys/utsname.h>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("the name of the machine is that of its kernel") {
  utsname kernel{};
  REQUIRE(::uname(&kernel) == 0);
  const std::string name = kernel.nodename;
  CHECK(ptxloom::host_name() == (name.empty() ? "host" : name));
}
