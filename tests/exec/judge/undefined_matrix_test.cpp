// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

// Undefined bits on their way through the instructions that move and multiply matrices: each element by
// itself, as the data flows.
namespace ptxloom::exec::test::undefined_matrix_test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kHead =
    ".shared .align 128 .b8 s[8192]; .reg .u64 %out, %in, %at, %da, %db; .reg .u32 %t, %row, %col, %x, %y, "
    "%i; .reg .b32 %a<8>, %b<8>, %u<4>; .reg .f32 %d<8>, %c<8>; .reg .f64 %e<2>, %ea, %eb; .reg .pred %p, "
    "%q; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mad.wide.u32 %at, %t, 4, "
    "%out; and.b32 %row, %t, 15; mov.u32 %x, s; mad.lo.u32 %row, %row, 32, %x; mad.lo.u32 %y, %t, 64, %x;\n";

std::string code(const std::string& body, std::uint32_t threads = 32) {
  INFO(body);
  try {
    run<std::uint32_t>(program_of(kOutIn, kHead + body), threads, 512, std::vector<std::uint32_t>(64));
  } catch (const Error& error) {
    return error.diagnostics().at(0).code;
  }
  return "none";
}

/// Thread t sets 64 bytes, all of a kilobyte and more; `but` are bytes that it leaves out, in one thread.
std::string fill(int thread = -1, int word = 0) {
  std::string text = "setp.ne.u32 %p, %t, " + std::to_string(thread) + ";\n";
  for (int i = 0; i < 16; ++i) {
    const std::string guard = i == word ? "@%p " : "";
    text += guard + "st.shared.u32 [%y+" + std::to_string(4 * i) + "], 0;\n";
  }
  return text + "bar.sync 0;\n";
}
/// Only the lanes for which `condition` (of %t) holds store `reg`.
std::string store_in(const std::string& condition, const std::string& reg) {
  return condition + " @%q st.global.b32 [%at], " + reg + ";\n";
}
std::string lane(int number) { return "setp.eq.u32 %q, %t, " + std::to_string(number) + ";"; }
std::string not_lane(int number) { return "setp.ne.u32 %q, %t, " + std::to_string(number) + ";"; }

const std::string kLoad = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%row];\n";
const std::string kZeros =
    "mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; mov.b32 %a3, 0; mov.b32 %b0, 0; mov.b32 %b1, 0; mov.f32 "
    "%c0, 0f00000000; mov.f32 %c1, 0f00000000; mov.f32 %c2, 0f00000000; mov.f32 %c3, 0f00000000;\n";
const std::string kMma =
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, "
    "%b1}, {%c0, %c1, %c2, %c3};\n";
const std::string kAll = "setp.lt.u32 %q, %t, 32;";

}  // namespace

TEST_CASE("ldmatrix takes the undefined bits of shared memory along") {
  CHECK(code(fill() + kLoad + store_in(kAll, "%a0")) == "none");
  CHECK(code(kLoad) == "none");
  CHECK(code(kLoad + store_in(kAll, "%a0")) == "undefined-value");
  // Row 3 of the first and third matrix, bytes 4 to 7: lane 13 has them.
  const std::string hole = fill(1, 8 + 1) + kLoad;  // byte 64 + 36 of shared memory
  CHECK(code(hole + store_in(lane(13), "%a0")) == "undefined-value");
  CHECK(code(hole + store_in(not_lane(13), "%a0") + store_in(kAll, "%a1") + store_in(not_lane(13), "%a2") +
             store_in(kAll, "%a3")) == "none");
  // Transposed: column 3, rows 2 and 3 of the matrix are in the lanes 4 * 2 + 1 and 4 * 3 + 1.
  const std::string turned = "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%a0}, [%row];\n";
  CHECK(code(fill(1, 9) + turned + store_in(lane(9), "%a0")) == "undefined-value");
  CHECK(code(fill(1, 9) + turned + store_in(lane(13), "%a0")) == "undefined-value");
  CHECK(code(fill(1, 9) + turned +
             store_in("setp.ne.u32 %q, %t, 9; setp.ne.and.u32 %q, %t, 13, %q;", "%a0")) == "none");
}

