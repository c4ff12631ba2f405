// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"

// Instructions in the body of a kernel that declares what they name: r (.b32), d (.b64), f (.f32), h (.b16)
// and p
// (.pred) from 0 to 8, gv in global, cv in constant and sv in shared memory, and a parameter p.
namespace ptxloom::test {

inline const std::shared_ptr<const Specs>& specs() {
  static const auto shared = std::make_shared<const Specs>();
  return shared;
}

struct Where {
  std::string target = "sm_90a";
  std::string version = "9.0";
};

inline ir::Module read(const std::string& body, const Where& where = {}) {
  const ParseResult result = parse(
      ".version " + where.version + "\n.target " + where.target +
          "\n.address_size 64\n.global .align 16 .b32 gv[4];\n.const .b32 cv[4];\n.entry k(.param .u64 p) {\n"
          ".reg .b32 r<9>; .reg .b64 d<9>; .reg .f32 f<9>; .reg .pred p<9>; .reg .b16 h<9>; .shared .align "
          "16 .b32 "
          "sv[4];\n" +
          body + "\n}\n",
      specs());
  for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(result.ok());
  return result.module;
}

inline std::vector<Diagnostic> check_body(const std::string& body, const Where& where = {}) {
  return check(read(body, where));
}

// The one thing wrong with a body, which must be at its first line.
inline Diagnostic only(const std::string& body, const Where& where = {}) {
  const std::vector<Diagnostic> found = check_body(body, where);
  for (const Diagnostic& d : found) UNSCOPED_INFO(to_string(d));
  REQUIRE(found.size() == 1);
  CHECK(found[0].line == 8);
  return found[0];
}

}  // namespace ptxloom::test
