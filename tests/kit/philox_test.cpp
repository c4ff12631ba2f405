// SPDX-License-Identifier: Apache-2.0
// The generator gives the numbers that its authors published, and scales in tiles lie where cuBLASLt's manual
// says.
#include "ptxloom/kit/philox.hpp"

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/scale_tiles.hpp"

using namespace ptxloom;

TEST_CASE("kit: Philox 4x32-10 gives the published numbers") {
  struct Known {
    std::array<std::uint32_t, 4> counter;
    std::uint64_t seed;
    std::array<std::uint32_t, 4> words;
  };
  // The known answers that come with Random123.
  const std::array<Known, 3> all{{{{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                                  {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                                   0xffffffff'ffffffff,
                                   {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                                  {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                   0x299f31d0'a4093822,
                                   {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};
  for (const Known& known : all) {
    kit::Params params;
    params.pointer("counter", u32).pointer("out", u32).size("seed", u64, known.seed);
    KernelBuilder k = kit_test::builder();
    const kit::ParamRegs in = params.declare(k);
    const kit::Philox philox(k, in["seed"]);
    std::array<Reg, 4> counter;
    for (std::size_t i = 0; i < 4; ++i)
      counter[i] = k.load(in.pointer("counter")[static_cast<std::int64_t>(i)]);
    const std::array<Reg, 4> words = philox.draw(counter);
    for (std::size_t i = 0; i < 4; ++i) k.store(in.pointer("out")[static_cast<std::int64_t>(i)], words[i]);
    std::vector<std::uint32_t> given(known.counter.begin(), known.counter.end()), out(4, 0xa5a5a5a5);
    kit_test::run(k.finish(), {}, params.arguments(),
                  {kit_test::tensor("counter", given), kit_test::tensor("out", out)});
    CHECK(std::vector<std::uint32_t>(known.words.begin(), known.words.end()) == out);
  }
}

TEST_CASE("kit: a seed of Philox has 64 bits") {
  KernelBuilder k = kit_test::builder();
  CHECK(kit_test::verdict([&] { kit::Philox(k, k.mov(u32, 7)); }) == "operand-type");
  CHECK(kit_test::verdict([&] { kit::Philox(k, k.mov(u64, 7)); }) == "accepted");
}

TEST_CASE("kit: scales in tiles lie where cuBLASLt reads them, on the host and in a kernel") {
  const kit::ScaleTiles tiles{.rows = 300, .columns = 11};
  CHECK(tiles.bytes() == 3 * 3 * 512);
  CHECK(tiles.padded());
  CHECK_FALSE(kit::ScaleTiles{.rows = 256, .columns = 8}.padded());
  CHECK(tiles.offset(0, 3) == 3);
  CHECK(tiles.offset(32, 0) == 4);
  CHECK(tiles.offset(1, 0) == 16);
  CHECK(tiles.offset(127, 3) == 511);
  CHECK(tiles.offset(0, 4) == 512);
  CHECK(tiles.offset(128, 0) == 3 * 512);
  std::vector<std::uint64_t> out(std::size_t{300} * 11, 0xa5);
  kit::Params params;
  params.pointer("out", u64);
  KernelBuilder k = kit_test::builder();
  const kit::ParamRegs in = params.declare(k);
  const Reg row = k.special("ctaid.x"), column = k.special("tid.x");
  k.store(in.pointer("out")[k.fma(row, 11, column)], tiles.offset(k, row, column));
  exec::Launch launch;
  launch.grid = {300, 1, 1};
  launch.block = {11, 1, 1};
  kit_test::run(k.finish(), launch, params.arguments(), {kit_test::tensor("out", out)});
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i] == tiles.offset(i / 11, i % 11));
}
