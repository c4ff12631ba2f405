// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/async/tensor_harness.hpp"

namespace ptxloom::exec::test::tensor_modes_test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("gather4 loads four rows, scatter4 stores them") {
  Random random;
  INFO("seed " << random.seed);
  Memory memory;
  const Tensor tensor =
      make_tensor(random, memory, {.type = f16, .rank = 2, .dims = {40, 9}, .box = {24, 1, 1, 1, 1}});
  const std::int64_t rows[] = {5, 2, -1, 8};
  Bytes shared = random_bytes(random, kSharedBytes);
  const Bytes before = shared;
  run_kernel(tensor.map, load(tensor.map, {24, 5, 2, -1, 8}, 4 * 48, "tile::gather4"), memory, shared);
  const auto visit = [&](auto f) {
    for (const auto row : rows) {
      for (std::int64_t i = 0; i < 24; ++i) f(Coordinates{24 + i, row});
    }
  };
  CHECK((shared == expected_load(tensor, before, 24, 48, visit)));
  for (std::size_t i = 0; i < 192; ++i) shared[i] = static_cast<std::uint8_t>(i);
  run_kernel(tensor.map, store(tensor.map, {16, 7, 0, 3, 100}, "tile::scatter4"), memory, shared);
  const std::byte* data = memory.at(tensor.map.address, tensor.data.size());
  for (std::size_t k = 0; k < 3; ++k) {
    const std::uint64_t at = tensor.offset({16, std::array<std::int64_t, 3>{7, 0, 3}[k]});
    for (std::size_t i = 0; i < 48; ++i) REQUIRE(std::to_integer<std::size_t>(data[at + i]) == k * 48 + i);
  }
}

TEST_CASE("im2col walks pixels through the box and from image to image") {
  // The manual's example 2: positions 0 to 6 by 0 to 11 of a 9 by 14 image, read at an offset of (2, 2).
  Random random;
  INFO("seed " << random.seed);
  Memory memory;
  TensorMap map{.type = f16, .rank = 4, .dims = {64, 9, 14, 8}};
  map.image = TensorMap::Image{.lower = {0, 0, 0}, .upper = {-2, -2, 0}, .channels = 8, .pixels = 64};
  const Tensor tensor = make_tensor(random, memory, map);
  for (const std::int64_t image : {6, 7}) {  // from the last one, into those that are not there
    Bytes shared = random_bytes(random, kSharedBytes);
    const Bytes before = shared;
    run_kernel(tensor.map,
               "mov.b16 %h0, 2; mov.b16 %h1, 1;" +
                   load(tensor.map, {16, 5, 10, image}, 64 * 16, "im2col", ", {%h0, %h1}"),
               memory, shared);
    const auto visit = [&](auto f) {
      std::int64_t w = 5, h = 10, n = image;
      for (int pixel = 0; pixel < 64; ++pixel) {
        for (std::int64_t c = 0; c < 8; ++c) f(Coordinates{16 + c, w + 2, h + 1, n});
        if (++w <= 6) continue;
        w = 0;
        if (++h <= 11) continue;
        h = 0;
        ++n;
      }
    };
    CHECK((shared == expected_load(tensor, before, 8, 16, visit)));
  }
}

TEST_CASE("packed elements are padded in shared memory") {
  Random random;
  INFO("seed " << random.seed);
  Memory memory;
  TensorMap map{.type = e2m1, .padded = true, .rank = 2, .dims = {256, 4}, .box = {128, 2, 1, 1, 1}};
  map.address = memory.allocate(512);
  const Bytes data = random_bytes(random, 512);
  std::memcpy(memory.at(map.address, 512), data.data(), 512);
  Bytes shared;
  run_kernel(map, load(map, {128, 1}, 256), memory, shared);
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t i = 0; i < 64; ++i)
      REQUIRE(shared[row * 128 + i / 8 * 16 + i % 8] == data[(row + 1) * 128 + 64 + i]);
    for (std::size_t i = 0; i < 8; ++i) REQUIRE(shared[row * 128 + i * 16 + 8] == 0xa5);  // undefined
  }
}

TEST_CASE("elements outside a tensor can be NaN") {
  Memory memory;
  TensorMap map{.type = f32, .rank = 1, .dims = {6}, .box = {8, 1, 1, 1, 1}, .fill = TensorFill::nan};
  map.address = memory.allocate(32);
  Bytes shared;
  run_kernel(map, load(map, {0}, 32), memory, shared);
  float last = 0;
  std::memcpy(&last, shared.data() + 28, 4);
  CHECK(last != last);
  CHECK(shared[20] == 0xa5);
}

