// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/layout.hpp"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>
#include <string>
#include <tuple>

#include "layout/digits.hpp"
#include "spec/form.hpp"
#include "support/errors.hpp"

namespace ptxloom {
namespace {

const Specs& specs() {
  static const Specs shared;
  return shared;
}

Variant variant(std::string_view opcode) {
  INFO(opcode);
  REQUIRE_FALSE(specs().match(opcode).empty());
  return specs().match(opcode).front();
}

Variant mma(const std::string& shape_and_types) { return variant("mma.sync.aligned." + shape_and_types); }

struct Position {
  int row = 0, col = 0;
};
/// Row and column of the i-th element of a lane, as the PTX manual writes them.
using Formula = std::function<Position(int lane, int i)>;

void check_against(Variant v, std::string_view operand, int bits, const Formula& formula) {
  INFO(v.opcode() << " " << operand);
  const Layout map = layout(v, operand);
  CHECK(map.bits == bits);
  CHECK(map.lanes == 32);
  for (int lane = 0; lane < 32; ++lane) {
    const auto elements = map.lane(lane);
    for (int i = 0; i < static_cast<int>(elements.size()); ++i) {
      const auto [row, col] = formula(lane, i);
      const LayoutElement& e = elements[static_cast<std::size_t>(i)];
      INFO("lane " << lane << " element " << i);
      CHECK(e.row == row);
      CHECK(e.col == col);
      CHECK(e.reg * 32 + e.bit == i * bits);
      CHECK(map.find(row, col) == e);
    }
  }
}

// The formulas of the PTX ISA 9.0, 9.7.14.5.1 to 9.7.14.5.13, written down by hand.
int group(int lane) { return lane >> 2; }
int thread(int lane) { return lane % 4; }

TEST_CASE("m16n8k16 of 16-bit types lies as the manual says") {
  for (const char* types : {"f32.f16.f16.f32", "f32.bf16.bf16.f32"}) {
    const Variant v = mma(std::string("m16n8k16.row.col.") + types);
    check_against(v, "A", 16, [](int lane, int i) {
      const int row = (i < 2 || (4 <= i && i < 6)) ? group(lane) : group(lane) + 8;
      return Position{row, thread(lane) * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    });
    check_against(v, "B", 16, [](int lane, int i) {
      return Position{thread(lane) * 2 + (i & 1) + (i >= 2 ? 8 : 0), group(lane)};
    });
    for (const char* accumulator : {"C", "D"}) {
      check_against(v, accumulator, 32, [](int lane, int i) {
        return Position{i < 2 ? group(lane) : group(lane) + 8, thread(lane) * 2 + (i & 1)};
      });
    }
  }
}

TEST_CASE("m16n8k8 of f16 and of tf32 lie as the manual says") {
  const Variant half = mma("m16n8k8.row.col.f16.f16.f16.f16");
  check_against(half, "A", 16, [](int lane, int i) {
    return Position{i < 2 ? group(lane) : group(lane) + 8, thread(lane) * 2 + (i & 1)};
  });
  check_against(half, "B", 16, [](int lane, int i) { return Position{thread(lane) * 2 + i, group(lane)}; });
  check_against(half, "D", 16, [](int lane, int i) {
    return Position{i < 2 ? group(lane) : group(lane) + 8, thread(lane) * 2 + (i & 1)};
  });
  const Variant tf32 = mma("m16n8k8.row.col.f32.tf32.tf32.f32");
  check_against(tf32, "A", 32, [](int lane, int i) {
    return Position{i == 0 || i == 2 ? group(lane) : group(lane) + 8, thread(lane) + (i >= 2 ? 4 : 0)};
  });
  check_against(tf32, "B", 32, [](int lane, int i) { return Position{thread(lane) + 4 * i, group(lane)}; });
}

TEST_CASE("8-bit integers lie as the manual says") {
  const Variant k16 = mma("m16n8k16.row.col.s32.s8.u8.s32"), k32 = mma("m16n8k32.row.col.s32.s8.s8.s32");
  check_against(k16, "A", 8, [](int lane, int i) {
    return Position{i < 4 ? group(lane) : group(lane) + 8, thread(lane) * 4 + (i & 3)};
  });
  check_against(k16, "B", 8, [](int lane, int i) { return Position{thread(lane) * 4 + i, group(lane)}; });
  check_against(k32, "A", 8, [](int lane, int i) {
    const int row = (i < 4 || (8 <= i && i < 12)) ? group(lane) : group(lane) + 8;
    return Position{row, thread(lane) * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  });
  check_against(k32, "B", 8, [](int lane, int i) {
    return Position{thread(lane) * 4 + (i & 3) + (i >= 4 ? 16 : 0), group(lane)};
  });
  check_against(mma("m8n8k16.row.col.s32.s8.s8.s32"), "A", 8,
                [](int lane, int i) { return Position{group(lane), thread(lane) * 4 + i}; });
  check_against(mma("m8n8k16.row.col.s32.s8.s8.s32"), "D", 32,
                [](int lane, int i) { return Position{group(lane), thread(lane) * 2 + i}; });
}

TEST_CASE("f64 lies as the manual says") {
  const Layout a = layout(mma("m16n8k8.row.col.f64.f64.f64.f64"), "A");
  const Layout b = layout(mma("m16n8k8.row.col.f64.f64.f64.f64"), "B");
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      CHECK(a.at(lane, i).row == (i == 0 || i == 2 ? group(lane) : group(lane) + 8));
      CHECK(a.at(lane, i).col == thread(lane) + (i < 2 ? 0 : 4));
      CHECK(a.at(lane, i).reg == i);
    }
    for (int i = 0; i < 2; ++i) {
      CHECK(b.at(lane, i).row == thread(lane) + 4 * i);
      CHECK(b.at(lane, i).col == group(lane));
    }
  }
  CHECK(a.bits == 64);
}

TEST_CASE("m8n8k4 of f16 lies as the manual says, four products at once") {
  const Variant row_col = mma("m8n8k4.row.col.f32.f16.f16.f16"),
                col_row = mma("m8n8k4.col.row.f16.f16.f16.f16");
  const Layout a_row = layout(row_col, "A"), b_col = layout(row_col, "B"), d32 = layout(row_col, "D");
  const Layout a_col = layout(col_row, "A"), b_row = layout(col_row, "B"), d16 = layout(col_row, "D");
  CHECK(a_row.matrices == 4);
  for (int lane = 0; lane < 32; ++lane) {
    const int upper = lane < 16 ? 0 : 4;
    for (int i = 0; i < 4; ++i) {
      CHECK(a_row.at(lane, i).row == lane % 4 + upper);
      CHECK(a_row.at(lane, i).col == i);
      CHECK(a_col.at(lane, i).row == i + upper);
      CHECK(a_col.at(lane, i).col == lane % 4);
      CHECK(b_row.at(lane, i).row == lane % 4);
      CHECK(b_row.at(lane, i).col == i + upper);
      CHECK(b_col.at(lane, i).row == i);
      CHECK(b_col.at(lane, i).col == lane % 4 + upper);
      CHECK(a_row.at(lane, i).matrix == lane % 16 / 4);
    }
    for (int i = 0; i < 8; ++i) {
      CHECK(d16.at(lane, i).row == lane % 4 + upper);
      CHECK(d16.at(lane, i).col == i);
      CHECK(d32.at(lane, i).row == (lane & 1) + (i & 2) + upper);
      CHECK(d32.at(lane, i).col == (i & 4) + (lane & 2) + (i & 1));
    }
  }
}

TEST_CASE("ldmatrix and stmatrix give each lane two elements of a row, or of a column with trans") {
  for (const char* opcode :
       {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", "stmatrix.sync.aligned.m8n8.x4.shared.b16"}) {
    const Layout map = layout(variant(opcode), "r");
    CHECK(map.matrices == 4);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 8; ++i) {
        CHECK(map.at(lane, i) == LayoutElement{.lane = lane,
                                               .reg = i / 2,
                                               .bit = i % 2 * 16,
                                               .row = lane / 4,
                                               .col = lane % 4 * 2 + i % 2,
                                               .matrix = i / 2});
      }
    }
    REQUIRE(map.addresses().size() == 32);
    for (int lane = 0; lane < 32; ++lane) {
      CHECK(map.addresses()[static_cast<std::size_t>(lane)] == LayoutAddress{lane, lane / 8, lane % 8});
    }
  }
  const Layout trans = layout(variant("ldmatrix.sync.aligned.m8n8.x2.trans.b16"), "D");
  CHECK(trans.addresses().size() == 16);
  for (int lane = 0; lane < 32; ++lane) {
    CHECK(trans.at(lane, 1).row == lane % 4 * 2 + 1);
    CHECK(trans.at(lane, 1).col == lane / 4);
  }
  // 8 bits, m16n8: the accumulators of an m16n8 mma, stored so that memory rows run along n.
  const Layout bytes = layout(variant("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8"), "r");
  const Layout accumulators = layout(mma("m16n8k32.row.col.s32.s8.s8.s32"), "D");
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      CHECK(bytes.at(lane, i).row == accumulators.at(lane, i).col);
      CHECK(bytes.at(lane, i).col == accumulators.at(lane, i).row);
    }
  }
}

