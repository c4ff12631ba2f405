// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string_view>

#include "conform/subject.hpp"
#include "ptxloom/context.hpp"

namespace ptxloom::test {

/// The subject of an opcode on the context's target.
inline conform_kernels::Subject subject_of(const Context& context, std::string_view form,
                                           std::string_view opcode) {
  for (const conform_kernels::Subject& subject :
       conform_kernels::subjects(context.specs(), form, context.target())) {
    if (subject.variant.opcode() == opcode) return subject;
  }
  FAIL("no subject " << opcode);
  return {};
}

}  // namespace ptxloom::test
