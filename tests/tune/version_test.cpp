// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/version.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "ptxloom/record.hpp"

using namespace ptxloom;

static_assert(PTXLOOM_VERSION_NUMBER / 10000 == PTXLOOM_VERSION_MAJOR);
static_assert(PTXLOOM_VERSION_NUMBER / 100 % 100 == PTXLOOM_VERSION_MINOR);
static_assert(PTXLOOM_VERSION_NUMBER % 100 == PTXLOOM_VERSION_PATCH);
#if PTXLOOM_VERSION_NUMBER < 100
#error "the preprocessor does not read PTXLOOM_VERSION_NUMBER"
#endif

TEST_CASE("the library is of the version that its headers say") {
  CHECK(library_version() == PTXLOOM_VERSION);
  CHECK(std::string(PTXLOOM_VERSION) == std::to_string(PTXLOOM_VERSION_MAJOR) + "." +
                                            std::to_string(PTXLOOM_VERSION_MINOR) + "." +
                                            std::to_string(PTXLOOM_VERSION_PATCH));
}
