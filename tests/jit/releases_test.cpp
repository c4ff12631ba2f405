// SPDX-License-Identifier: Apache-2.0
// What an nvJitLink of one release of CUDA can serve, and what is said where it cannot.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <string>

#include "jit/ptx_header.hpp"
#include "ptxloom/jit.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string kernel(Version ptx, std::string_view target) {
  return fmt::format(
      "// .version 1.0 is a comment\n.version {}\n.target {}\n.address_size 64\n.visible .entry k() {{ ret; "
      "}}\n",
      to_string(ptx), target);
}

Error link_error(const Linker& linker, Version ptx, const std::string& target) {
  return error_of([&] { linker.link(kernel(ptx, target), {.target = target}); });
}

}  // namespace

TEST_CASE("the head of a PTX text is read without the rest") {
  CHECK(jit::ptx_version_of(kernel({8, 7}, "sm_80")) == Version{8, 7});
  CHECK(jit::ptx_version_of("/* .version 7.0 */ .version 8.1 // .version 9.0\n") == Version{8, 1});
  CHECK_FALSE(jit::ptx_version_of(".version new\n"));
  CHECK_FALSE(jit::ptx_version_of("/* .version 7.0"));
  CHECK_FALSE(jit::ptx_version_of(""));
  CHECK(jit::directive_argument(".version 8.0\n.target sm_90a, debug\n", ".target") == "sm_90a");
}

TEST_CASE("PTX newer than the linker is a missing component, with the release that reads it") {
  const Linker linker{Libraries()};
  const ToolkitInfo* const own = find_toolkit(linker.version());
  REQUIRE(own != nullptr);
  CHECK(linker.link(kernel(own->ptx, "sm_80"), {.target = "sm_80"}).cubin.size() > 4);
  if (own == &toolkits().back()) SKIP("this nvJitLink is of the newest release that is known");
  const ToolkitInfo& next = own[1];
  const Error error = link_error(linker, next.ptx, "sm_80");
  CHECK(error.kind() == ErrorKind::missing);
  CHECK(error.code() == "linker-too-old");
  CHECK_THAT(error.what(), ContainsSubstring(".version " + to_string(next.ptx)) &&
                               ContainsSubstring("reads PTX up to " + to_string(own->ptx)) &&
                               ContainsSubstring("CUDA " + to_string(next.cuda)));
  CHECK_THAT(error.diagnostics().front().hint,
             ContainsSubstring("nvidia-nvjitlink>=" + to_string(next.cuda)));
}

TEST_CASE("a target that is newer than the linker is refused with the release that has it") {
  const Linker linker{Libraries()};
  const ToolkitInfo* const own = find_toolkit(linker.version());
  for (const TargetInfo& target : targets()) {
    if (target.since <= own->ptx) continue;
    CAPTURE(target.name);
    const Error error = link_error(linker, target.since, std::string(target.name));
    CHECK(error.kind() == ErrorKind::missing);
    CHECK(error.code() == "linker-too-old");
    CHECK_THAT(error.what(),
               ContainsSubstring(std::string(target.name) + " needs PTX " + to_string(target.since)));
    CHECK_FALSE(linker.serves(target.name));
  }
}

TEST_CASE("a PTX version of no known release says so, and a target that no chip has is bad usage") {
  const Linker linker{Libraries()};
  const Error version = link_error(linker, {99, 0}, "sm_80");
  CHECK(version.code() == "linker-too-old");
  CHECK_THAT(version.what(), ContainsSubstring(".version 99.0") && ContainsSubstring("no release of CUDA"));
  const Error target = link_error(linker, {7, 0}, "sm_999");
  CHECK(target.kind() == ErrorKind::usage);
  CHECK(target.code() == "bad-link-option");
  CHECK_THAT(target.what(), ContainsSubstring("does not know the target sm_999"));
}

TEST_CASE("a linker of a release that is not known yet is asked itself") {
  const Linker linker{Libraries({.folders = {newer_linker_folder()}, .system = false})};
  CHECK(linker.version() == Version{99, 0});
  CHECK(linker.link(kernel({99, 0}, "sm_80"), {.target = "sm_80"}).cubin.size() == 4);
  CHECK(linker.link(kernel({99, 0}, "sm_999a"), {.target = "sm_999a"}).cubin.size() == 4);
}

TEST_CASE(
    "the newest nvJitLink that ./dev fetched links for every target, and what needs nothing new likewise") {
  const ToolkitInfo& newest = toolkits().back();
  const std::filesystem::path folder =
      ptxloom::test::build_folder() + "/toolkits/" + to_string(newest.cuda) + "/nvidia/cu13/lib";
  if (!std::filesystem::exists(folder)) SKIP("./dev test fetches it");
  const Linker linker{Libraries({.folders = {folder}, .system = false})};
  CHECK(linker.version() == newest.cuda);
  for (const TargetInfo& target : targets()) {
    CAPTURE(target.name);
    const std::string name(target.name);
    CHECK(linker.serves(name));
    CHECK(linker.link(kernel(newest.ptx, name), {.target = name}).cubin.size() > 4);
    CHECK(linker.link(kernel(target.since, name), {.target = name}).cubin.size() > 4);
  }
  CHECK(link_error(linker, {newest.ptx.major, newest.ptx.minor + 1}, "sm_80").code() == "linker-too-old");
}
