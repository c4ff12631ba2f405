// SPDX-License-Identifier: Apache-2.0
#include "exec/async/tensor_harness.hpp"

namespace ptxloom::exec::test::tensor_test {

TEST_CASE("tensor copies load boxes of every rank, type and swizzle, with zeros outside the tensor") {
  Random random;
  INFO("seed " << random.seed);
  for (int round = 0; round < 60; ++round) {
    const Layout& layout = kLayouts[static_cast<std::size_t>(round) % std::size(kLayouts)];
    const TensorMap shape = random_map(random, layout);
    if (!fits(shape)) continue;
    Memory memory;
    const Tensor tensor = make_tensor(random, memory, shape);
    const Coordinates start = random_start(random, shape, random.below(2) == 0);
    Bytes shared = random_bytes(random, kSharedBytes);
    const Bytes before = shared;
    run_kernel(tensor.map, load(tensor.map, start, rows_in(shape) * layout.row_bytes), memory, shared);
    const auto visit = [&](auto f) { for_box(tensor.map, start, f); };
    const Bytes expected =
        expected_load(tensor, before, shape.box[0], pitch_of(shape, layout.row_bytes), visit);
    CAPTURE(round, shape.rank, shape.type.name, vector_of(start));
    REQUIRE((shared == expected));
  }
}

TEST_CASE("tensor copies store what lies in the tensor and leave the rest") {
  Random random;
  INFO("seed " << random.seed);
  for (int round = 0; round < 60; ++round) {
    const Layout& layout = kLayouts[static_cast<std::size_t>(round) % std::size(kLayouts)];
    TensorMap shape = random_map(random, layout);
    shape.element_strides = {1, 1, 1, 1, 1};
    if (!fits(shape)) continue;
    Memory memory;
    Tensor tensor = make_tensor(random, memory, shape);
    const Coordinates start = random_start(random, shape, false);
    Bytes shared = random_bytes(random, kSharedBytes);
    run_kernel(tensor.map, store(tensor.map, start), memory, shared);
    // Loading the result gives back what was stored, where it is in the tensor.
    const auto visit = [&](auto f) { for_box(tensor.map, start, f); };
    Tensor after = tensor;
    std::memcpy(after.data.data(), memory.at(tensor.map.address, tensor.data.size()), tensor.data.size());
    const Bytes ones = expected_load({tensor.map, Bytes(tensor.data.size(), 1)}, Bytes(kSharedBytes, 0),
                                     shape.box[0], pitch_of(shape, layout.row_bytes), visit);
    Bytes there(kSharedBytes, 0);
    there = expected_load(after, there, shape.box[0], pitch_of(shape, layout.row_bytes), visit);
    CAPTURE(round, shape.rank, shape.type.name, vector_of(start));
    for (std::size_t i = 0; i < kSharedBytes; ++i) REQUIRE((ones[i] == 0 || there[i] == shared[i]));
    // Nothing else changed, but for the rest of the last 16 bytes of a row.
    std::set<std::uint64_t> written;
    visit([&](const Coordinates& at) {
      if (!tensor.has(at)) return;
      const std::uint64_t chunk = tensor.offset(at) / 16 * 16;
      for (std::size_t i = 0; i < 16; ++i) written.insert(chunk + i);
    });
    for (std::size_t i = 0; i < tensor.data.size(); ++i)
      REQUIRE((written.contains(i) || after.data[i] == tensor.data[i]));
  }
}

}  // namespace ptxloom::exec::test::tensor_test