TEST_CASE("stmatrix and movmatrix carry undefined bits element by element") {
  // Lane 5 holds row 1, columns 2 and 3.
  const std::string one =
      "setp.ne.u32 %p, %t, 5; @%p mov.b32 %u0, 0; and.b32 %i, %t, 7; mov.u32 %x, s; "
      "mad.lo.u32 %row, %i, 16, %x; mad.lo.u32 %y, %t, 4, %x;\n";
  const std::string store =
      "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%row], {%u0}; bar.warp.sync -1;"
      "ld.shared.b32 %a0, [%y];\n";
  CHECK(code(one + store + store_in(lane(5), "%a0")) == "undefined-value");
  CHECK(code(one + store + store_in(not_lane(5), "%a0")) == "none");
  const std::string move = "movmatrix.sync.aligned.m8n8.trans.b16 %a0, %u0;\n";  // to columns 1, rows 2 and 3
  CHECK(code(one + move + store_in(lane(8), "%a0")) == "undefined-value");
  CHECK(code(one + move + store_in(lane(12), "%a0")) == "undefined-value");
  CHECK(code(one + move + store_in("setp.ne.u32 %q, %t, 8; setp.ne.and.u32 %q, %t, 12, %q;", "%a0")) ==
        "none");
  // Of the two halves of the register only one.
  CHECK(code(one + move + "and.b32 %a0, %a0, 0xffff;" + store_in(lane(8), "%a0")) == "none");
  CHECK(code(one + move + "and.b32 %a0, %a0, 0xffff0000;" + store_in(lane(8), "%a0")) == "undefined-value");
}

TEST_CASE("an element of a product is undefined by its row of A, its column of B and its addend") {
  CHECK(code(kZeros + kMma + store_in(kAll, "%d3")) == "none");
  // A: lane 5, register 0 is row 1: lanes 4 to 7 of the first two results.
  const std::string row = kZeros + "setp.eq.u32 %p, %t, 5; selp.b32 %a0, %u0, 0, %p;\n" + kMma;
  for (const int at : {4, 5, 6, 7}) CHECK(code(row + store_in(lane(at), "%d0")) == "undefined-value");
  CHECK(code(row + store_in(lane(5), "%d1")) == "undefined-value");
  CHECK(code(row + store_in("shr.u32 %i, %t, 2; setp.ne.u32 %q, %i, 1;", "%d0") + store_in(kAll, "%d2") +
             store_in(kAll, "%d3")) == "none");
  // B: lane 9 is column 2, which register 0 and 2 of the lanes with t % 4 = 1 have.
  const std::string column = kZeros + "setp.eq.u32 %p, %t, 9; selp.b32 %b1, %u0, 0, %p;\n" + kMma;
  for (const int at : {1, 5, 9, 29}) {
    CHECK(code(column + store_in(lane(at), "%d0")) == "undefined-value");
    CHECK(code(column + store_in(lane(at), "%d2")) == "undefined-value");
  }
  CHECK(code(column + store_in("and.b32 %i, %t, 3; setp.ne.u32 %q, %i, 1;", "%d0") + store_in(kAll, "%d1") +
             store_in(kAll, "%d3")) == "none");
  // C, in place.
  const std::string addend = kZeros + "setp.eq.u32 %p, %t, 9; selp.b32 %c1, %u0, 0, %p;\n" + kMma;
  CHECK(code(addend + store_in(lane(9), "%d1")) == "undefined-value");
  CHECK(code(addend + store_in(not_lane(9), "%d1") + store_in(kAll, "%d0")) == "none");
}

TEST_CASE("uninitialised shared memory that becomes a product is found where that is stored") {
  const Diagnostic d = fault_of([&] {
    run<std::uint32_t>(program_of(kOutIn, kHead + kZeros + fill(7, 0) + kLoad + kMma + store_in(kAll, "%d2")),
                       32, 512, std::vector<std::uint32_t>(64));
  });
  CHECK(d.code == "undefined-value");
  // Thread 7 leaves out row 14: lanes 24 to 27 of the third result.
  CHECK_THAT(d.message, ContainsSubstring("`@%q st.global.b32 [%at], %d2;`") &&
                            ContainsSubstring("lane 24)") && ContainsSubstring("stores %d2"));
}

TEST_CASE("products of f64, of sparse matrices and of scaled ones") {
  const std::string wide =
      "mov.f64 %ea, 0d0000000000000000; mov.f64 %eb, %ea; mov.f64 %e0, %ea; mov.f64 %e1, "
      "%ea; setp.eq.u32 %p, %t, 5; selp.f64 %ea, %ew, %ea, %p; "
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e0, %e1}, {%ea}, {%eb}, {%e0, "
      "%e1}; cvt.rn.f32.f64 %d0, %e0;\n";
  CHECK(code(".reg .f64 %ew;" + wide + store_in(lane(6), "%d0")) == "undefined-value");
  CHECK(code(".reg .f64 %ew;" + wide + store_in(lane(8), "%d0")) == "none");
  // Stored elements 0 and 1 of each row meet rows 0 and 1 of B (metadata 0x4 for all): what is further down
  // in each four does not matter.
  const std::string sparse =
      kZeros +
      "mov.b32 %i, 0x44444444; setp.eq.u32 %p, %t, COL; selp.b32 %b0, %u0, 0, %p;\n"
      "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, "
      "%a1}, {%b0, %b1}, {%c0, %c1, %c2, %c3}, %i, 0x0;\n";
  const auto with = [&](int column) {
    std::string text = sparse;
    return text.replace(text.find("COL"), 3, std::to_string(column));
  };
  CHECK(code(with(8) + store_in(lane(1), "%d0")) == "undefined-value");  // rows 0 and 1 of column 2
  CHECK(code(with(9) + store_in(lane(1), "%d0")) == "none");             // rows 2 and 3
}

