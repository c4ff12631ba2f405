// SPDX-License-Identifier: Apache-2.0
// The operands that conformance draws for products tell the arithmetic of the tensor cores from every
// neighbour of it: models that keep a bit more or less, let zeros take part in the alignment, have another
// least exponent or round where they cut. A model in integers alone (support/mma_model.hpp) says what they
// give; what is right by it, the executor computes.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>

#include "conform/draws.hpp"
#include "conform/product_draw.hpp"
#include "conform/roles.hpp"
#include "support/mma_model.hpp"

namespace ptxloom::conform_kernels::draws_test {
namespace {

using test::MmaModel, test::MmaModelRow;
using Bits = std::vector<std::uint32_t>;
using State = ConformResult::State;

/// A mutant of the right model, by what is wrong with it.
struct Mutant {
  std::string what;
  MmaModel model;
};

struct Case {
  std::string target, form, opcode;
  MmaModel model;
  std::vector<Mutant> mutants;
  std::string types = {};  ///< of wgmma: what stands behind its width
};

MmaModel with(MmaModel model, const std::function<void(MmaModel&)>& change) {
  change(model);
  return model;
}

std::vector<Mutant> common(const MmaModel& right) {
  return {{"a bit less", with(right, [](MmaModel& m) { --m.window; })},
          {"a bit more", with(right, [](MmaModel& m) { ++m.window; })},
          {"terms rounded", with(right, [](MmaModel& m) { m.terms_nearest = true; })}};
}
Mutant zeros(const MmaModel& right) {
  return {"zeros aligned", with(right, [](MmaModel& m) { m.zeros_align = true; })};
}
Mutant least(const MmaModel& right, int exponent) {
  return {"least exponent " + std::to_string(exponent),
          with(right, [&](MmaModel& m) { m.least = exponent; })};
}

/// The mutants that operands of the types can tell from it; `leasts`: least exponents.
Case mma(std::string target, std::string words, MmaModel right, std::vector<int> leasts,
         bool zeros_show = true) {
  Case made{.target = std::move(target),
            .form = "mma",
            .opcode = "mma.sync.aligned." + words,
            .model = right,
            .mutants = common(right)};
  if (zeros_show) made.mutants.push_back(zeros(right));
  for (const int exponent : leasts) made.mutants.push_back(least(right, exponent));
  return made;
}

// What the factors' smallest products do not reach is left out: of f16 into f32 and of e4m3 no least exponent
// shows.
std::vector<Case> cases() {
  const MmaModel hopper32{.window = 25, .least = -133}, hopper16{.window = 25, .least = -21},
      ampere32{.window = 24, .least = -132, .chunk = 8}, ampere16{.window = 24, .least = -20, .chunk = 8},
      fp8{.window = 13, .result_bits = 13, .chunk = 16};
  const MmaModel ampere_tf32 = with(ampere32, [](MmaModel& m) { m.chunk = 4; });
  const MmaModel through32 = with(hopper32, [](MmaModel& m) { m.through_f16 = true; }),
                 through16 = with(hopper16, [](MmaModel& m) { m.through_f16 = true; });
  return {
      mma("sm_90a", "m16n8k16.row.col.f32.f16.f16.f32", hopper32, {}),
      mma("sm_90a", "m16n8k8.row.col.f32.f16.f16.f32", hopper32, {}),
      mma("sm_90a", "m16n8k16.row.col.f16.f16.f16.f16", hopper16, {-20, -22, -14, -1000}),
      mma("sm_90a", "m16n8k16.row.col.f32.bf16.bf16.f32", hopper32, {-132, -134, -126, -1000}),
      mma("sm_90a", "m16n8k8.row.col.f32.tf32.tf32.f32", hopper32, {-132, -134, -126, -1000}),
      mma("sm_90a", "m16n8k32.row.col.f32.e5m2.e5m2.f32", through32, {}),
      mma("sm_90a", "m16n8k32.row.col.f32.e4m3.e4m3.f32", through32, {}, false),
      mma("sm_90a", "m16n8k32.row.col.f16.e5m2.e5m2.f16", through16, {}),
      mma("sm_80", "m16n8k16.row.col.f32.f16.f16.f32", ampere32, {}),
      mma("sm_80", "m16n8k16.row.col.f16.f16.f16.f16", ampere16, {-19, -21, -14, -1000}),
      mma("sm_80", "m16n8k16.row.col.f32.bf16.bf16.f32", ampere32, {-131, -133, -126, -1000}),
      mma("sm_80", "m16n8k8.row.col.f32.tf32.tf32.f32", ampere_tf32, {-131, -133, -126, -1000}),
      mma("sm_89", "m16n8k32.row.col.f16.e5m2.e5m2.f16", fp8, {-14, -18}),
      mma("sm_89", "m16n8k32.row.col.f16.e5m2.e4m3.f16", fp8, {}),
      mma("sm_89", "m16n8k32.row.col.f32.e5m2.e5m2.f32", fp8, {}),
      mma("sm_89", "m16n8k32.row.col.f32.e4m3.e4m3.f32", fp8, {}),
      mma("sm_89", "m16n8k32.row.col.f16.e4m3.e4m3.f16", fp8, {}),
      mma("sm_120a", "m16n8k32.row.col.kind::f8f6f4.f32.e5m2.e3m2.f32", hopper32, {}, false),
      mma("sm_120a", "m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m1.f32", hopper32, {}, false),
  };
}

struct Counts {
  std::uint64_t elements = 0, wrong = 0;
  std::set<std::string> apart;  ///< mutants that an element told from the right model
};

class Comparison {
 public:
  Comparison(const Case& one, std::string_view a, std::string_view b, std::string_view sum)
      : right_(one.model, a, b, sum) {
    for (const Mutant& mutant : one.mutants)
      mutants_.emplace_back(mutant.what, MmaModelRow(mutant.model, a, b, sum));
  }