TEST_CASE("a tensor reduction combines element by element") {
  Memory memory;
  TensorMap map{.type = f32, .rank = 2, .dims = {6, 2}, .strides = {32}, .box = {4, 2, 1, 1, 1}};
  std::vector<float> data(16, 1.5f);
  map.address = memory.map(data.data(), 64);
  Bytes shared(kSharedBytes);
  const std::vector<float> added{1, 2, 3, 4, 5, 6, 7, 8};
  std::memcpy(shared.data(), added.data(), 32);
  run_kernel(map, store(map, {4, 0}, "tile", "add."), memory, shared);
  // Two elements of each row lie outside; the 16 bytes that they are in change as a whole.
  CHECK(data ==
        std::vector<float>{1.5, 1.5, 1.5, 1.5, 2.5, 3.5, 4.5, 5.5, 1.5, 1.5, 1.5, 1.5, 6.5, 7.5, 8.5, 9.5});
  map.type = u32;
  run_kernel(map, store(map, {0, 1}, "tile", "xor."), memory, shared);
  CHECK(data[0] == 1.5f);
  CHECK(data[8] != 1.5f);
}

TEST_CASE("maps of f32.ftz lose subnormal sums, maps of tf32 round what they load") {
  Memory memory;
  TensorMap map{.type = f32, .rank = 1, .dims = {4}, .box = {4, 1, 1, 1, 1}};
  using Words = std::array<std::uint32_t, 4>;
  const Words added{3, 0x80000005, 0x00400000, 0x3f800000};
  Bytes shared(kSharedBytes);
  const auto sum = [&](bool ftz) {
    Words data{4, 0, 0x00400000, 0x3f800000};
    map.ftz = ftz;
    map.address = memory.map(data.data(), sizeof data);
    std::memcpy(shared.data(), added.data(), sizeof added);
    run_kernel(map, store(map, {0}, "tile", "add."), memory, shared);
    memory.release(map.address);
    return data;
  };
  CHECK(sum(false) == Words{7, 0x80000005, 0x00800000, 0x40000000});
  CHECK(sum(true) == Words{0, 0, 0, 0x40000000});

  map.type = tf32;
  for (const bool ftz : {false, true}) {
    const auto loaded = [&](Words data) {
      map.ftz = ftz;
      map.address = memory.map(data.data(), sizeof data);
      run_kernel(map, load(map, {0}, 16), memory, shared);
      memory.release(map.address);
      std::memcpy(data.data(), shared.data(), sizeof data);
      return data;
    };
    CHECK(loaded({0x3f801000, 0x3f803000, 0xbf801001, 0x7f7fffff}) ==
          Words{0x3f800000, 0x3f804000, 0xbf802000, 0x7f800000});
    CHECK(loaded({0xff800000, 0xff800001, 0x7fc00000, 0x80001001}) ==
          Words{0xff800000, 0x7fffe000, 0x7fffe000, 0x80002000});
  }
}

TEST_CASE("a kernel can change a tensor map") {
  Memory memory;
  Random random;
  INFO("seed " << random.seed);
  TensorMap map{.type = u8, .rank = 1, .dims = {16}, .box = {16, 1, 1, 1, 1}};
  map.address = memory.allocate(16);
  const Tensor tensor =
      make_tensor(random, memory, {.type = f16, .rank = 2, .dims = {24, 6}, .box = {8, 3, 1, 1, 1}});
  EncodedTensorMap encoded = encode_for_executor(map);
  const Program program = program_of(
      ".param .u64 map, .param .u64 tensor, .param .u64 stride, .param .u64 out",
      ".shared .align 128 .b8 m[128]; .shared .align 128 .b8 s[64]; .shared .align 8 .b64 bar; .reg .u64 "
      "%map, %t, %st, "
      "%out; .reg .u32 %i, %x, %s; .reg .u64 %at; .reg .pred %p; ld.param.u64 %map, [map]; ld.param.u64 %t, "
      "[tensor]; "
      "ld.param.u64 %st, [stride]; ld.param.u64 %out, [out];\n"
      "mov.u32 %i, 0; l: mad.wide.u32 %at, %i, 4, %map; ld.global.u32 %x, [%at]; mov.u32 %s, m; mad.lo.u32 "
      "%s, %i, 4, "
      "%s; st.shared.u32 [%s], %x; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 32; @%p bra l;\n"
      "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [m], %t;\n"
      "tensormap.replace.tile.rank.shared::cta.b1024.b32 [m], 1; "
      "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 "
      "[m], 0, 8; tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [m], 1, 3;\n"
      "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [m], 0, 24; tensormap.replace.tile.global_dim."
      "shared::cta.b1024.b32 [m], 1, 6; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [m], 0, "
      "%st;\n"
      "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [m], 1, 1; "
      "tensormap.replace.tile.elemtype."
      "shared::cta.b1024.b32 [m], 6; tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [m], 0;\n"
      "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [m], 0; "
      "tensormap.replace.tile.swizzle_mode.shared::cta."
      "b1024.b32 [m], 0;\n"
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [m], "
      "128;\n"
      "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 48;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%map, {16, "
      "2}], [bar]; "
      "w: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra w;\n"
      "mov.u32 %i, 0; k: mad.wide.u32 %at, %i, 4, %out; mov.u32 %s, s; mad.lo.u32 %s, %i, 4, %s; "
      "ld.shared.u32 %x, "
      "[%s]; st.global.u32 [%at], %x; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 12; @%p bra k;\n");
  Bytes out(48);
  // The map must lie at a multiple of 128: allocations do.
  const std::uint64_t map_address = memory.allocate(128);
  std::memcpy(memory.at(map_address, 128), encoded.bytes.data(), 128);
  const auto parameters =
      pack({map_address, tensor.map.address, tensor.map.strides[0], memory.map(out.data(), 48)});
  program.run(memory, {.parameters = parameters});
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 16; ++i)
      REQUIRE(out[row * 16 + i] == tensor.data[(row + 2) * tensor.map.strides[0] + 32 + i]);
  }
}

