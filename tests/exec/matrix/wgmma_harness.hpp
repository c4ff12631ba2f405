// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "exec/matrix/mma_harness.hpp"

// wgmma on matrices that the test writes into shared memory as the manual describes the layouts, in the words
// of what TMA writes: rows of the swizzling width, whose 16-byte units change places by the row's number.
// Sums are exact, so that D must be the product to the bit.
namespace ptxloom::exec::test::wgmma_test {

inline constexpr int kSharedBytes = 128 * 1024;

enum Swizzle { kNone, k128, k64, k32 };  // as the descriptor numbers them

/// A matrix in shared memory: lines are rows of A or columns of B.
struct Tile {
  Swizzle swizzle = kNone;
  bool transposed = false;
  int start = 0;  // of the pattern
  int skip = 0;   // bytes along k at which the instruction begins
  int leading = 0, stride = 0;
  int base = 0;

  int width() const { return swizzle == k128 ? 128 : swizzle == k64 ? 64 : swizzle == k32 ? 32 : 16; }
  std::uint64_t descriptor() const {
    return static_cast<std::uint64_t>((start + skip) >> 4) | std::uint64_t(leading >> 4) << 16 |
           std::uint64_t(stride >> 4) << 32 | std::uint64_t(base) << 49 | std::uint64_t(swizzle) << 62;
  }
  /// The byte of unit (of 16 bytes) `unit` of row `row` of an atom, rows of width() bytes.
  int within(int row, int unit) const {
    const int phase = swizzle == k128  ? row % 8
                      : swizzle == k64 ? row / 2 % 4
                      : swizzle == k32 ? row / 4 % 2
                                       : 0;
    return row * width() + (unit ^ phase) * 16;
  }
  /// The byte where the unit that holds element (line, k) begins, and which element of it that is.
  std::pair<int, int> at(int line, int k, int bits) const {
    const int per = 128 / bits, units = width() / 16;
    if (!transposed) {
      const int unit = k / per + skip / 16;
      return {start + line / 8 * stride + unit / units * leading + within(line % 8, unit % units), k % per};
    }
    const int unit = line / per;
    const int far_unit = swizzle == kNone ? stride : leading, far_k = swizzle == kNone ? leading : stride;
    return {start + k / 8 * far_k + unit / units * far_unit + within(k % 8, unit % units), line % per};
  }
};

struct Form {
  Type a, b, d;
  int n;
  bool a_in_registers = false, sparse = false;
  std::string sat = {}, op = {};

