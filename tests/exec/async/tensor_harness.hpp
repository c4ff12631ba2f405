// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "exec/harness.hpp"
#include "ptxloom/tensor_map.hpp"

// Tensor copies of kernels of one thread, and what they should do, element by element, written apart from the
// executor: swizzles are the tables of the PTX ISA.
namespace ptxloom::exec::test {

using Bytes = std::vector<std::uint8_t>;
using Coordinates = std::vector<std::int64_t>;

inline constexpr std::size_t kSharedBytes = 16384;

/// Runs a kernel of one thread that takes a map and has 16 KB of shared memory, which is filled from `shared`
/// before and copied there after `statements`.
inline void run_kernel(const TensorMap& map, const std::string& statements, Memory& memory, Bytes& shared,
                       const std::string& target = "sm_100a") {
  const std::string copy =
      ": ADDRESS mad.wide.u32 %at, %i, 4, %sm; LOAD; STORE; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4096; @%p "
      "bra ";
  const auto loop = [&](const std::string& label, const std::string& load, const std::string& store) {
    std::string text = "mov.u32 %i, 0;\n" + label + copy + label + ";\n";
    text.replace(text.find("ADDRESS"), 7, "mov.u32 %s, s; mad.lo.u32 %s, %i, 4, %s;");
    text.replace(text.find("LOAD"), 4, load);
    return text.replace(text.find("STORE"), 5, store);
  };
  const std::string body =
      ".shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 bar; .reg .u64 %sm, %at, %map; .reg .u32 %i, "
      "%s, %x; "
      ".reg .b16 %h<3>; .reg .pred %p; ld.param.u64 %sm, [shared]; mov.u64 %map, map; cvta.param.u64 %map, "
      "%map;\n" +
      loop("in", "ld.global.u32 %x, [%at]", "st.shared.u32 [%s], %x") +
      "mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;\n" + statements + "\n" +
      loop("out", "ld.shared.u32 %x, [%s]", "st.global.u32 [%at], %x");
  const Program program = program_of(".param .align 64 .b8 map[128], .param .u64 shared", body, {}, target);
  std::vector<std::byte> parameters(136);
  const EncodedTensorMap encoded = encode_for_executor(map);
  std::memcpy(parameters.data(), encoded.bytes.data(), 128);
  shared.resize(kSharedBytes, 0xcc);
  const std::uint64_t address = memory.map(shared.data(), shared.size(), "shared");
  std::memcpy(parameters.data() + 128, &address, 8);
  program.run(memory, {.parameters = parameters});
  memory.release(address);
}

inline std::string vector_of(const Coordinates& values) {
  std::string text;
  for (const auto value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "{" + text + "}";
}

inline std::string load(const TensorMap& map, const Coordinates& at, std::size_t bytes,
                        const std::string& mode = "tile", const std::string& more = {}) {
  return "mbarrier.arrive.expect_tx.shared.b64 _, [bar], " + std::to_string(bytes) +
         "; cp.async.bulk.tensor." + std::to_string(map.rank) + "d.shared::cta.global." + mode +
         ".mbarrier::complete_tx::bytes [s], [%map, " + vector_of(at) + "], [bar]" + more +
         "; w: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra w;";
}
inline std::string store(const TensorMap& map, const Coordinates& at, const std::string& mode = "tile",
                         const std::string& reduce = {}) {
  return (reduce.empty() ? "cp.async.bulk.tensor." : "cp.reduce.async.bulk.tensor.") +
         std::to_string(map.rank) + "d.global.shared::cta." + reduce + mode + ".bulk_group [%map, " +
         vector_of(at) + "], [s]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
}

inline Bytes random_bytes(Random& random, std::size_t count) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  return bytes;
}

/// Where 16-byte chunk `chunk` of line `line` (of 128 bytes) goes: the tables of PTX ISA 5.5.7, as printed.
inline std::uint32_t swizzled_chunk(TensorSwizzle swizzle, SwizzleAtom atom, std::uint32_t line,
                                    std::uint32_t chunk) {
  static constexpr const char* by32[] = {"01234567", "10325476"};
  static constexpr const char* by64[] = {"01234567", "10325476", "23016745", "32107654"};
  static constexpr const char* by128[] = {"01234567", "10325476", "23016745", "32107654",
                                          "45670123", "54761032", "67452301", "76543210"};
  static constexpr const char* atom32[] = {"01234567", "23016745", "45670123", "67452301"};
  static constexpr const char* atom64[] = {"01234567", "45670123"};
  const char* row = nullptr;
  if (swizzle == TensorSwizzle::none) return chunk;
  if (swizzle == TensorSwizzle::by_32_bytes) row = by32[line % 2];
  if (swizzle == TensorSwizzle::by_64_bytes) row = by64[line % 4];
  if (swizzle == TensorSwizzle::by_128_bytes) {
    row = atom == SwizzleAtom::of_16_bytes   ? by128[line % 8]
          : atom == SwizzleAtom::of_64_bytes ? atom64[line % 2]
                                             : atom32[line % 4];
  }
  // The table says which chunk a place holds; each row is its own inverse.
  return static_cast<std::uint32_t>(row[chunk] - '0');
}

struct Tensor {
  TensorMap map;
  Bytes data;

