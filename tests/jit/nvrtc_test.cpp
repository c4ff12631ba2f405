// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "ptxloom/jit.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

constexpr std::string_view kSource = R"(#include <cuda_fp16.h>
template <typename T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }
extern "C" __global__ void halve(__half* x) { x[threadIdx.x] = __hmul(x[threadIdx.x], __float2half(0.5f)); }
)";

}  // namespace

TEST_CASE("CUDA C++ with cuda_fp16.h becomes PTX that links") {
  const Libraries libraries;
  const CompileResult result = NvrtcCompiler(libraries).compile(kSource, {.target = "sm_90a"});
  CHECK(result.ptx.find(".target sm_90a") != std::string::npos);
  CHECK(result.ptx.find(".visible .entry halve") != std::string::npos);
  CHECK(result.cubin.empty());
  CHECK(Linker(libraries).link(result.ptx, {.target = "sm_90a"}).resources.at(0).kernel == "halve");
}

TEST_CASE("CUDA C++ becomes a cubin with the symbols asked for") {
  const CompileResult result = NvrtcCompiler(Libraries())
                                   .compile(kSource, {.target = "sm_80",
                                                      .output = CompileOptions::Output::cubin,
                                                      .name_expressions = {"scale<float>", "scale<int>"}});
  REQUIRE(result.cubin.size() > 4);
  CHECK(std::to_integer<int>(result.cubin[0]) == 0x7f);
  REQUIRE(result.symbols.size() == 2);
  const std::string_view bytes(reinterpret_cast<const char*>(result.cubin.data()), result.cubin.size());
  for (const std::string& symbol : result.symbols) CHECK(bytes.find(symbol) != std::string_view::npos);
  CHECK(result.symbols[0] != result.symbols[1]);
}

TEST_CASE("refused CUDA C++ comes back as errors with their lines") {
  const std::string source = "__global__ void f(int* x) {\n  int unused;\n  x[0] = missing;\n  y = 1;\n}\n";
  const Error error =
      error_of([&] { NvrtcCompiler(Libraries()).compile(source, {.target = "sm_80", .name = "bad.cu"}); });
  CHECK(error.kind() == ErrorKind::link_failure);
  const auto& all = error.diagnostics();
  REQUIRE(all.size() == 4);
  CHECK(all[0].code == "compile-failed");
  const auto at = [&](int line, Severity severity, std::string_view word) {
    return std::ranges::any_of(all, [&](const Diagnostic& d) {
      return d.line == line && d.severity == severity && d.code.starts_with("nvrtc") &&
             d.message.find(word) != std::string::npos;
    });
  };
  CHECK(at(2, Severity::warning, "unused"));
  CHECK(at(3, Severity::error, "missing"));
  CHECK(at(4, Severity::error, "\"y\""));
}

TEST_CASE("a missing header, a bad option and a bad target are told") {
  const NvrtcCompiler compiler{Libraries()};
  const Error header =
      error_of([&] { compiler.compile("#include \"no_such_header.h\"\n", {.target = "sm_80"}); });
  REQUIRE(header.diagnostics().size() > 1);
  CHECK(header.diagnostics()[1].line == 1);
  CHECK(header.diagnostics()[1].message.find("no_such_header.h") != std::string::npos);
  const Error option =
      error_of([&] { compiler.compile("", {.target = "sm_80", .extra = {"--no-such-option"}}); });
  CHECK(std::string(option.what()).find("no-such-option") != std::string::npos);
  CHECK(error_of([&] { compiler.compile("", {.target = "hopper"}); }).diagnostics()[0].code ==
        "bad-compile-option");
  CHECK(error_of([&] { compiler.compile("", {.target = "sm_1"}); }).diagnostics()[0].code ==
        "compile-failed");
}

TEST_CASE("without NVRTC, compiling says how to get it") {
  const TemporaryFolder folder;
  const NvrtcCompiler compiler(Libraries({.folders = {folder.path()}, .system = false}));
  const Error error = error_of([&] { compiler.compile("", {.target = "sm_80"}); });
  CHECK(error.kind() == ErrorKind::missing);
  CHECK(error.diagnostics()[0].code == "no-nvrtc");
}
