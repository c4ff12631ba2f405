// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <ptxloom/type.hpp>
#include <ptxloom/version.hpp>

static_assert(PTXLOOM_VERSION_NUMBER >= 100);

int main() {
  const auto type = ptxloom::find_type("bf16");
  if (!type || type->bits != 16) {
    std::puts("bf16 is missing from the library");
    return 1;
  }
  std::puts("ptxloom works");
}