TEST_CASE("wmma carries undefined bits through its fragments") {
  const std::string load =
      "mov.u32 %x, s; wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%a0, %a1, %a2, %a3, %a4, %a5, %a6, "
      "%a7}, [%x], 16; wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%b0, %b1, %b2, %b3, %b4, %b5, %b6, "
      "%b7}, [%x+512], 16;\n";
  const std::string clear =
      "mov.f32 %c0, 0f00000000; mov.f32 %c1, %c0; mov.f32 %c2, %c0; mov.f32 %c3, %c0; mov.f32 %c4, %c0; "
      "mov.f32 %c5, %c0; mov.f32 %c6, %c0; mov.f32 %c7, %c0;\n";
  const std::string multiply =
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, {%a0, %a1, "
      "%a2, %a3, %a4, %a5, %a6, %a7}, {%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}, {%c0, %c1, %c2, %c3, %c4, "
      "%c5, %c6, %c7};\n";
  const std::string out =
      "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%out], {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, "
      "16;";
  // Through shared memory, from where one row is stored.
  const std::string back =
      "bar.warp.sync -1; wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%x+1024], {%d0, %d1, %d2, %d3, "
      "%d4, %d5, %d6, "
      "%d7}, 16; bar.warp.sync -1; and.b32 %i, %t, 15; mad.lo.u32 %i, %i, 4, %x; ld.shared.b32 %u1, "
      "[%i+ROW];";
  const auto row = [&](int number) {
    std::string text = back;
    return text.replace(text.find("ROW"), 3, std::to_string(1024 + 64 * number)) + store_in(kAll, "%u1");
  };
  CHECK(code(fill() + load + clear + multiply + out) == "none");
  CHECK(code(fill() + load + multiply + out) == "undefined-value");
  CHECK(code(fill(2, 3) + load + clear + multiply + out) == "undefined-value");
  // Thread 2 leaves out bytes 140 to 143 of A: row 4.
  CHECK(code(fill(2, 3) + load + clear + multiply + row(4)) == "undefined-value");
  CHECK(code(fill(2, 3) + load + clear + multiply + row(3) + row(5)) == "none");
}

TEST_CASE("wgmma carries what is undefined in shared memory into its accumulators") {
  const std::string multiply =
      "fence.proxy.async; bar.sync 0; mov.u64 %db, 0x800000008; wgmma.fence.sync.aligned; "
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %db, %db, 0, 1, 1, 0, 0; "
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
  // Start 128, the same leading offset 0 and stride 128: row 3 begins at 128 + 48, k from 8 on is the same.
  CHECK(code(fill() + multiply + "st.global.f32 [%at], %d0;", 128) == "none");
  CHECK(code(multiply + "st.global.f32 [%at], %d0;", 128) == "undefined-value");
}

TEST_CASE("bulk copies and atomic operations keep what is undefined in shared memory") {
  const std::string copy =
      "mov.u32 %x, s; fence.proxy.async; cp.async.bulk.global.shared::cta.bulk_group [%out], [%x], 64; "
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
  const std::string words =
      "st.shared.v4.b32 [s], {1, 2, 3, 4}; st.shared.v4.b32 [s+16], {1, 2, 3, 4}; st.shared.v4.b32 [s+32], "
      "{1, "
      "2, 3, 4};";
  CHECK(code(words + "st.shared.v4.b32 [s+48], {1, 2, 3, 4};" + copy, 1) == "none");
  CHECK(code(words + copy, 1) == "undefined-value");
  CHECK(code("atom.shared.add.u32 %x, [s], 1; st.global.u32 [%out], %x;", 1) == "undefined-value");
  CHECK(code("red.shared.add.u32 [s], 1; ld.shared.u32 %x, [s]; st.global.u32 [%out], %x;", 1) ==
        "undefined-value");
  CHECK(code("st.shared.u32 [s], 5; red.shared.add.u32 [s], 1; ld.shared.u32 %x, [s]; st.global.u32 [%out], "
             "%x;",
             1) == "none");
  CHECK(code("atom.shared.exch.b32 %y, [s], 1; ld.shared.u32 %x, [s]; st.global.u32 [%out], %x;", 1) ==
        "none");
}

}  // namespace ptxloom::exec::test::undefined_matrix_test