  int stored() const { return 256 / a.bits; }
  int k() const { return stored() * (sparse ? 2 : 1); }
  bool negates() const { return a.is_float(); }
  bool transposes() const { return a == f16 || a == bf16; }
  std::string opcode() const {
    const auto word = [](Type type) { return "." + std::string(type.name); };
    return std::string("wgmma.mma_async") + (sparse ? ".sp" : "") + ".sync.aligned.m64n" + std::to_string(n) +
           "k" + std::to_string(k()) + word(d) + sat + word(a) + word(b) + op;
  }
};

struct Options {
  bool add = true;  // scale-d
  bool negate_a = false, negate_b = false;
  int f = 0;  // sparsity selector
};

inline Tile random_tile(Random& random, const Form& form, int start, int lines, int depth, bool transposed) {
  Tile tile{.swizzle = static_cast<Swizzle>(random.below(4)), .transposed = transposed, .start = start};
  const int bytes = depth * form.a.bits / 8;
  if (!transposed && bytes > tile.width() && tile.swizzle != kNone) tile.swizzle = k64;
  const int atom = 8 * tile.width(),
            gap = tile.swizzle == kNone ? 16 * static_cast<int>(random.below(3)) : 1024;
  if (transposed) {
    const int per_atom = tile.width() / 2;
    const int across = (lines + per_atom - 1) / per_atom, along = depth / 8;
    // Either of the two may be the outer one.
    const bool k_outer = random.below(2) == 0;
    const int inner = atom + gap, outer = (k_outer ? across : along) * inner;
    const int far_k = k_outer ? outer : inner, far_unit = k_outer ? inner : outer;
    tile.leading = tile.swizzle == kNone ? far_k : far_unit;
    tile.stride = tile.swizzle == kNone ? far_unit : far_k;
  } else if (tile.swizzle == kNone) {
    tile.leading = atom + gap;
    tile.stride = bytes / 16 * tile.leading;
  } else {
    tile.stride = atom + gap;
    tile.skip = bytes * static_cast<int>(random.below(static_cast<std::uint32_t>(tile.width() / bytes)));
  }
  return tile;
}

/// A (stored elements), B, and D as it was and is.
struct Problem {
  Matrix a, b, d;
  Registers metadata;
};

/// The kernel: fills shared memory, issues, waits as `end` says, stores D.
inline std::string kernel(const Form& form, const Options& options, const std::string& end,
                          int accumulators) {
  const auto list = [](const std::string& letter, int count) {
    std::string text = "{%" + letter + "0";
    for (int i = 1; i < count; ++i) text += ", %" + letter + std::to_string(i);
    return text + "}";
  };
  const std::string count = std::to_string(accumulators), kind = form.d == f32 ? ".f32" : ".b32";
  std::string body =
      ".reg .u64 %p, %q, %x, %y; .reg .u32 %t, %i, %s; .reg .pred %more, %add; .reg .b32 %a<4>, %e; .reg " +
      kind + " %d<" + count +
      ">; .reg .b32 %v;\n"
      "mov.u32 %t, %tid.x; ld.param.u64 %p, [p_shared]; mov.u32 %s, memory; mov.u32 %i, %t;\n"
      "fill: mad.wide.u32 %q, %i, 4, %p; ld.global.u32 %v, [%q]; mad.lo.u32 %i, %i, 4, %s; st.shared.u32 "
      "[%i], %v; "
      "sub.u32 %i, %i, %s; shr.u32 %i, %i, 2; add.u32 %i, %i, 128; setp.lt.u32 %more, %i, " +
      std::to_string(kSharedBytes / 4) + "; @%more bra fill; fence.proxy.async; bar.sync 0;\n";
  const auto load = [&](const std::string& parameter, const std::string& letter, int registers,
                        const std::string& type) {
    body += "ld.param.u64 %p, [" + parameter + "]; mad.wide.u32 %p, %t, " + std::to_string(8 * registers) +
            ", %p;\n";
    for (int i = 0; i < registers; ++i)
      body += "ld.global" + type + " %" + letter + (letter == "e" ? "" : std::to_string(i)) + ", [%p+" +
              std::to_string(8 * i) + "];\n";
  };
  load("p_d", "d", accumulators, kind);
  load("p_a", "a", 4, ".b32");
  load("p_e", "e", 1, ".b32");
  body += "ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; setp.eq.u32 %add, 0, " +
          std::string(options.add ? "0" : "1") + "; wgmma.fence.sync.aligned;\n" + form.opcode() + " " +
          list("d", accumulators) + ", " + (form.a_in_registers ? list("a", 4) : "%x") + ", %y" +
          (form.sparse ? ", %e, " + std::to_string(options.f) : "") + ", %add";
  if (form.negates())
    body += std::string(options.negate_a ? ", -1" : ", 1") + (options.negate_b ? ", -1" : ", 1");
  if (form.transposes()) body += form.a_in_registers ? ", TB" : ", TA, TB";
  body += ";\n" + end + "\nld.param.u64 %p, [p_d]; mad.wide.u32 %p, %t, " + std::to_string(8 * accumulators) +
          ", %p;\n";
  for (int i = 0; i < accumulators; ++i)
    body += "st.global" + kind + " [%p+" + std::to_string(8 * i) + "], %d" + std::to_string(i) + ";\n";
  return body;
}

inline const std::string kWait = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";

inline void replace(std::string& text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), by);
}