  /// B is k x n, or n x k where it lies by columns.
  void compare(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d, bool by_columns,
               bool added, Counts& counts) const {
    std::vector<Bits> columns(static_cast<std::size_t>(d.cols));
    for (int col = 0; col < d.cols; ++col)
      for (int k = 0; k < a.cols; ++k)
        columns[static_cast<std::size_t>(col)].push_back(by_columns ? b(col, k) : b(k, col));
    for (int row = 0; row < d.rows; ++row) {
      Bits left;
      for (int k = 0; k < a.cols; ++k) left.push_back(a(row, k));
      for (int col = 0; col < d.cols; ++col) {
        const Bits& right = columns[static_cast<std::size_t>(col)];
        const std::uint32_t addend = added ? c(row, col) : 0, wanted = right_(left, right, addend);
        ++counts.elements;
        counts.wrong += wanted != d(row, col);
        for (const auto& [what, mutant] : mutants_) {
          if (!counts.apart.contains(what) && mutant(left, right, addend) != wanted)
            counts.apart.insert(what);
        }
      }
    }
  }

 private:
  MmaModelRow right_;
  std::vector<std::pair<std::string, MmaModelRow>> mutants_;
};

Counts compare_mma(const Case& one, std::uint64_t seed) {
  const Context cpu({.device = "cpu", .cpu_target = one.target});
  const Ran run = ran(cpu, subject_of(cpu, one.form, one.opcode), 10000, seed);
  const Comparison comparison(one, name_of(run.subject, "a"), name_of(run.subject, "b"),
                              name_of(run.subject, "d"));
  const Operands operands(run.subject);
  Counts counts;
  for (std::size_t thread = 0; thread < run.given.threads; thread += kWarpThreads) {
    comparison.compare(operands.a.gather(run.given.in, thread), operands.b.gather(run.given.in, thread),
                       operands.c.gather(run.given.in, thread), operands.d.gather(run.left.records, thread),
                       false, true, counts);
  }
  return counts;
}

void compare_wgmma(const Context& cpu, std::span<const Subject> all, const Case& one, bool registers, int n,
                   Counts& counts) {
  const std::string opcode = one.opcode + "m64n" + std::to_string(n) + one.types;
  const Subject subject = subject_of(all, opcode, [&](const Subject& candidate) {
    const auto literal = [&](const char* name) {
      const int at = candidate.variant.operand_index(name);
      return at < 0 ? 0 : candidate.immediates[static_cast<std::size_t>(at)];
    };
    // Both factors negated is none negated; not transposed is K-major.
    return literal("NA") == literal("NB") && literal("TA") == 0 && literal("TB") == 0 &&
           (name_of(candidate, "source") == "registers") == registers;
  });
  const Ran run = ran(cpu, subject, 1000, static_cast<std::uint64_t>(n));
  const std::string a_type = name_of(subject, "a"), b_type = name_of(subject, "b");
  const Comparison comparison(one, a_type, b_type, name_of(subject, "d"));
  const int bits = find_type(b_type)->bits;
  const auto drawn = [&](std::string_view name, std::size_t thread) {
    for (const Field& field : subject.in.fields)
      if (field.operand == subject.variant.operand_index(name))
        return word(
            run.given.in,
            thread * static_cast<std::size_t>(subject.in.bytes) + static_cast<std::size_t>(field.offset),
            field.bytes);
    return std::uint64_t{0};
  };
  const Fragment c(subject, subject.in, "D"), d(subject, subject.out, "D");
  std::optional<Fragment> a_registers;
  if (registers) a_registers.emplace(subject, subject.in, "A");
  for (std::size_t thread = 0; thread < run.given.threads; thread += kBlockThreads) {
    const auto tile = std::span(run.given.slots).subspan(thread * kSlotBytes, kBlockThreads * kSlotBytes);
    const Matrix a = registers ? a_registers->gather(run.given.in, thread)
                               : from_shared(tile, drawn("A", thread), 64, 256 / find_type(a_type)->bits,
                                             find_type(a_type)->bits);
    comparison.compare(a, from_shared(tile, drawn("B", thread), n, 256 / bits, bits),
                       c.gather(run.given.in, thread), d.gather(run.left.records, thread), true,
                       (drawn("P", thread) & 1) != 0, counts);
  }
}

void check(const Case& one, const Counts& counts) {
  INFO(one.target << " " << one.opcode << ": " << counts.elements << " elements");
  CHECK(counts.elements >= 1000);
  CHECK(counts.wrong == 0);
  for (const Mutant& mutant : one.mutants) {
    INFO("mutant: " << mutant.what);
    CHECK(counts.apart.contains(mutant.what));
  }
}

}  // namespace

TEST_CASE("the draws of mma tell every neighbour of its arithmetic, and the executor is right on all of them",
          "[slow]") {
  for (const Case& one : cases()) check(one, compare_mma(one, 1));
}

TEST_CASE("the draws of mma of integers tell where a sum wraps and where it saturates") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  for (const bool satfinite : {false, true}) {
    const std::string sat = satfinite ? "satfinite." : "";
    const Ran run =
        ran(cpu, subject_of(cpu, "mma", "mma.sync.aligned.m16n8k32.row.col." + sat + "s32.s8.s8.s32"), 1, 1);
    std::uint64_t wrong = 0, beyond = 0, just = 0, by_step = 0;
    each_element(run,
                 [&](const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d, int row, int col) {
                   constexpr std::int64_t least = INT32_MIN, most = INT32_MAX;
                   std::int64_t sum = static_cast<std::int32_t>(c(row, col)), step = sum;
                   for (int k = 0; k < a.cols; ++k) {
                     const std::int64_t product =
                         static_cast<std::int8_t>(a(row, k)) * static_cast<std::int8_t>(b(k, col));
                     sum += product;
                     step = std::clamp(step + product, least, most);
                   }
                   const std::int64_t clamped = std::clamp(sum, least, most);
                   wrong += d(row, col) != static_cast<std::uint32_t>(satfinite ? clamped : sum);
                   beyond += clamped != sum;
                   just += sum == most + 1 || sum == most || sum == least || sum == least - 1;
                   by_step += clamped != step;
                 });
    CHECK(wrong == 0);
    CHECK(beyond > 100);
    CHECK(just > 0);
    CHECK(by_step > 0);
  }
}

