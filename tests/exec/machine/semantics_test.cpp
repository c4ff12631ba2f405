// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/operation.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "exec/harness.hpp"
#include "support/folders.hpp"

namespace ptxloom::exec::test::semantics_test {

TEST_CASE("every form of the specs can be executed, but for those of tests/golden/not_executable.txt") {
  // A form that is new in specs/ shows here: give it semantics in src/exec, or name it there.
  std::ifstream file(ptxloom::test::source_folder() + "/tests/golden/not_executable.txt");
  REQUIRE(file);
  std::set<std::string, std::less<>> without;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with('#')) without.insert(line);
  }
  const auto semantics = semantics_by_form();
  for (const std::string_view form : specs()->forms()) {
    INFO("form " << form);
    const auto named = without.find(form);
    CHECK(semantics.contains(form) != (named != without.end()));
    if (named != without.end()) without.erase(named);
  }
  CHECK(without == decltype(without){});  // names that no form has
}

TEST_CASE("semantics are for forms that exist, each once") {
  const auto forms = specs()->forms();
  std::vector<std::string_view> seen;
  for (const auto family : semantics_families()) {
    for (const Semantics& semantics : family) {
      INFO("form " << semantics.form);
      CHECK(std::ranges::find(forms, semantics.form) != forms.end());
      CHECK(std::ranges::find(seen, semantics.form) == seen.end());
      seen.push_back(semantics.form);
    }
  }
}

TEST_CASE("each form with semantics says how undefined bits pass through it") {
  for (const auto family : semantics_families()) {
    for (const Semantics& semantics : family) {
      INFO("form " << semantics.form);
      CHECK((semantics.flow.rule != FlowRule::undeclared) != (semantics.flow.of_variant != nullptr));
    }
  }
}

TEST_CASE("an instruction without semantics is refused with its text when the kernel is decoded") {
  const std::string body = "tcgen05.fence::before_thread_sync;";
  const Diagnostic d = fault_of([&] { program_of("", body, {}, "sm_100a"); });
  CHECK(d.code == "exec-unsupported");
  CHECK(d.message.find(body) != std::string::npos);
  CHECK(d.line == 7);
}

}  // namespace ptxloom::exec::test::semantics_test
