// SPDX-License-Identifier: Apache-2.0
// Tuning templates in a worker on the executor.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/tuner.hpp"
#include "support/errors.hpp"
#include "support/small_templates.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::template_test {
namespace {

TuneResult tuned(const Template& kernel_template, const Settings& problem) {
  const TemporaryFolder folder;
  const Context context({.device = "cpu", .records_folder = folder / "records"});
  return tune_template(context, kernel_template,
                       {.problem = problem, .budget = {}, .seed = Catch::getSeed(), .devices = {"cpu"}});
}

/// What became of each candidate: the code of its problem by its fault.
std::map<std::string, std::string> outcomes(const TuneResult& result) {
  std::map<std::string, std::string> codes;
  for (const tune::Measurement& one : result.search.candidates)
    codes[one.config.at("fault")] = one.problem ? one.problem->code : "";
  return codes;
}

}  // namespace

TEST_CASE("the tuner compares every output of a template") {
  const std::map<std::string, std::string> wanted = {
      {"none", ""}, {"wrong_y", "wrong-result"}, {"wrong_z", "wrong-result"}, {"hole_in_z", "wrong-result"}};
  CHECK(outcomes(tuned(TwoOutputs(), {{"n", "77"}})) == wanted);
  for (const auto& [fault, code] : outcomes(tuned(TwoOutputs(), {{"n", "77"}, {"forget_z", "1"}})))
    CHECK(code == "missing-expectation");
}

TEST_CASE("the tuner runs all launches of a template, and clears what they say") {
  const std::map<std::string, std::string> wanted = {{"none", ""},
                                                     {"first_only", "wrong-result"},
                                                     {"second_only", "wrong-result"},
                                                     {"exchanged", "wrong-result"},
                                                     {"y_not_cleared", "wrong-result"}};
  CHECK(outcomes(tuned(ColumnSums(), {{"rows", "11"}, {"n", "45"}})) == wanted);
}

TEST_CASE("inputs that a template makes reach the workers") {
  CHECK(outcomes(tuned(Gather(), {{"n", "71"}})) == std::map<std::string, std::string>{{"none", ""}});
}

}  // namespace ptxloom::test::template_test
