// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/layout.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <tuple>

#include "spec/digits.hpp"
#include "support/errors.hpp"
#include "support/specs.hpp"

namespace ptxloom {
namespace {

constexpr std::string_view kHalf = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

std::string code_of(const Error& error) { return error.diagnostics().front().code; }

TEST_CASE("an element is found by row and column, and by lane") {
  const Layout a = layout(variant(kHalf), "A");
  CHECK(a.rows == 16);
  CHECK(a.cols == 16);
  CHECK(a.registers == 4);
  CHECK(a.bits == 16);
  CHECK(a.type == f16);
  CHECK(a.find(9, 13) == LayoutElement{.lane = 6, .reg = 3, .bit = 16, .row = 9, .col = 13});
  CHECK(a.at(6, 7) == *a.find(9, 13));
  CHECK(a.lane(31).size() == 8);
  CHECK(a.lane(31).front().lane == 31);
  CHECK_FALSE(a.find(16, 0));
  CHECK_FALSE(a.find(0, -1));
  CHECK_FALSE(a.find(0, 0, 1));
}

TEST_CASE("loads and stores of matrices say whose address is that of which row") {
  for (const char* opcode :
       {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}) {
    const Layout map = layout(variant(opcode), "r");
    CHECK(map.matrices == 4);
    REQUIRE(map.addresses().size() == 32);
    for (int lane = 0; lane < 32; ++lane)
      CHECK(map.addresses()[static_cast<std::size_t>(lane)] == LayoutAddress{lane, lane / 8, lane % 8});
  }
  CHECK(layout(variant("ldmatrix.sync.aligned.m8n8.x2.trans.b16"), "D").addresses().size() == 16);
  const Layout sixteen = layout(variant("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"), "r");
  REQUIRE(sixteen.addresses().size() == 32);
  CHECK(sixteen.addresses()[17] == LayoutAddress{17, 1, 1});
}

TEST_CASE("what ldmatrix loads is what mma multiplies") {
  // Four 8x8 matrices of A in the order (0,0) (8,0) (0,8) (8,8) fill its registers in order.
  const Layout loaded = layout(variant("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), "r");
  const Layout a = layout(variant(kHalf), "A");
  for (const LayoutElement& e : loaded.elements()) {
    const auto held = a.find(e.row + e.matrix % 2 * 8, e.col + e.matrix / 2 * 8);
    REQUIRE(held);
    CHECK(std::tuple(held->lane, held->reg, held->bit) == std::tuple(e.lane, e.reg, e.bit));
  }
}

TEST_CASE("fp4 from ldmatrix lies two bits below where mma wants it") {
  const Layout loaded = layout(variant("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64"), "r");
  const Layout a = layout(variant("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32"), "A");
  CHECK(a.bits == 4);
  for (const LayoutElement& e : loaded.elements()) {
    const auto held = a.find(e.row + e.matrix % 2 * 8, e.col + e.matrix / 2 * 16);
    REQUIRE(held);
    CHECK(std::tuple(held->lane, held->reg, held->bit) == std::tuple(e.lane, e.reg, e.bit + 2));
  }
}

TEST_CASE("scale factors are where their selectors say") {
  const Variant v = variant(
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0");
  const Layout a = layout(v, "SA", {{"TA", 1}, {"BA", 2}});
  CHECK(a.rows == 16);
  CHECK(a.cols == 2);
  CHECK(a.block == 32);
  CHECK(a.find(9, 1) == LayoutElement{.lane = 7, .reg = 0, .bit = 24, .row = 9, .col = 1});
  CHECK(layout(v, "SA").find(9, 1)->lane == 5);
  const Layout b = layout(v, "SB", {{"TB", 3}});
  CHECK(b.rows == 8);
  CHECK(b.find(5, 1) == LayoutElement{.lane = 23, .reg = 0, .bit = 8, .row = 5, .col = 1});
  CHECK(b.lane(0).empty());
  CHECK(code_of(error_of([&] { layout(v, "SA", {{"BA", 1}}); })) == "bad-selector");
  CHECK(code_of(error_of([&] { layout(v, "SA", {{"TA", 2}}); })) == "bad-selector");
  CHECK(code_of(error_of([&] { layout(v, "SA", {{"TB", 0}}); })) == "bad-selector");
  const auto hint = [&](int value) {
    return error_of([&] { layout(v, "SA", {{"BA", value}}); }).diagnostics().front().hint;
  };
  CHECK(hint(1) == "it may be 0, 2");
  CHECK(hint(4) == "it may be 0, 2");
}

TEST_CASE("a warpgroup's operand has 128 lanes") {
  const Layout d = layout(variant("wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16"), "D");
  CHECK(d.lanes == 128);
  CHECK(d.find(63, 23) == LayoutElement{.lane = 127, .reg = 11, .bit = 0, .row = 63, .col = 23});
}

TEST_CASE("an operand without a map, an unknown operand and a wrong selector are refused") {
  const Variant add = variant("add.s32");
  CHECK_FALSE(has_layout(add, "D"));
  CHECK(code_of(error_of([&] { layout(add, "D"); })) == "no-layout");
  CHECK(code_of(error_of([&] { layout(add, "Q"); })) == "unknown-operand");
  const Variant load = variant("ldmatrix.sync.aligned.m8n8.x1.b16");
  const Error no_map = error_of([&] { layout(load, "p"); });
  CHECK(code_of(no_map) == "no-layout");
  CHECK(no_map.diagnostics().front().hint.find(" D") != std::string::npos);
  const Variant v = variant(kHalf);
  CHECK(code_of(error_of([&] { layout(v, "A", {{"B", 1}}); })) == "bad-selector");
  CHECK(code_of(error_of([&] { layout(v, "A", {{"TA", 1}}); })) == "unknown-operand");
}

TEST_CASE("digits count from the fastest, selectors choose") {
  using namespace spec;
  const auto digits = parse_digits("2*m8 1*k3 2*=TA 8*m1", {});
  CHECK(digits.size() == 3);
  CHECK(index_count(digits) == 32);
  Coordinates at;
  CHECK(add_coordinates(digits, 1 + 4 * 3, {}, at));
  CHECK(at['m'] == 8 + 3);
  const Selected second[] = {{"TA", 1}};
  CHECK_FALSE(add_coordinates(digits, 0, second, at));
  CHECK(add_coordinates(digits, 2, second, at));
  const Digit half = parse_digits("2*=BA/2", {}).front();
  CHECK(selected_digit(half, 2) == 1);
  CHECK(selected_digit(half, 1) == -1);
  CHECK(selected_digit(half, 4) == -1);
  for (const char* wrong : {"4*", "k2", "*k2", "4*z2", "4*k", "0*k1", "4 k2", "-4*k2", "4*k0", "8192*k1",
                            "4*k99999999999", "4*k2x", "2*=", "2*=BA/", "2*=BA/0"}) {
    INFO(wrong);
    CHECK(code_of(error_of([&] { parse_digits(wrong, {}); })) == "spec-fragment");
  }
}

}  // namespace
}  // namespace ptxloom