TEST_CASE("integer factors are the ends of their type or near zero, and zero where the profile has zeros") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  const auto spread = std::ranges::find(profiles(), "spread", &Profile::name);
  REQUIRE(spread != profiles().end());
  REQUIRE(spread->zeros == 0);
  const auto drawn = [&](const std::string& opcode, Role role, const Type& type) {
    const Subject subject = subject_of(cpu, "mma", "mma.sync.aligned." + opcode);
    std::set<std::uint64_t> seen;
    std::mt19937_64 random(1);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const ProductDraw draw(*spread, ProductTypes(Roles(subject)), seed);
      for (std::size_t k = 0; k < 64; ++k) seen.insert(draw.value(role, type, k, random));
    }
    return seen;
  };
  using Set = std::set<std::uint64_t>;
  for (const Role role : {Role::left, Role::right}) {
    CHECK(drawn("m16n8k32.row.col.s32.s8.s8.s32", role, s8) == Set{0x80, 0x7f, 1, 0xff, 2, 3});
    CHECK(drawn("m16n8k64.row.col.s32.s4.s4.s32", role, *find_type("s4")) == Set{8, 7, 1, 15, 2, 3});
    CHECK(drawn("m16n8k32.row.col.s32.u8.u8.s32", role, u8) == Set{0, 255, 1, 2, 3});
  }
}

