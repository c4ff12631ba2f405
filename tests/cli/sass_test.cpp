// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <regex>

#include "cli/scale_ptx.hpp"
#include "cli/tool.hpp"
#include "support/require.hpp"

namespace ptxloom::test::sass_test {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// The cubin of the sample; the test is skipped without nvJitLink.
std::filesystem::path compiled(const TemporaryFolder& folder) {
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult result = run_tool({"compile", folder / "scale.ptx", "--target", "sm_90a"});
  if (result.code == 3) skip_without("nvjitlink", "nvJitLink is missing: " + result.err);
  REQUIRE(result.code == 0);
  return folder / "scale.cubin";
}

/// A program in the place of nvdisasm, which prints this text but for its version.
std::string fake_nvdisasm(const TemporaryFolder& folder, const std::string& text, int code) {
  const std::filesystem::path program = folder / "nvdisasm";
  write_text(folder / "text", text);
  write_text(program, "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'release 11.8, V11.8.86'; exit; }\ncat '" +
                          (folder / "text").string() + "'\nexit " + std::to_string(code) + "\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return program;
}

template <typename Part>
void append(std::string& text, const Part& part) {
  text.append(reinterpret_cast<const char*>(&part), sizeof part);
}

/// An object file of x86-64 with a section of this name, which holds the names.
std::string host_elf(const std::string& section) {
  const std::string names = '\0' + section + '\0';
  Elf64_Ehdr head{};
  std::copy_n(ELFMAG, SELFMAG, head.e_ident);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_REL;
  head.e_machine = EM_X86_64;
  head.e_version = EV_CURRENT;
  head.e_shoff = sizeof head;
  head.e_ehsize = sizeof head;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 2;
  head.e_shstrndx = 1;
  Elf64_Shdr table{};
  table.sh_name = 1;
  table.sh_type = SHT_STRTAB;
  table.sh_offset = sizeof head + 2 * sizeof table;
  table.sh_size = names.size();
  std::string file;
  append(file, head);
  append(file, Elf64_Shdr{});
  append(file, table);
  return file + names;
}

}  // namespace

TEST_CASE("sass shows PTX beside machine code, as text, JSON and HTML") {
  const TemporaryFolder folder;
  compiled(folder);
  const std::string ptx = folder / "scale.ptx";
  const ToolResult text = run_tool({"sass", ptx, "--target", "sm_90a", "--no-nvdisasm"});
  REQUIRE(text.code == 0);
  CHECK(std::regex_search(text.out, std::regex(R"(kernel scale: \d+ registers)")));
  CHECK(std::regex_search(
      text.out, std::regex(R"(  ld\.global\.f32 .* \| [0-9a-f]{4} \[.{4}:B.{6}:R.:W\d:.:S\d\d\] .*LDG R)")));
  const json listing =
      run_json({"sass", ptx, "--target", "sm_90a", "--no-nvdisasm", "--format", "json"}, "sass");
  CHECK(listing["target"] == "sm_90a");
  CHECK(listing["nvdisasm"].is_null());
  REQUIRE(listing["functions"].size() == 1);
  int loads = 0;
  for (const json& one : listing["functions"][0]["instructions"]) {
    if (one["opcode"] != "LDG") continue;
    ++loads;
    CHECK_THAT(listing["ptx"][one["ptx_line"].get<std::size_t>() - 1].get<std::string>(),
               ContainsSubstring("ld.global"));
    CHECK(one["write"].is_number());
  }
  CHECK(loads > 0);
  const ToolResult html = run_tool({"sass", ptx, "--target", "sm_90a", "--no-nvdisasm", "--format", "html"});
  CHECK(html.code == 0);
  CHECK(html.out.starts_with("<!DOCTYPE html>"));
  CHECK_THAT(html.out, ContainsSubstring("LDG R"));
}

TEST_CASE("sass reads a cubin, and says where its line table is missing") {
  const TemporaryFolder folder;
  const ToolResult result = run_tool({"sass", compiled(folder), "--no-nvdisasm"});
  CHECK(result.code == 0);
  CHECK_THAT(result.err, ContainsSubstring("no line table"));
  CHECK_THAT(result.out, ContainsSubstring("kernel scale"));
}

TEST_CASE("sass takes the text of nvdisasm, and says what is wrong with it") {
  const TemporaryFolder folder, tools;
  const std::string cubin = compiled(folder);
  const auto with = [&](const std::string& program) {
    return run_tool({"sass", cubin}, {{"PTXLOOM_NVDISASM", program}});
  };
  const ToolResult good = with(fake_nvdisasm(
      tools, "\t.section\t.text.scale,\"ax\",@progbits\n.L_x_7:\n        /*0010*/      @P0 FAKE.X R1 ;\n",
      0));
  CHECK(good.code == 0);
  CHECK_THAT(good.out, ContainsSubstring("text by nvdisasm 11.8"));
  CHECK(std::regex_search(good.out, std::regex(R"(\.L_x_7:\n.*0010 \[.*\] @P0 FAKE\.X R1\n)")));
  const ToolResult old = with(fake_nvdisasm(tools, "nvdisasm fatal   : Unknown architecture\n", 255));
  CHECK(old.code == 0);
  CHECK_THAT(old.err, ContainsSubstring("nvdisasm 11.8 cannot read this cubin: nvdisasm fatal   : Unknown "
                                        "architecture [nvdisasm-failed]"));
  CHECK_THAT(old.out, ContainsSubstring("text by ptxloom"));
  CHECK_THAT(old.err, ContainsSubstring("a newer one may"));
  const ToolResult bad =
      with(fake_nvdisasm(tools, "nvdisasm error   : Bad section\nnvdisasm info    : Done\n", 1));
  CHECK_THAT(bad.err, ContainsSubstring("cannot read this cubin: nvdisasm error   : Bad section [") &&
                          !ContainsSubstring("a newer one may"));
  const ToolResult other = with(fake_nvdisasm(tools, "", 0));  // some other program
  CHECK(other.code == 0);
  CHECK_THAT(other.err, ContainsSubstring("it printed no section [nvdisasm-failed]"));
  CHECK_THAT(other.out, ContainsSubstring("text by ptxloom"));
  const ToolResult none = with("/nowhere/nvdisasm");
  CHECK(none.code == 0);
  CHECK_THAT(none.err, ContainsSubstring("[no-nvdisasm]") && ContainsSubstring("pip install"));
}

TEST_CASE("sass refuses what is neither PTX nor a cubin, with exit code 2") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "file";
  const auto refusal = [&](const std::string& content) {
    write_text(file, content);
    const ToolResult result = run_tool({"sass", file});
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK_THAT(refusal("some words"), ContainsSubstring("[no-target]"));
  CHECK_THAT(refusal(""), ContainsSubstring("is empty [no-target]"));
  CHECK_THAT(refusal("\x7f"
                     "ELF and no more"),
             ContainsSubstring("it is truncated [bad-cubin]"));
  CHECK_THAT(refusal(std::string("\x50\xed\x55\xba\0\0", 6)), ContainsSubstring("it is a fatbin"));
  CHECK_THAT(refusal(std::string("!<arch>\n/\0", 10)), ContainsSubstring("it is a static library"));
  CHECK_THAT(refusal(host_elf(".nv_fatbin")), ContainsSubstring("it is a file of the host, which holds"));
  CHECK_THAT(refusal(host_elf("__nv_relfatbin")), ContainsSubstring("it is a file of the host, which holds"));
  std::string big = host_elf(".rodata");
  big[EI_DATA] = ELFDATA2MSB;
  CHECK_THAT(refusal(big), ContainsSubstring("it is a big-endian ELF file"));
  CHECK_THAT(refusal(host_elf(".rodata")), ContainsSubstring("it is not GPU code"));
  CHECK(run_tool({"sass", compiled(folder), "--target", "sm_90a"}).code == 2);
}

}  // namespace ptxloom::test::sass_test
