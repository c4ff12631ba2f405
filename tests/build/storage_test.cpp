// SPDX-License-Identifier: Apache-2.0
// Every type of the library as an array, a parameter, an element and a register: what the builder takes is
// legal PTX, and ptxas assembles it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "build/evaluate.hpp"
#include "ptxloom/builder.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/errors.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::storage_test {
namespace {

using Catch::Matchers::ContainsSubstring;

std::shared_ptr<const Specs> shared_specs() {
  static const auto instance = std::make_shared<const Specs>();
  return instance;
}

struct Stored {
  Type type;
  std::string_view as;  // "": it has no storage
};
// By the manual's table of fundamental types, and the size of each format.
const Stored kTypes[] = {
    {b8, "b8"},    {b16, "b16"},  {b32, "b32"},  {b64, "b64"}, {b128, "b128"}, {s8, "s8"},      {s16, "s16"},
    {s32, "s32"},  {s64, "s64"},  {u8, "u8"},    {u16, "u16"}, {u32, "u32"},   {u64, "u64"},    {f16, "b16"},
    {bf16, "b16"}, {tf32, "b32"}, {f32, "f32"},  {f64, "f64"}, {f16x2, "b32"}, {bf16x2, "b32"}, {e4m3, "b8"},
    {e5m2, "b8"},  {ue8m0, "b8"}, {ue4m3, "b8"}, {e2m1, ""},   {e3m2, ""},     {e2m3, ""},      {s4, ""},
    {u4, ""},      {b1, ""},      {pred, ""}};

KernelBuilder builder(const Type& type) {
  return {shared_specs(), "stores_" + std::string(type.name), Target("sm_90a")};
}

ir::Module everything(const Type& type) {
  KernelBuilder k = builder(type);
  const Shared array = k.shared(type, 8, "array");
  const Reg value = k.param(type, "value");
  const Pointer in = k.pointer(type, "in"), out = k.pointer(type, "out");
  const Reg i = k.special("tid.x");
  k.store("shared", type, k.at(array, 2 * type.bytes()), value);
  k.barrier();
  k.store(out[i], k.load("shared", type, k.at(array, 2 * type.bytes())));
  k.store(out[3], k.load(in[i]));
  k.reg(type);
  return k.finish();
}

}  // namespace

TEST_CASE("every type is stored as its bits, or refused with what to do") {
  for (const auto& [type, as] : kTypes) {
    CAPTURE(type.name);
    if (as.empty()) {
      KernelBuilder k = builder(type);
      const Pointer x = k.pointer(type, "x");
      const Shared bytes = k.shared(b8, 8, "bytes");
      const std::function<void()> uses[] = {[&] { k.shared(type, 8, "array"); },
                                            [&] { k.param(type, "value"); },
                                            [&] { k.load(x[0]); },
                                            [&] { k.store(x[k.reg(u32)], k.reg(type)); },
                                            [&] { k.load("shared", type, k.at(bytes)); },
                                            [&] { k.store("shared", type, k.at(bytes), k.reg(type)); }};
      for (const auto& use : uses) {
        const Error error = error_of(use);
        CHECK(error.diagnostics().front().code == "type-without-storage");
        CHECK_THAT(error.what(), ContainsSubstring("stores_" + std::string(type.name)) &&
                                     ContainsSubstring(type == pred ? "select" : "b8") &&
                                     ContainsSubstring("storage_test.cpp"));
      }
      continue;
    }
    const ir::Module module = everything(type);
    for (const Diagnostic& found : check(module)) UNSCOPED_INFO(to_string(found));
    CHECK(check(module).empty());
    const std::string text = print(module), dotted = "." + std::string(as);
    CHECK_THAT(text, ContainsSubstring(".shared " + dotted + " array[8];"));
    CHECK_THAT(text, ContainsSubstring(".param " + dotted + " value"));
    CHECK_THAT(text, ContainsSubstring("ld.param" + dotted) && ContainsSubstring("ld.global" + dotted) &&
                         ContainsSubstring("st.shared" + dotted) && ContainsSubstring("st.global" + dotted));
    const ParseResult read = parse(text, shared_specs());
    CHECK(read.ok());
    CHECK(check(read.module).empty());
  }
}

TEST_CASE("every type as the builder stores it is assembled", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const auto& [type, as] : kTypes) {
    if (as.empty()) continue;
    const CommandResult result = ptxas.assemble(print(everything(type)), "sm_90a");
    CAPTURE(type.name, result.output);
    CHECK(result.status == 0);
  }
}

TEST_CASE("a pair of e2m1 is in a register of 8 bits, as cvt requires, and four of them are packed") {
  KernelBuilder k(shared_specs(), "pairs", Target("sm_100a"));
  const Pointer out = k.pointer(b32, "out");
  const Reg one = k.mov(f32, 1.0F);
  const Reg pair = k.op("cvt.rn.satfinite.e2m1x2.f32", one, one);
  CHECK(pair.type.name == "e2m1x2");
  const Reg word = k.pack(b32, std::vector{pair, pair, pair, pair});
  const std::vector<Reg> again = k.unpack(pair.type, word);
  REQUIRE(again.size() == 4);
  k.store(out[0], k.op("cvt.rn.f16x2.e2m1x2", again[3]));
  const ir::Module module = k.finish();
  CHECK(check(module).empty());
  CHECK_THAT(print(module), ContainsSubstring(".reg .b8") && ContainsSubstring("mov.b32 {"));
}

}  // namespace ptxloom::storage_test