TEST_CASE("elements of one register meet others, and are zero or not for themselves") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  const Subject subject = subject_of(cpu, "mma", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  const Given given = given_to(subject, threads_for(subject, 20000), 5);
  const Turns turns(subject, 5);
  const Operands operands(subject);
  std::size_t apart = 0, met = 0, zeros = 0;
  for (std::size_t thread = 0; thread < given.threads; thread += kWarpThreads) {
    if (profiles()[turns.profile_of(thread)].name != "zero-factor") continue;
    const Matrix a = operands.a.gather(given.in, thread), b = operands.b.gather(given.in, thread);
    const auto zeros_of = [](const Matrix& matrix, int k, bool left) {
      int count = 0;
      for (int line = 0; line < (left ? matrix.rows : matrix.cols); ++line)
        count += ((left ? matrix(line, k) : matrix(k, line)) & 0x7fff) == 0;
      return count;
    };
    int whole = 0, none = 0;  // of the odd k: the second elements of their registers
    for (int k = 0; k < a.cols; ++k) {
      const bool left = zeros_of(a, k, true) == a.rows, right = zeros_of(b, k, false) == b.cols;
      zeros += left || right;
      met += left && right;
      if (k % 2 == 1) (left ? whole : none) += left || zeros_of(a, k, true) == 0;
    }
    apart += whole > 0 && none > 0;
  }
  CHECK(zeros > 100);
  CHECK(met == 0);  // a zero meets what is none
  CHECK(apart > 5);
}

TEST_CASE("the draws of mma of f64 tell a chain of fma from its neighbours") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  const Ran run = ran(cpu, subject_of(cpu, "mma", "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"), 1, 1);
  std::uint64_t wrong = 0, unfused = 0, backwards = 0, flushed = 0;
  each_element(
      run, [&](const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d, int row, int col) {
        const auto number = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
        const auto differ = [](double x, double y) {
          return !(x != x && y != y) && std::bit_cast<std::uint64_t>(x) != std::bit_cast<std::uint64_t>(y);
        };
        double sum = number(c.wide(row, col)), rounded = sum, back = sum;
        for (int k = 0; k < a.cols; ++k) {
          const double x = number(a.wide(row, k)), y = number(b.wide(k, col));
          const int last = a.cols - 1 - k;
          const volatile double product = x * y;
          sum = std::fma(x, y, sum);
          rounded += product;
          back = std::fma(number(a.wide(row, last)), number(b.wide(last, col)), back);
        }
        wrong += differ(number(d.wide(row, col)), sum);
        unfused += differ(rounded, sum);
        backwards += differ(back, sum);
        flushed += std::fpclassify(sum) == FP_SUBNORMAL;
      });
  CHECK(wrong == 0);
  CHECK(unfused > 100);
  CHECK(backwards > 100);
  CHECK(flushed > 100);
}

TEST_CASE("the draws of wgmma tell every neighbour of its arithmetic, A in shared memory or in registers",
          "[slow]") {
  const MmaModel wide{.window = 25, .least = -133}, half{.window = 25, .least = -21},
      fp8{.window = 13, .result_bits = 13};
  const auto wgmma = [](const std::string& types, const MmaModel& right, const std::vector<int>& leasts) {
    Case made = mma("sm_90a", "", right, leasts);
    made.form = "wgmma.mma_async";
    made.opcode = "wgmma.mma_async.sync.aligned.";
    made.types = types;
    return made;
  };
  const std::vector<Case> all = {
      wgmma("k32.f16.e5m2.e5m2", fp8, {-14, -18}),  wgmma("k32.f32.e5m2.e5m2", fp8, {}),
      wgmma("k32.f32.e4m3.e4m3", fp8, {}),          wgmma("k16.f16.f16.f16", half, {-20, -22}),
      wgmma("k16.f32.f16.f16", wide, {}),           wgmma("k16.f32.bf16.bf16", wide, {-132, -134}),
      wgmma("k8.f32.tf32.tf32", wide, {-132, -134})};
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  const std::vector<Subject> subjects_there = subjects(cpu.specs(), "wgmma.mma_async", cpu.target());
  for (const Case& one : all) {
    Counts counts;  // of a few widths, as a form's run has all of them
    for (const int n : {8, 16, 24, 32, 40, 48})
      for (const bool registers : {false, true})
        compare_wgmma(cpu, subjects_there, one, registers, n, counts);
    check(one, counts);
  }
}

}  // namespace ptxloom::conform_kernels::draws_test
