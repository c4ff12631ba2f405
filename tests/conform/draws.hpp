// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "conform/inputs.hpp"
#include "conform/profile.hpp"
#include "conform/run.hpp"
#include "conform/subject.hpp"
#include "ptxloom/conform.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/ptx.hpp"

// The operands that conformance draws for a product, and what the executor makes of them, as matrices.
namespace ptxloom::conform_kernels::draws_test {

struct Matrix {
  int rows = 0, cols = 0;
  std::vector<std::uint64_t> bits;
  std::uint64_t wide(int row, int col) const { return bits[static_cast<std::size_t>(row * cols + col)]; }
  std::uint32_t operator()(int row, int col) const { return static_cast<std::uint32_t>(wide(row, col)); }
};

inline std::uint64_t word(std::span<const std::byte> bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, static_cast<std::size_t>(size));
  return value;
}

/// Where an operand lies in the records of a warp or warpgroup, by the fragment map of the specs.
class Fragment {
 public:
  Fragment(const Subject& subject, const Record& record, std::string_view name)
      : map_(layout(subject.variant, name)), record_(record.bytes) {
    const int operand = subject.variant.operand_index(name);
    for (const LayoutElement& element : map_.elements()) {
      const auto field = std::ranges::find_if(record.fields, [&](const Field& candidate) {
        return candidate.operand == operand && candidate.element == element.reg;
      });
      if (field == record.fields.end()) throw std::logic_error("no field for " + std::string(name));
      places_.push_back({element.lane, field->offset, field->bytes, element.bit,
                         static_cast<std::size_t>(element.row * map_.cols + element.col)});
    }
  }

  /// The operand of the set that begins at `thread`.
  Matrix gather(std::span<const std::byte> bytes, std::size_t thread) const {
    Matrix matrix{map_.rows, map_.cols,
                  std::vector<std::uint64_t>(static_cast<std::size_t>(map_.rows * map_.cols))};
    for (const Place& place : places_) {
      const std::size_t at =
          (thread + static_cast<std::size_t>(place.lane)) * static_cast<std::size_t>(record_) +
          static_cast<std::size_t>(place.offset);
      matrix.bits[place.element] =
          word(bytes, at, place.bytes) >> place.bit & (~std::uint64_t{0} >> (64 - map_.bits));
    }
    return matrix;
  }

 private:
  struct Place {
    int lane, offset, bytes, bit;
    std::size_t element;
  };
  Layout map_;
  int record_;
  std::vector<Place> places_;
};

/// B of a wgmma in the shared memory of its block, K-major (PTX ISA, Asynchronous Warpgroup Level Matrix
/// Shared Memory Layout); `descriptor` as it was drawn, without an address.
inline Matrix from_shared(std::span<const std::byte> tile, std::uint64_t descriptor, int rows, int cols,
                          int bits) {
  const auto field = [&](int at) { return static_cast<int>(descriptor >> at & 0x3fff) * 16; };
  const int leading = field(16), stride = field(32), swizzle = static_cast<int>(descriptor >> 62);
  const int width = swizzle == 0 ? 16 : 256 >> swizzle, bytes = bits / 8;
  Matrix matrix{rows, cols, {}};
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      const int along = col * bytes;
      int at = row / 8 * stride + row % 8 * width;
      at += swizzle == 0 ? along / 16 * leading + along % 16 : along;
      if (swizzle != 0) at ^= (at >> 7 & (width / 16 - 1)) << 4;
      matrix.bits.push_back(word(tile, static_cast<std::size_t>(at), bytes));
    }
  }
  return matrix;
}

struct Ran {
  Subject subject;
  Given given;
  Outcome left;
  Turns turns;
};

/// The subject in the executor, on the operands that it gets by default.
inline Ran ran(const Context& context, const Subject& subject, std::uint64_t elements, std::uint64_t seed) {
  const std::size_t which[] = {0};
  const ParseResult read = parse(module_text({&subject, 1}, which, context.target()), context);
  REQUIRE(read.ok());
  const exec::Program program(read.module, entry_name(0));
  const Given given = given_to(subject, threads_for(subject, elements), seed);
  return {subject, given, run_executor(program, entry_name(0), subject, given, false), Turns(subject, seed)};
}

inline Subject subject_of(
    std::span<const Subject> all, std::string_view opcode,
    const std::function<bool(const Subject&)>& wanted = [](const Subject&) { return true; }) {
  for (const Subject& subject : all)
    if (subject.variant.opcode() == opcode && wanted(subject)) return subject;
  FAIL("no subject " << opcode);
  return {};
}

inline Subject subject_of(const Context& context, std::string_view form, std::string_view opcode) {
  return subject_of(subjects(context.specs(), form, context.target()), opcode);
}

inline std::string name_of(const Subject& subject, std::string_view slot) {
  return std::string(subject.variant.slot(slot).value_or(""));
}

/// The operands of an mma, all in registers.
struct Operands {
  Fragment a, b, c, d;
  explicit Operands(const Subject& subject)
      : a(subject, subject.in, "A"),
        b(subject, subject.in, "B"),
        c(subject, subject.in, "C"),
        d(subject, subject.out, "D") {}
};

/// Calls f(a, b, c, d, row, col) for each element of D of each set.
template <class F>
void each_element(const Ran& run, F f) {
  const Operands operands(run.subject);
  for (std::size_t thread = 0; thread < run.given.threads; thread += kWarpThreads) {
    const Matrix a = operands.a.gather(run.given.in, thread), b = operands.b.gather(run.given.in, thread),
                 c = operands.c.gather(run.given.in, thread), d = operands.d.gather(run.left.records, thread);
    for (int row = 0; row < d.rows; ++row)
      for (int col = 0; col < d.cols; ++col) f(a, b, c, d, row, col);
  }
}

}  // namespace ptxloom::conform_kernels::draws_test