TEST_CASE("each misuse of a tensor copy is a fault") {
  const auto fault_in = [](TensorMap map, const std::string& statements) {
    Memory memory;
    if (map.address == 0) map.address = memory.allocate(4096);
    Bytes shared;
    return fault_of([&] { run_kernel(map, statements, memory, shared); });
  };
  const TensorMap map{.type = f32, .rank = 2, .dims = {16, 4}, .strides = {64}, .box = {8, 2, 1, 1, 1}};
  const auto with = [&](auto change) {
    TensorMap changed = map;
    change(changed);
    return changed;
  };
  CHECK(fault_in(map, load(with([](TensorMap& m) { m.rank = 3; }), {0, 0, 0}, 64)).code == "tensor-map");
  CHECK(fault_in(with([](TensorMap& m) { m.box[0] = 7; }), load(map, {0, 0}, 64)).code == "tensor-map");
  CHECK_THAT(fault_in(with([](TensorMap& m) {
                        m.box[0] = 16;
                        m.swizzle = TensorSwizzle::by_32_bytes;
                      }),
                      load(map, {0, 0}, 128))
                 .message,
             ContainsSubstring("has a swizzle of 32 bytes, but rows of 64"));
  CHECK(fault_in(with([](TensorMap& m) { m.strides[0] = 68; }), load(map, {0, 0}, 64)).code == "tensor-map");
  CHECK(fault_in(with([](TensorMap& m) { m.dims[1] = 400; }), load(map, {0, 399}, 64)).code ==
        "out-of-bounds");
  CHECK(fault_in(map, store(map, {0, -1})).code == "tensor-coordinates");
  CHECK_THAT(fault_in(map, load(map, {6, 0}, 64)).message,
             ContainsSubstring("not at a multiple of 16 bytes"));
  CHECK(fault_in(with([](TensorMap& m) {
                   m.type = s64;
                   m.box[0] = 2;
                 }),
                 store(map, {0, 0}, "tile", "xor."))
            .code == "tensor-map");
  TensorMap image{.type = f32, .rank = 3, .dims = {8, 6, 2}, .strides = {32, 192}};
  image.image = TensorMap::Image{.lower = {-1}, .upper = {0}, .channels = 4, .pixels = 3};
  CHECK_THAT(fault_in(image, "mov.b16 %h0, 0;" + load(image, {0, 6, 0}, 48, "im2col", ", {%h0}")).message,
             ContainsSubstring("outside the corners of the map, -1 to 5"));
  CHECK(fault_in(image, store(image, {0, 0, 0}, "im2col_no_offs")).code == "tensor-map");
  CHECK(fault_in(map, "add.u64 %map, %map, 64;" + load(map, {0, 0}, 64)).code == "out-of-bounds");
  CHECK(fault_in(map, "mov.u64 %map, %sm; and.b64 %map, %map, -64;" + load(map, {0, 0}, 64)).code ==
        "tensor-map");
  CHECK(fault_in(map, load(map, {0, 0}, 80)).code == "mbarrier-deadlock");
  CHECK(fault_in(map, load(map, {0, 0}, 48)).code == "mbarrier-deadlock");
  CHECK(fault_in(map, load(map, {0, 0}, 64).substr(0, load(map, {0, 0}, 64).find("w:"))).code ==
        "copy-not-awaited");
  std::string off = load(map, {0, 0}, 64);
  off.replace(off.find("[s]"), 3, "[s+64]");
  CHECK(fault_in(map, off).code == "misaligned");
  CHECK(fault_in(with([](TensorMap& m) { m.image = TensorMap::Image{}; }), load(map, {0, 0}, 64)).code ==
        "tensor-map");
}

}  // namespace ptxloom::exec::test::tensor_modes_test
