// SPDX-License-Identifier: Apache-2.0
#include "exec/harness.hpp"

// Expectations are the manual's: thread t of a matrix holds row t / 4, columns 2 * (t % 4) and the next; with
// .trans row and column change places.
namespace ptxloom::exec::test::matrix_test {
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

TEST_CASE("ldmatrix and stmatrix without a state space take generic addresses, and those of shared memory") {
  const auto program = [](const std::string& address, const std::string& instruction) {
    return program_of(kOutIn, kAddress +
                                  ".reg .u64 %g; mov.u32 %in32, s; add.u32 %a, %a, %in32;\n"
                                  "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in]; st.shared.v4.u32 [%a], "
                                  "{%r0, %r1, %r2, %r3}; bar.sync 0;\n" +
                                  address + instruction + " st.global.u32 [%out], %r0;\n");
  };
  const std::string generic = "cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g;\n",
                    load = "ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%g];",
                    store = "stmatrix.sync.aligned.m8n8.x1.b16 [%g], {%r0};";
  CHECK_NOTHROW(run<std::uint16_t>(program(generic, load), 32, 256, memory_image()));
  CHECK_NOTHROW(run<std::uint16_t>(program(generic, store), 32, 256, memory_image()));
  for (const std::string& instruction : {load, store})
    CHECK_NOTHROW(run<std::uint16_t>(program("cvt.u64.u32 %g, %a;\n", instruction), 32, 256, memory_image()));
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
      // The kernel copies what was never written too.
      const auto out = run<std::uint16_t>(program, 32, 256, in, kUnjudged);
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

namespace {

/// Element `index` of `bits` bits of a row of 16 bytes.
std::uint32_t narrow(const std::vector<std::uint8_t>& image, std::uint32_t row, std::uint32_t index,
                     std::uint32_t bits) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < bits; ++i) {
    const std::uint32_t bit = index * bits + i;
    value |= (image[row * 16 + bit / 8] >> bit % 8 & 1u) << i;
  }
  return value;
}

/// A kernel that fills shared memory with the 16 bytes of each lane and loads `words` matrices.
Program load_program(const std::string& words, std::uint32_t registers_loaded) {
  return program_of(
      kOutIn,
      kAddress +
          ".reg .u32 %l; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in]; mov.u32 %in32, s; mad.lo.u32 "
          "%l, %t, 16, %in32; st.shared.v4.u32 [%l], {%r0, %r1, %r2, %r3};\n"
          "bar.sync 0; add.u32 %a, %a, %in32; ldmatrix.sync.aligned." +
          words + " " + registers(registers_loaded) +
          ", [%a]; st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n",
      {}, "sm_120a");
}

std::vector<std::uint8_t> random_bytes(Random& random) {
  std::vector<std::uint8_t> bytes(512);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  return bytes;
}

}  // namespace

TEST_CASE(
    "ldmatrix of narrow elements gives each a byte of its own, rows along lanes or, transposed, columns") {
  Random random;
  INFO("seed " << random.seed);
  struct Form {
    std::string type;
    std::uint32_t bits;
  };
  for (const Form& form : {Form{"b8", 8}, {"b8x16.b6x16_p32", 6}, {"b8x16.b4x16_p64", 4}}) {
    for (const bool wide : {false, true}) {
      for (const std::uint32_t count : {1u, 2u, 4u}) {
        if (wide ? count == 4 : form.bits == 8) continue;
        const std::uint32_t loaded = wide ? 2 * count : count, rows = wide ? 16 : 8;
        const auto in = random_bytes(random);
        const auto out =
            run<std::uint8_t>(load_program((wide ? "m16n16.x" : "m8n16.x") + std::to_string(count) +
                                               (wide ? ".trans" : "") + ".shared." + form.type,
                                           loaded),
                              32, 512, in);
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
          for (std::uint32_t byte = 0; byte < 4 * loaded; ++byte) {
            const std::uint32_t reg = byte / 4, matrix = wide ? reg / 2 : reg;
            const std::uint32_t row = wide ? lane % 4 * 4 + byte % 4 : lane / 4,
                                column = wide ? lane / 4 + reg % 2 * 8 : lane % 4 * 4 + byte % 4;
            CAPTURE(form.type, wide, count, lane, byte);
            // Lane matrix * rows + row gives that row's address.
            REQUIRE(out[lane * 16 + byte] == narrow(in, (matrix * rows + row) * 5 % 32, column, form.bits));
          }
        }
      }
    }
  }
}

TEST_CASE("stmatrix of bytes writes columns of 8 lanes as rows") {
  Random random;
  INFO("seed " << random.seed);
  for (const std::uint32_t count : {1u, 2u, 4u}) {
    const Program program = program_of(
        kOutIn,
        kAddress +
            ".reg .u32 %l; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in]; mov.u32 %in32, s; add.u32 %a, %a, "
            "%in32;\nstmatrix.sync.aligned.m16n8.x" +
            std::to_string(count) + ".trans.shared.b8 [%a], " + registers(count) +
            ";\nbar.sync 0; mad.lo.u32 %l, %t, 16, %in32; ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%l]; "
            "st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n",
        {}, "sm_120a");
    const auto in = random_bytes(random);
    const auto out = run<std::uint8_t>(program, 32, 512, in, kUnjudged);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      for (std::uint32_t byte = 0; byte < 4 * count; ++byte) {
        const std::uint32_t row = lane % 4 * 2 + byte % 2, column = lane / 4 + byte % 4 / 2 * 8;
        CAPTURE(count, lane, byte);
        REQUIRE(out[place(byte / 4, row) * 16 + column] == in[lane * 16 + byte]);
      }
    }
  }
}

}  // namespace ptxloom::exec::test::matrix_test
