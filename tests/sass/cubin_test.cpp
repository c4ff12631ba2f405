// SPDX-License-Identifier: Apache-2.0
// CubinView against what ptxas says of the kernels it assembles, for all its targets.
#include <elf.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "assembled.hpp"
#include "sass/cubin/cubin_view.hpp"
#include "support/errors.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::sass;
using ptxloom::test::assemble;
using ptxloom::test::Assembled;
using ptxloom::test::kKernels;

int number(const std::string& text, const std::string& pattern) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(pattern)) ? std::stoi(found[1]) : 0;
}

/// What ptxas -v prints of a kernel.
std::string report_of(const std::string& log, std::string_view kernel) {
  const std::size_t begin = log.find("Compiling entry function '" + std::string(kernel) + "'");
  REQUIRE(begin != log.npos);
  return log.substr(begin, log.find("Compiling", begin + 1) - begin);
}

const CubinFunction& function_of(const CubinView& view, std::string_view name) {
  const auto found = std::ranges::find(view.functions(), name, &CubinFunction::name);
  REQUIRE(found != view.functions().end());
  return *found;
}

}  // namespace

TEST_CASE("resources are those that ptxas reports, for every target", "[oracle]") {
  for (const TargetInfo& target : test::targets_or_skip()) {
    CAPTURE(target.name);
    const Assembled built = assemble(kKernels, target.name, "-v -lineinfo");
    const CubinView view(built.bytes(), "k.cubin");
    CHECK(view.chip() == target.number);
    CHECK(view.target() == fmt::format("sm_{}{}", target.number, target.suffix == 'a' ? "a" : ""));
    CHECK_FALSE(view.relocatable());
    CHECK(view.functions().size() == 3);
    for (const std::string_view kernel : {"shares", "spills", "calls"}) {
      CAPTURE(kernel);
      const CubinFunction& function = function_of(view, kernel);
      const std::string report = report_of(built.log, kernel);
      CHECK(function.kernel);
      CHECK(function.registers == number(report, R"(Used (\d+) registers)"));
      CHECK(function.barriers == number(report, R"(used (\d+) barriers)"));
      CHECK(function.frame == number(report, R"((\d+) bytes stack frame)"));
      CHECK(function.stack == number(report, R"((\d+) bytes cumulative stack size)"));
      // From sm_90 on the variables come after 1024 bytes of the driver's, which ptxas does not report.
      const int shared = number(report, R"((\d+) bytes smem)");
      CHECK(function.shared == shared + (shared > 0 && target.number >= 90 ? 1024 : 0));
      CHECK(function.code.size() % 16 == 0);
    }
  }
}

TEST_CASE("parameters, extents and labels of kernels", "[oracle]") {
  test::targets_or_skip();
  const Assembled built = assemble(kKernels, "sm_90", "");
  const CubinView view(built.bytes(), "k.cubin");
  const CubinFunction& shares = function_of(view, "shares");
  REQUIRE(shares.parameters.size() == 3);
  CHECK(shares.parameters[0].offset == 0);
  CHECK(shares.parameters[0].size == 8);
  CHECK(shares.parameters[1].offset == 8);
  CHECK(shares.parameters[1].size == 1);
  CHECK(shares.parameters[2].offset == 16);
  CHECK(shares.parameters[2].size == 16);
  CHECK(shares.parameter_bytes == 32);
  CHECK(shares.block == std::array{96, 2, 1});
  CHECK(shares.max_block == std::array{0, 0, 0});
  CHECK(shares.max_registers == 0);
  CHECK(shares.cluster == std::array{2, 1, 1});
  const CubinFunction& spills = function_of(view, "spills");
  CHECK(spills.max_block == std::array{128, 1, 1});
  CHECK(spills.max_registers == 40);
  const CubinFunction& calls = function_of(view, "calls");
  REQUIRE(calls.labels.size() == 2);
  CHECK(calls.labels[0].name == "calls");
  CHECK(calls.labels[0].offset == 0);
  CHECK(calls.labels[1].name == "$calls$square");
  CHECK(calls.labels[1].offset > 0);
}

TEST_CASE("parameters of more than 4096 bytes", "[oracle]") {
  test::targets_or_skip();
  const Assembled built = assemble(
      ".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .b32 a, .param .align 16 .b8 b[20000]) "
      "{ ret; }\n",
      "sm_90", "");
  const CubinView view(built.bytes(), "k.cubin");
  const std::vector<CubinParameter>& parameters = view.functions()[0].parameters;
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[0].size == 4);
  CHECK(parameters[1].offset == 16);
  CHECK(parameters[1].size == 20000);
}