inline Place place_a(const Form& form) {
  const int p = 32 / form.a.bits;
  return [p](int l, int i) {
    return At{l / 32 * 16 + group(l % 32) + i / p % 2 * 8, p * member(l) + i % p + i / p / 2 * 4 * p};
  };
}
inline At place_d(int l, int i) {
  return {l / 32 * 16 + group(l % 32) + i / 2 % 2 * 8, member(l) * 2 + i % 2 + i / 4 * 8};
}

/// D after the kernel. A is in shared memory by `tile_a`, or in registers.
inline Matrix run_wgmma(const Form& form, const Options& options, const Problem& problem, const Tile& tile_a,
                        const Tile& tile_b, const std::string& end = kWait, Launch launch = {}) {
  std::vector<std::byte> shared(kSharedBytes, std::byte{0x3c});
  const auto write = [&](const Tile& tile, const Type& type, int line, int k, std::uint64_t bits) {
    const auto [byte, element] = tile.at(line, k, type.bits);
    narrow::store(type, std::span(shared).subspan(static_cast<std::size_t>(byte), 16),
                  static_cast<std::size_t>(element), bits);
  };
  for (int row = 0; row < 64 && !form.a_in_registers; ++row)
    for (int k = 0; k < form.stored(); ++k) write(tile_a, form.a, row, k, problem.a(row, k));
  for (int col = 0; col < form.n; ++col)
    for (int k = 0; k < form.k(); ++k) write(tile_b, form.b, col, k, problem.b(k, col));
  Registers d = spread(problem.d, place_d, form.n / 2, {form.d.bits}, 128),
            a = spread(problem.a, place_a(form), form.stored() / 2, {form.a.bits}, 128);
  std::string text = kernel(form, options, end, d.count);
  for (int i = 0; i < 4; ++i) {
    replace(text, "TA", tile_a.transposed ? "1" : "0");
    replace(text, "TB", tile_b.transposed ? "1" : "0");
  }
  const Program program = program_of(
      ".param .u64 p_shared, .param .u64 p_d, .param .u64 p_a, .param .u64 p_e, .param .u64 x, .param .u64 y",
      text, ".shared .align 1024 .b8 memory[" + std::to_string(kSharedBytes) + "];");
  Memory memory;
  const auto map = [&](const Registers& r) {
    return memory.map(const_cast<std::uint64_t*>(r.values.data()), r.values.size() * 8);
  };
  Registers e = problem.metadata;
  e.values.resize(128);
  const auto parameters = pack({memory.map(shared.data(), shared.size()), map(d), map(a), map(e),
                                tile_a.descriptor(), tile_b.descriptor()});
  launch.block = {128, 1, 1};
  launch.parameters = parameters;
  program.run(memory, launch);
  return collect(d, form.d, 64, form.n, place_d, form.n / 2, 128);
}

