// SPDX-License-Identifier: Apache-2.0
// What Specs return is used when the Specs are gone: a sanitizer sees what dangles.
#include <catch2/catch_test_macros.hpp>

#include "spec/variant.hpp"
#include "support/errors.hpp"
#include "support/overlay.hpp"

namespace ptxloom {
namespace {

void check_probe(const Variant& variant, const Target& target) {
  CHECK(variant.form() == "probe");
  CHECK(variant.opcode() == "probe.f24");
  CHECK(variant.slot("t") == "f24");
  REQUIRE(variant.operands().size() == 3);
  CHECK(variant.operand("A").type.name == "f24");
  CHECK(variant.operand("A").describe() == "f24");
  CHECK(variant.pieces().size() == 3);
  CHECK(variant.fragment("D").lane == "4*n2 8*m1");
  CHECK(variant.since(target) == Version{9, 0});
  CHECK_FALSE(variant.undocumented());
  CHECK(error_of([&] { variant.operand("none"); }).code() == "unknown-operand");
}

/// What `take` returns of specs that are gone then. Nothing else keeps them.
template <class Take>
auto taken(const test::ProbeOverlay& overlay, const Take& take) {
  const Specs specs(overlay.folders());
  return take(specs);
}

TEST_CASE("a target of an overlay outlives its specs") {
  const test::ProbeOverlay overlay;
  const Target target = taken(overlay, [](const Specs& specs) { return specs.target("sm_130a"); });
  CHECK(target.name() == "sm_130a");
  CHECK(target.info().shared_per_sm == 2000);
  const std::vector<Target> targets = taken(overlay, [](const Specs& specs) { return specs.targets(); });
  CHECK(targets.back() == target);
  CHECK(Target(targets.back()).satisfies(target.info()));
}

TEST_CASE("a variant outlives its specs, however it was found") {
  const test::ProbeOverlay overlay;
  const Target target = taken(overlay, [](const Specs& specs) { return specs.target("sm_130a"); });
  check_probe(taken(overlay, [](const Specs& specs) { return specs.match("probe.f24").front(); }), target);
  check_probe(taken(overlay, [](const Specs& specs) { return specs.match_form("probe.f24", 0).front(); }),
              target);
  check_probe(taken(overlay, [](const Specs& specs) { return specs.variants("probe").front(); }), target);
  check_probe(
      taken(overlay, [&](const Specs& specs) { return specs.select("probes", {{"t", "f24"}}, target); }),
      target);
  check_probe(
      taken(overlay, [&](const Specs& specs) { return *specs.find("probes", {{"t", "f24"}}, target); }),
      target);
  const Variant compiled_in =
      taken(overlay, [](const Specs& specs) { return specs.match("add.s32").front(); });
  CHECK(compiled_in.operands().size() == 3);
  CHECK(Variant(compiled_in) == compiled_in);
}

TEST_CASE("a diagnostic outlives its specs") {
  const test::ProbeOverlay overlay;
  const Diagnostic wrong =
      taken(overlay, [](const Specs& specs) { return specs.explain("probe.f25", specs.target("sm_130a")); });
  CHECK(wrong.hint.find("probe") != std::string::npos);
}

}  // namespace
}  // namespace ptxloom
