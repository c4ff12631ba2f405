// SPDX-License-Identifier: Apache-2.0
// wgmma: products in every layout, their precision, and what is undefined or forbidden before the wait.
#include "exec/matrix/wgmma_harness.hpp"

namespace ptxloom::exec::test::wgmma_test {

TEST_CASE("wgmma is the product of matrices in shared memory and registers, in every layout") {
  Random random;
  INFO("seed " << random.seed);
  for (const Form& form : forms()) {
    for (int i = 0; i < 6; ++i) check(random, form);
  }
  check(random, {f16, f16, f32, 256});
  check(random, {bf16, bf16, f32, 256, true});
}

TEST_CASE("wgmma keeps 13 bits of 8-bit floats, 25 of others") {
  const auto sum = [](Type type, double c) {
    const Form form{type, type, f32, 8};
    Problem problem{{type, 64, form.k()}, {type, form.k(), 8}, {f32, 64, 8}, {}};
    for (std::uint64_t& bits : problem.b.bits) bits = narrow::encode(type, 1);
    problem.a(21, 0) = narrow::encode(type, 256);
    problem.a(21, 5) = narrow::encode(type, -256);
    problem.a(21, 7) = narrow::encode(type, 0x1p-9);
    problem.d(21, 3) = narrow::encode(f32, c);
    const Tile a{.swizzle = k32, .stride = 256}, b{.swizzle = k32, .start = 65536, .stride = 256};
    return run_wgmma(form, {}, problem, a, b).value(21, 3);
  };
  CHECK(sum(e5m2, 0) == 0);
  CHECK(sum(f16, 0) == 0x1p-9);
  // What an f32 keeps of its own: 0x1.ffffp8 has 16 bits.
  CHECK(sum(e4m3, 0x1.ffffp8) == 0x1.fff8p8);
  CHECK(sum(f16, 0x1.ffffp8) == 0x1.ffffp8 + 0x1p-9);
}

TEST_CASE("fp8 into f16 is aligned however small all products are") {
  const Tile tile_a{.swizzle = k32, .stride = 256}, tile_b{.swizzle = k32, .start = 65536, .stride = 256};
  // 2^-12 * 2^-13 is a tie between zero and the least f16, and 2^-14 * 2^-14 decides it.
  const Form form{e5m2, e5m2, f16, 8};
  Problem problem{{e5m2, 64, 32}, {e5m2, 32, 8}, {f16, 64, 8}, {}};
  problem.a(21, 5) = narrow::encode(e5m2, 0x1p-12);
  problem.b(5, 3) = narrow::encode(e5m2, 0x1p-13);
  CHECK(run_wgmma(form, {}, problem, tile_a, tile_b)(21, 3) == 0);
  problem.a(21, 30) = problem.b(30, 3) = narrow::encode(e5m2, 0x1p-14);
  CHECK(run_wgmma(form, {}, problem, tile_a, tile_b)(21, 3) == 1);

  Random random;
  INFO("seed " << random.seed);
  using ptxloom::test::MmaModelRow;
  int apart = 0;  // from the model that aligns nothing below f16's least exponent
  for (const Type a : {e5m2, e4m3}) {
    for (const Type b : {e5m2, e4m3}) {
      for (int i = 0; i < 8; ++i) {
        Problem tiny{tiny_matrix(random, a, 64, 32), tiny_matrix(random, b, 32, 8), {f16, 64, 8}, {}};
        if (i % 4 == 3) tiny.d = tiny_matrix(random, f16, 64, 8);
        const Matrix d = run_wgmma({a, b, f16, 8}, {}, tiny, tile_a, tile_b);
        CHECK(differing(MmaModelRow({.window = 13}, a.name, b.name, "f16"), tiny.a, tiny.b, tiny.d, d) == 0);
        apart += differing(MmaModelRow({.window = 13, .least = -14}, a.name, b.name, "f16"), tiny.a, tiny.b,
                           tiny.d, d);
      }
    }
  }
  CHECK(apart > 0);
}

TEST_CASE("a swizzling pattern may start off its alignment where the base offset says so") {
  Random random;
  const Form form{bf16, bf16, f32, 16};
  const Problem problem{exact_matrix(random, bf16, 64, 16),
                        exact_matrix(random, bf16, 16, 16),
                        exact_matrix(random, f32, 64, 16),
                        {}};
  Tile a{.swizzle = k128, .start = 0, .leading = 16, .stride = 1024}, b = a;
  b.start = 65536;
  const Matrix wanted = run_wgmma(form, {}, problem, a, b);
  a.start = 3 * 128;
  a.base = 3;
  b.start = 65536 + 5 * 128;
  b.base = 5;
  CHECK(run_wgmma(form, {}, problem, a, b).bits == wanted.bits);
  b.base = 4;
  CHECK(run_wgmma(form, {}, problem, a, b).bits != wanted.bits);
}

TEST_CASE("D of wgmma is undefined until its group is waited for") {
  Random random;
  const Form form{f16, f16, f32, 8};
  const Problem problem = small_problem(random);
  const Tile a{.swizzle = k32, .stride = 256}, b{.swizzle = k32, .start = 65536, .stride = 256};
  const auto poisoned = [&](const std::string& end) {
    const auto bits = run_wgmma(form, {}, problem, a, b, end, kUnjudged).bits;
    const auto count = std::ranges::count(bits, 0xa5a5'a5a5u);
    CHECK((count == 0 || count == 64 * 8));
    if (count != 0)
      CHECK(fault_of([&] { run_wgmma(form, {}, problem, a, b, end); }).code == "wgmma-not-awaited");
    return count != 0;
  };
  const std::string commit = "wgmma.commit_group.sync.aligned;";
  const auto wait = [](int pending) {
    return "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
  };
  CHECK(poisoned(""));
  CHECK(poisoned(commit));
  CHECK(poisoned(wait(0)));  // the group is not closed
  CHECK(poisoned(commit + wait(1)));
  CHECK(!poisoned(commit + wait(0)));
  CHECK(!poisoned(commit + commit + wait(1)));
  // A second product on top of the first needs no wait between them.
  const std::string again = form.opcode() + " {%d0, %d1, %d2, %d3}, %x, %y, 1, 1, 1, 0, 0;";
  CHECK(poisoned(commit + again + commit + wait(1)));
  const Matrix once = run_wgmma(form, {}, problem, a, b),
               twice = run_wgmma(form, {}, problem, a, b, commit + again + commit + wait(0));
  for (int row = 0; row < 64; ++row)
    for (int col = 0; col < 8; ++col)
      CHECK(twice.value(row, col) - once.value(row, col) == once.value(row, col) - problem.d.value(row, col));
}

TEST_CASE("shared memory that wgmma reads must not be written before the wait") {
  Random random;
  const Form form{f16, f16, f32, 8};
  const Problem problem = small_problem(random);
  const Tile a{.swizzle = k32, .stride = 256}, b{.swizzle = k32, .start = 65536, .stride = 256};
  const std::string commit = "wgmma.commit_group.sync.aligned;", wait = "wgmma.wait_group.sync.aligned 0;";
  const auto store = [](int address) {
    return "bar.sync 0; mov.u32 %v, 0x12345678; setp.eq.u32 %more, %t, 0; @%more st.shared.u32 [%s+" +
           std::to_string(address) + "], %v; bar.sync 0;";
  };
  const Matrix wanted = run_wgmma(form, {}, problem, a, b);
  for (const int address : {16, 65536 + 20}) {
    const std::string early = commit + store(address) + wait, late = commit + wait + store(address);
    CHECK(fault_of([&] { run_wgmma(form, {}, problem, a, b, early); }).code == "wgmma-overwritten");
    CHECK(run_wgmma(form, {}, problem, a, b, late).bits == wanted.bits);
  }
  CHECK(run_wgmma(form, {}, problem, a, b, commit + store(4096) + wait).bits == wanted.bits);
}

}  // namespace ptxloom::exec::test::wgmma_test