  std::uint64_t offset(const Coordinates& at) const {
    std::uint64_t result = static_cast<std::uint64_t>(at[0]) * map.unit().global_bytes;
    for (std::size_t i = 1; i < map.rank; ++i)
      result += static_cast<std::uint64_t>(at[i]) * map.strides[i - 1];
    return result;
  }
  bool has(const Coordinates& at) const {
    for (std::size_t i = 0; i < map.rank; ++i) {
      if (at[i] < 0 || at[i] >= static_cast<std::int64_t>(map.dims[i])) return false;
    }
    return true;
  }
};

/// Element by element, what a load leaves in shared memory, where `visit` calls f(coordinates) in order of
/// rows and, in a row, of elements.
template <class Visit>
inline Bytes expected_load(const Tensor& tensor, Bytes shared, std::size_t row_elements, std::uint32_t pitch,
                           Visit visit) {
  const std::size_t size = tensor.map.unit().shared_bytes;
  std::size_t number = 0;
  visit([&](const Coordinates& at) {
    const std::size_t row = number / row_elements, column = number % row_elements;
    const auto linear = static_cast<std::uint32_t>(row * pitch + column * size);
    const std::uint32_t chunk =
        swizzled_chunk(tensor.map.swizzle, tensor.map.atom, linear / 128, linear / 16 % 8);
    std::uint32_t place = linear / 128 * 128 + chunk * 16 + linear % 16;
    if (tensor.map.atom == SwizzleAtom::of_32_bytes_flip8 && linear / 128 % 2 == 1) place ^= 8;
    for (std::size_t i = 0; i < size; ++i)
      shared[place + i] = tensor.has(at) ? tensor.data[tensor.offset(at) + i] : 0;
    ++number;
  });
  return shared;
}

template <class F>
inline void for_box(const TensorMap& map, const Coordinates& start, F f) {
  Coordinates k(5);
  const auto count = [&](std::size_t i) -> std::int64_t {
    if (i >= map.rank) return 1;
    const std::uint32_t step = i == 0 ? 1 : map.element_strides[i];
    return (map.box[i] + step - 1) / step;
  };
  for (k[4] = 0; k[4] < count(4); ++k[4])
    for (k[3] = 0; k[3] < count(3); ++k[3])
      for (k[2] = 0; k[2] < count(2); ++k[2])
        for (k[1] = 0; k[1] < count(1); ++k[1])
          for (k[0] = 0; k[0] < count(0); ++k[0]) {
            Coordinates at(map.rank);
            for (std::size_t i = 0; i < map.rank; ++i)
              at[i] = start[i] + k[i] * (i == 0 ? 1 : map.element_strides[i]);
            f(at);
          }
}

inline std::uint32_t pitch_of(const TensorMap& map, std::size_t row_bytes) {
  static constexpr std::uint32_t spans[] = {0, 32, 64, 128};
  return map.swizzle == TensorSwizzle::none ? static_cast<std::uint32_t>(row_bytes)
                                            : spans[static_cast<std::size_t>(map.swizzle)];
}

/// A tensor in memory with random data and some room between its rows.
inline Tensor make_tensor(Random& random, Memory& memory, TensorMap map) {
  std::uint64_t bytes = (map.dims[0] * map.unit().global_bytes + 15 + 16 * random.below(3)) / 16 * 16;
  for (std::size_t i = 1; i < map.rank; ++i) {
    map.strides[i - 1] = bytes;
    bytes = bytes * map.dims[i] + 16 * random.below(2);
  }
  map.address = memory.allocate(bytes, "tensor");
  Tensor tensor{map, random_bytes(random, bytes)};
  std::memcpy(memory.at(map.address, bytes), tensor.data.data(), bytes);
  return tensor;
}

struct Layout {
  TensorSwizzle swizzle;
  SwizzleAtom atom = SwizzleAtom::of_16_bytes;
  std::uint32_t row_bytes;
};
inline constexpr Layout kLayouts[] = {
    {.swizzle = TensorSwizzle::none, .row_bytes = 48},
    {.swizzle = TensorSwizzle::none, .row_bytes = 256},
    {.swizzle = TensorSwizzle::by_32_bytes, .row_bytes = 32},
    {.swizzle = TensorSwizzle::by_64_bytes, .row_bytes = 64},
    {.swizzle = TensorSwizzle::by_64_bytes, .row_bytes = 32},
    {.swizzle = TensorSwizzle::by_128_bytes, .row_bytes = 128},
    {.swizzle = TensorSwizzle::by_128_bytes, .row_bytes = 80},
    {.swizzle = TensorSwizzle::by_128_bytes, .atom = SwizzleAtom::of_32_bytes, .row_bytes = 128},
    {.swizzle = TensorSwizzle::by_128_bytes, .atom = SwizzleAtom::of_32_bytes_flip8, .row_bytes = 128},
    {.swizzle = TensorSwizzle::by_128_bytes, .atom = SwizzleAtom::of_64_bytes, .row_bytes = 128},
};

inline constexpr Type kTypes[] = {u8, f16, f32, f64};

inline TensorMap random_map(Random& random, const Layout& layout) {
  TensorMap map{.type = kTypes[random.below(4)],
                .rank = 1 + random.below(5),
                .swizzle = layout.swizzle,
                .atom = layout.atom};
  map.box[0] = layout.row_bytes / map.unit().global_bytes;
  map.dims[0] = map.box[0] / 2 + random.below(2 * map.box[0]) + 1;
  std::uint32_t rows = 1;
  for (std::size_t i = 1; i < map.rank; ++i) {
    map.dims[i] = 1 + random.below(6);
    map.element_strides[i] = 1 + random.below(2);
    map.box[i] = 1 + random.below(i == 1 ? 8 : 3);
    rows *= map.box[i];
  }
  REQUIRE(rows * 256 <= 8 * 27 * 256);
  return map;
}

/// The first coordinate is at a multiple of 16 bytes.
inline Coordinates random_start(Random& random, const TensorMap& map, bool negative) {
  Coordinates start;
  for (std::size_t i = 0; i < map.rank; ++i) {
    const std::uint32_t step = i == 0 ? 16 / map.unit().global_bytes : 1,
                        places = static_cast<std::uint32_t>(map.dims[i]) / step;
    start.push_back(random.below(places + 2));
    if (negative) start.back() -= 1 + random.below(std::max(places, 1u));
    start.back() *= step;
  }
  return start;
}

inline std::size_t rows_in(const TensorMap& map) {
  std::size_t elements = 0;
  for_box(map, Coordinates(5), [&](const Coordinates&) { ++elements; });
  return elements / map.box[0];
}

inline bool fits(const TensorMap& map) {
  return rows_in(map) * pitch_of(map, map.box[0] * map.unit().shared_bytes) <= kSharedBytes;
}

}  // namespace ptxloom::exec::test