TEST_CASE("what ldmatrix loads is what mma multiplies") {
  // Four 8x8 matrices of A in the order (0,0) (8,0) (0,8) (8,8) fill its registers in order.
  const Layout loaded = layout(variant("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), "r");
  const Layout a = layout(mma("m16n8k16.row.col.f32.f16.f16.f32"), "A");
  for (const LayoutElement& e : loaded.elements()) {
    const auto held = a.find(e.row + e.matrix % 2 * 8, e.col + e.matrix / 2 * 8);
    REQUIRE(held);
    CHECK(std::tuple(held->lane, held->reg, held->bit) == std::tuple(e.lane, e.reg, e.bit));
  }
}

TEST_CASE("every map is one to one, has no gaps, and is as large as its operand") {
  std::set<std::string> seen;
  for (std::string_view form : specs().forms()) {
    for (Variant v : specs().variants(form)) {
      for (const OperandSpec& operand : v.operands()) {
        const auto map = v.fragment(operand.name);
        if (map.val.empty()) continue;
        const std::string key = map.lane + "/" + map.warp + "/" + map.val + "/" + operand.describe();
        if (!seen.insert(key).second) continue;
        INFO(v.opcode() << " " << operand.name << ": " << key);
        const Layout made = layout(v, operand.name);
        CHECK(made.lanes % 32 == 0);
        std::set<std::tuple<int, int, int>> places;
        for (const LayoutElement& e : made.elements()) {
          places.emplace(e.matrix, e.row, e.col);
          CHECK(e.bit + made.bits <= operand.type.bits);
          CHECK(e.reg < made.registers);
        }
        CHECK(places.size() == made.elements().size());
        CHECK(made.elements().size() == static_cast<std::size_t>(made.rows * made.cols * made.matrices));
        CHECK(static_cast<int>(made.elements().size()) * made.bits ==
              made.lanes * made.registers * operand.type.bits);
        CHECK(made.type.bits == made.bits);
      }
    }
  }
  CHECK(seen.size() > 40);
}

TEST_CASE("an operand without a map, an unknown operand and a wrong selector are refused") {
  const Variant add = variant("add.s32");
  CHECK_FALSE(has_layout(add, "D"));
  CHECK(error_of([&] { layout(add, "D"); }).diagnostics().front().code == "no-layout");
  CHECK(error_of([&] { layout(add, "Q"); }).diagnostics().front().code == "unknown-operand");
  const Variant v = mma("m16n8k16.row.col.f32.f16.f16.f32");
  CHECK(error_of([&] { layout(v, "A", {{"TA", 1}}); }).diagnostics().front().code == "bad-selector");
  const Layout map = layout(v, "A");
  CHECK_FALSE(map.find(16, 0));
  CHECK_FALSE(map.find(0, -1));
}

TEST_CASE("digits count from the fastest, selectors choose") {
  using namespace layout_digits;
  const auto digits = parse("2*m8 2*=TA 8*m1");
  CHECK(index_count(digits) == 32);
  Coordinates at;
  CHECK(add(digits, 1 + 4 * 3, {}, at));
  CHECK(at['m'] == 8 + 3);
  const Selected second[] = {{"TA", 1}};
  CHECK_FALSE(add(digits, 0, second, at));
  CHECK(add(digits, 2, second, at));
  for (const char* wrong : {"4*", "k2", "*k2", "4*z2", "4*k", "0*k1", "4 k2"}) {
    INFO(wrong);
    CHECK(error_of([&] { parse(wrong); }).diagnostics().front().code == "bad-layout");
  }
}

}  // namespace
}  // namespace ptxloom