TEST_CASE("what was linked of object files has the lines of all their texts", "[oracle]") {
  test::targets_or_skip();
  const std::optional<std::string> nvlink = find_cuda_tool("nvlink");
  if (!nvlink) SKIP("nvlink is not installed");
  const std::string head = ".version 9.0\n.target sm_90\n.address_size 64\n";
  const Assembled caller = assemble(head + R"(.extern .func (.reg .b32 o) twice(.reg .b32 i);
.visible .entry one(.param .b64 p)
{
  .reg .b64 d; .reg .b32 r<3>;
  ld.param.b64 d, [p];
  ld.global.b32 r0, [d];
  call (r1), twice, (r0);
  st.global.b32 [d], r1;
  ret;
}
)",
                                    "sm_90", "-c -lineinfo");
  const Assembled callee = assemble(
      head + ".visible .func (.reg .b32 o) twice(.reg .b32 i)\n{\n  mul.lo.s32 o, i, 17;\n  ret;\n}\n",
      "sm_90", "-c -lineinfo");
  const TemporaryFolder folder;
  std::ofstream(folder / "a.cubin") << caller.cubin;
  std::ofstream(folder / "b.cubin") << callee.cubin;
  const CommandResult linked = run_command(
      fmt::format("cd '{}' && '{}' -arch=sm_90 a.cubin b.cubin -o l.cubin", (folder / "").string(), *nvlink));
  INFO(linked.output);
  REQUIRE(linked.status == 0);
  std::ifstream in(folder / "l.cubin", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto text_of = [](const CubinView& view, std::string_view name) {
    const std::vector<std::string_view> ptx = view.ptx_text();
    std::string text;
    for (const LineRow& row : view.ptx_lines(function_of(view, name)).rows)
      if (row.line > 0) text += std::string(ptx.at(static_cast<std::size_t>(row.line) - 1)) + "\n";
    return text;
  };
  const CubinView object(caller.bytes(), "a.cubin"), all(std::as_bytes(std::span(bytes)), "l.cubin");
  CHECK(object.relocatable());
  for (const CubinView* view : {&object, &all}) {
    CHECK(text_of(*view, "one").find("ld.global") != std::string::npos);
    CHECK(text_of(*view, "one").find("mul.lo") == std::string::npos);
  }
  CHECK(text_of(all, "twice").find("mul.lo") != std::string::npos);
  CHECK(text_of(all, "twice").find("ld.global") == std::string::npos);
}

TEST_CASE("an instruction is of the line of PTX, and of the source line, that it was made of", "[oracle]") {
  test::targets_or_skip();
  const Assembled built = assemble(kKernels, "sm_90", "-lineinfo");
  const CubinView view(built.bytes(), "k.cubin");
  const std::vector<std::string_view> ptx = view.ptx_text();
  for (const CubinFunction& function : view.functions()) {
    CAPTURE(function.name);
    const LineTable lines = view.ptx_lines(function), source = view.source_lines(function);
    std::string used;
    REQUIRE(lines.rows.size() > 2);
    for (std::uint64_t at = 0; at < function.code.size(); at += 16) {
      const LineRow* const row = lines.find(at);
      if (row == nullptr) continue;
      REQUIRE(row->line <= static_cast<int>(ptx.size()));
      used += ptx[static_cast<std::size_t>(row->line) - 1];
      used += '\n';
    }
    CHECK(used.find(function.name == "shares"  ? "st.shared"
                    : function.name == "calls" ? "mul.lo"
                                               : "fma.rn") != used.npos);
    CHECK((source.find(0) != nullptr) == (function.name == "calls"));
  }
  const LineTable source = view.source_lines(function_of(view, "calls"));
  REQUIRE(source.files.size() == 1);
  CHECK(source.files[0] == "/folder/source.cu");
  std::set<int> numbers;
  for (const LineRow& row : source.rows) numbers.insert(row.line);
  CHECK(numbers.contains(10));
  CHECK(numbers.contains(20));
  CHECK(source.find(function_of(view, "calls").code.size() + 16) == nullptr);
}

TEST_CASE("an object file is read, and said to be one", "[oracle]") {
  test::targets_or_skip();
  const Assembled built = assemble(kKernels, "sm_80", "-c");
  const CubinView view(built.bytes(), "k.o");
  CHECK(view.relocatable());
  CHECK(function_of(view, "shares").barriers == 4);
}

TEST_CASE("what is no cubin is named") {
  const auto code_of = [](const std::string& bytes) {
    return error_of([&] { CubinView(std::as_bytes(std::span(bytes)), "f"); }).diagnostics()[0].message;
  };
  CHECK(code_of("") == "f is no cubin: it is not an ELF file");
  CHECK(code_of("\x50\xED\x55\xBA fatbin") == "f is no cubin: it is a fatbin, which holds cubins");
  CHECK(code_of("\x7F"
                "ELF") == "f is no cubin: it is truncated");
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(self), {}};
  CHECK(code_of(program) == "f is no cubin: it is not GPU code");
}