/// Metadata of rows of stored elements: which of the columns of B each meets.
inline std::vector<int> random_metadata(Random& random, const Form& form, int f, Registers& registers) {
  std::vector<int> picked;
  registers.values.assign(128, 0x4444'4444);
  const int chunk = form.a == tf32 ? 2 : 4;
  for (int row = 0; row < 64; ++row) {
    for (int c = 0; c < form.k() / chunk; ++c) {
      std::uint32_t bits = random.below(2) == 1 ? 0b1110 : 0b0100;
      if (form.a == tf32) {
        picked.push_back(2 * c + (bits == 0b1110 ? 1 : 0));
      } else {
        const std::uint32_t first = random.below(3), second = first + 1 + random.below(3 - first);
        bits = first | second << 2;
        picked.push_back(4 * c + static_cast<int>(first));
        picked.push_back(4 * c + static_cast<int>(second));
      }
      const int quad = row / 16 * 32 + row % 8 * 4, upper = row % 16 / 8;
      const bool narrow = form.a.bits == 8;
      const int lane = quad + (narrow ? upper + 2 * (c / 8) : 2 * f + c / 4),
                bit = narrow ? 4 * (c % 8) : 16 * upper + 4 * (c % 4);
      std::uint64_t& word = registers.values[static_cast<std::size_t>(lane)];
      word = (word & ~(0xfull << bit)) | std::uint64_t{bits} << bit;
    }
  }
  return picked;
}

inline void check(Random& random, const Form& form) {
  const bool transposable = form.transposes();
  Options options{.add = random.below(4) != 0};
  if (form.negates()) {
    options.negate_a = random.below(2) == 1;
    options.negate_b = random.below(2) == 1;
  }
  if (form.sparse && form.a.bits >= 16) options.f = static_cast<int>(random.below(2));
  Problem problem{exact_matrix(random, form.a, 64, form.stored()),
                  exact_matrix(random, form.b, form.k(), form.n),
                  exact_matrix(random, form.d, 64, form.n),
                  {}};
  std::vector<int> picked;
  if (form.sparse) picked = random_metadata(random, form, options.f, problem.metadata);
  const Tile a = random_tile(random, form, 0, 64, form.stored(), transposable && random.below(2) == 1),
             b = random_tile(random, form, 64 * 1024, form.n, form.k(), transposable && random.below(2) == 1);
  const Matrix d = run_wgmma(form, options, problem, a, b);
  const double sign = options.negate_a != options.negate_b ? -1 : 1;
  for (int row = 0; row < 64; ++row) {
    for (int col = 0; col < form.n; ++col) {
      double sum = 0;
      if (options.add)
        sum = form.d == s32 ? static_cast<std::int32_t>(problem.d(row, col)) : problem.d.value(row, col);
      for (int s = 0; s < form.stored(); ++s) {
        const int k = form.sparse ? picked[static_cast<std::size_t>(row * form.stored() + s)] : s;
        sum += sign * problem.a.value(row, s) * problem.b.value(k, col);
      }
      if (form.sat.empty() && form.d == s32) sum = static_cast<std::int32_t>(static_cast<std::int64_t>(sum));
      sum = form.d == s32 ? std::clamp<double>(sum, INT32_MIN, INT32_MAX) : sum;
      CAPTURE(form.opcode(), a.swizzle, a.transposed, a.skip, b.swizzle, b.transposed, b.skip, options.f, row,
              col, sum);
      REQUIRE(d(row, col) == (form.d == s32 ? static_cast<std::uint32_t>(static_cast<std::int32_t>(sum))
                                            : narrow::encode(form.d, sum)));
    }
  }
}

inline std::vector<Form> forms() {
  std::vector<Form> all;
  for (const bool sparse : {false, true}) {
    for (const bool registers : {false, true}) {
      all.push_back({f16, f16, f32, 40, registers, sparse});
      all.push_back({f16, f16, f16, 24, registers, sparse});
      all.push_back({bf16, bf16, f32, 8, registers, sparse});
      all.push_back({tf32, tf32, f32, 48, registers, sparse});
      all.push_back({e4m3, e5m2, f32, 16, registers, sparse});
      all.push_back({e5m2, e4m3, f16, 56, registers, sparse});
      all.push_back({s8, s8, s32, 32, registers, sparse});
      all.push_back({u8, s8, s32, 48, registers, sparse, ".satfinite"});
      if (!sparse) all.push_back({b1, b1, s32, 16, registers, sparse, "", ".and.popc"});
    }
  }
  return all;
}

/// Of f16 with f32 sums, n = 8.
inline Problem small_problem(Random& random) {
  return {exact_matrix(random, f16, 64, 16),
          exact_matrix(random, f16, 16, 8),
          exact_matrix(random, f32, 64, 8),
          {}};
}

}  // namespace ptxloom::exec::test::wgmma_test
