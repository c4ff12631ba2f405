// SPDX-License-Identifier: Apache-2.0
// `.file` and `.loc` of what the builder emits.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <set>

#include "ptxloom/builder.hpp"
#include "ptxloom/ptx.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::lines_test {
namespace {

using Catch::Matchers::ContainsSubstring;

std::shared_ptr<const Specs> shared_specs() {
  static const auto instance = std::make_shared<const Specs>();
  return instance;
}

constexpr int kFirst = __LINE__ + 5;
ir::Module lines(bool on) {
  KernelBuilder k(shared_specs(), "lines", Target("sm_80"));
  k.source_lines(on);

  const Pointer out = k.pointer(u32, "out");
  const Reg i = k.special("tid.x");

  k.store(out[i], k.add(i, 1));
  k.source_lines(false);
  k.barrier();
  return k.finish();
}

}  // namespace

TEST_CASE("each instruction has the C++ line that emits it, on request") {
  CHECK_THAT(print(lines(false)), !ContainsSubstring(".loc") && !ContainsSubstring(".file"));
  const ir::Module module = lines(true);
  REQUIRE(module.files.size() == 1);
  CHECK(module.files[0].index == 1);
  CHECK(module.files[0].name == "\"" + std::string(std::source_location::current().file_name()) + "\"");
  const ir::Function& kernel = module.functions[0];
  std::vector<int> found;
  for (const ir::Location& location : kernel.locations) {
    CHECK(location.place.file == 1);
    CHECK(location.place.column > 0);
    found.push_back(static_cast<int>(location.place.line));
  }
  // The sum and its store stand in one line, in two columns.
  CHECK(found == std::vector<int>{kFirst, kFirst + 1, kFirst + 3, kFirst + 3});
  using Kind = ir::Statement::Kind;
  REQUIRE(kernel.body.size() > 4);
  CHECK(kernel.body[0].kind == Kind::location);
  CHECK(kernel.body[1].kind == Kind::instruction);
  const ParseResult read = parse(print(module), shared_specs());
  REQUIRE(read.ok());
  CHECK(print(read.module) == print(module));
  CHECK(read.module.functions[0].locations.size() == 4);
  CHECK(read.module.files.size() == 1);
}

TEST_CASE("the machine code knows the C++ lines", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const TemporaryFolder folder;
  const std::filesystem::path cubin = folder / "lines.cubin";
  const CommandResult result = Ptxas(*path + " -lineinfo").assemble(print(lines(true)), "sm_80", cubin);
  INFO(result.output);
  REQUIRE(result.status == 0);
  std::ifstream file(cubin, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  CHECK_THAT(bytes.str(), ContainsSubstring("lines_test.cpp") && ContainsSubstring(".debug_line"));
}

}  // namespace ptxloom::lines_test
