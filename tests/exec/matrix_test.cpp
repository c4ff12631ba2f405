// SPDX-License-Identifier: Apache-2.0
#include "exec/harness.hpp"

// Expectations are the manual's: thread t of a matrix holds row t / 4, columns 2 * (t % 4) and the next; with
// .trans row and column change places.
namespace ptxloom::exec::test {
namespace {

std::uint16_t element(std::uint32_t matrix, std::uint32_t row, std::uint32_t col) {
  return static_cast<std::uint16_t>(matrix << 8 | row << 4 | col);
}

/// Rows of 16 bytes, 32 of them, permuted: row r of matrix i lies at row place(i, r) of shared memory.
std::uint32_t place(std::uint32_t matrix, std::uint32_t row) { return (matrix * 8 + row) * 5 % 32; }

std::vector<std::uint16_t> memory_image() {
  std::vector<std::uint16_t> image(256);
  for (std::uint32_t i = 0; i < 4; ++i)
    for (std::uint32_t r = 0; r < 8; ++r)
      for (std::uint32_t c = 0; c < 8; ++c) image[place(i, r) * 8 + c] = element(i, r, c);
  return image;
}

const std::string kAddress =
    ".shared .align 16 .b8 s[512]; .reg .u64 %out, %in; .reg .u32 %t, %a, %r<4>, %in32; ld.param.u64 %out, "
    "[out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x;\n"
    "mad.wide.u32 %out, %t, 16, %out; mad.wide.u32 %in, %t, 16, %in;\n"
    // Lane t gives the address of row t % 8 of matrix t / 8.
    "mul.lo.u32 %a, %t, 5; and.b32 %a, %a, 31; mul.lo.u32 %a, %a, 16;\n";

std::string registers(std::uint32_t count) {
  std::string text = "{%r0";
  for (std::uint32_t i = 1; i < count; ++i) text += ", %r" + std::to_string(i);
  return text + "}";
}

}  // namespace

TEST_CASE("ldmatrix gives each lane the elements of its row, or column") {
  for (const std::uint32_t count : {1u, 2u, 4u}) {
    for (const bool trans : {false, true}) {
      const Program program = program_of(
          kOutIn,
          kAddress +
              ".reg .u32 %l; mad.lo.u32 %l, %t, 16, 0; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in]; mov.u32 "
              "%in32, s; add.u32 %l, %l, %in32; st.shared.v4.u32 [%l], {%r0, %r1, %r2, %r3};\n"
              "bar.sync 0; add.u32 %a, %a, %in32; ldmatrix.sync.aligned.m8n8.x" +
              std::to_string(count) + (trans ? ".trans" : "") + ".shared.b16 " + registers(count) +
              ", [%a]; st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n");
      const auto out = run<std::uint16_t>(program, 32, 256, memory_image());
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        for (std::uint32_t i = 0; i < count; ++i) {
          for (std::uint32_t half = 0; half < 2; ++half) {
            const std::uint32_t row = lane / 4, col = lane % 4 * 2 + half;
            CAPTURE(count, trans, lane, i, half);
            REQUIRE(out[lane * 8 + i * 2 + half] == (trans ? element(i, col, row) : element(i, row, col)));
          }
        }
      }
    }
  }
}

TEST_CASE("stmatrix writes what ldmatrix would read") {
  for (const std::uint32_t count : {1u, 2u, 4u}) {
    for (const bool trans : {false, true}) {
      // Register i of a lane holds two elements of matrix i.
      const Program program =
          program_of(kOutIn, kAddress +
                                 ".reg .u32 %l; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in]; mov.u32 %in32, "
                                 "s; add.u32 %a, %a, %in32;\n"
                                 "stmatrix.sync.aligned.m8n8.x" +
                                 std::to_string(count) + (trans ? ".trans" : "") + ".shared.b16 [%a], " +
                                 registers(count) +
                                 ";\nbar.sync 0; mad.lo.u32 %l, %t, 16, %in32; ld.shared.v4.u32 {%r0, %r1, "
                                 "%r2, %r3}, [%l]; st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n");
      std::vector<std::uint16_t> in(256);
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        for (std::uint32_t i = 0; i < 4; ++i)
          for (std::uint32_t half = 0; half < 2; ++half) {
            const std::uint32_t row = lane / 4, col = lane % 4 * 2 + half;
            in[lane * 8 + i * 2 + half] = trans ? element(i, col, row) : element(i, row, col);
          }
      const auto out = run<std::uint16_t>(program, 32, 256, in);
      const auto image = memory_image();
      for (std::uint32_t i = 0; i < 4; ++i)
        for (std::uint32_t r = 0; r < 8; ++r)
          for (std::uint32_t c = 0; c < 8; ++c) {
            CAPTURE(count, trans, i, r, c);
            REQUIRE(out[place(i, r) * 8 + c] == (i < count ? image[place(i, r) * 8 + c] : 0xa5a5));
          }
    }
  }
}

TEST_CASE("movmatrix transposes in registers") {
  const Program program =
      program_of(kOutIn,
                 ".reg .u64 %out, %in; .reg .u32 %t, %r; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; "
                 "mov.u32 %t, %tid.x;\n"
                 "mad.wide.u32 %out, %t, 4, %out; mad.wide.u32 %in, %t, 4, %in; ld.global.u32 %r, [%in];\n"
                 "movmatrix.sync.aligned.m8n8.trans.b16 %r, %r; st.global.u32 [%out], %r;\n");
  std::vector<std::uint16_t> in(64);
  for (std::uint32_t i = 0; i < 64; ++i) in[i] = element(0, i / 2 / 4, i / 2 % 4 * 2 + i % 2);
  const auto out = run<std::uint16_t>(program, 32, 64, in);
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(out[i] == element(0, i / 2 % 4 * 2 + i % 2, i / 2 / 4));
}

TEST_CASE("a row of a matrix must be aligned and within shared memory, where its lane gives the address") {
  const auto run_at = [](const std::string& address, const std::string& count) {
    const Program program =
        program_of(kOutIn, ".shared .align 16 .b8 s[128]; .reg .u32 %t, %a, %r<4>; mov.u32 %t, %tid.x; " +
                               address + " ldmatrix.sync.aligned.m8n8." + count + ".shared.b16 " +
                               registers(count == "x1" ? 1 : 2) + ", [%a];\n");
    static_cast<void>(run<std::uint32_t>(program, 32, 1));
  };
  CHECK_NOTHROW(run_at("mul.lo.u32 %a, %t, 16;", "x1"));  // lanes 8 to 31 point outside, but are not asked
  CHECK(fault_of([&] { run_at("mul.lo.u32 %a, %t, 16;", "x2"); }).code == "out-of-bounds");
  CHECK(fault_of([&] { run_at("mul.lo.u32 %a, %t, 8;", "x1"); }).code == "misaligned");
}

}  // namespace ptxloom::exec::test
