// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>

#include "ptxloom/builder.hpp"
#include "scaled_gemm/weights/dequantiser.hpp"

// Fragments of operand A, of e4m3 or s8, from words of the weight layout beside 8 bits. The products of a run
// of k are accumulated by themselves and then added to sums in f32, times a factor for each row of weights:
// they are promoted. So no accumulation of the tensor cores, which of fp8 keeps 13 bits, is longer than a
// run.
//
// - s4 beside s8: 16 times the integers, by a mask. The factor is a 16th of the scale of the group.
// - u4 beside s8: the zero point is subtracted from four bytes at once, whose highest bits, which are set
//   before and flipped after, are borrowed from. The factor is the scale of the group.
// - s4 beside e4m3: the integers are exact. A byte is looked up by prmt, in a table of 0 to 7 for the low
//   three bits of a code, or in one of -8 to -1. prmt repeats the sign of an entry where the fourth bit of a
//   selector is set: entries of the first table have a sign, so negative codes find 0xff there; in the
//   second, with the fourth bit flipped, those that are not negative find 0. With 0x80 added to both, each
//   byte is the entry that was meant, and carries one. The factor is the scale of the group.
// - u4 beside e4m3: pairs of f16 (dequantiser.hpp) have the zero point subtracted, and are rounded to e4m3,
//   which has all differences from -16 to 16. The factor is the scale of the group.
// - mxfp4: the run has the scales of up to four groups. The factor is the largest; a group that is 2^-d of it
//   looks up magnitudes that are 2^-d as large, in row d of a table in shared memory. e4m3 has them exactly
//   up to d = 14, and rounds them beyond.
// - mxfp6: the same, but pairs of f16 are multiplied by 2^-d and rounded to e4m3, which has e2m3 up to d = 11
//   and e3m2 up to d = 9.
// - nvfp4: prmt looks up the high bytes of f16, an eighth of the magnitudes. They are multiplied by the scale
//   of the group in f16, exactly, and rounded to e4m3. The factor is 8.
namespace ptxloom::scaled_gemm {

/// Elements of k whose products are promoted at once, for k-blocks of this many.
int run_depth(const Problem& problem, int tile_k);

/// sum += accumulator * factor, in f32. Integers of an accumulator are below 2^22.
void promote(KernelBuilder& k, Reg sum, Reg accumulator, Reg factor);
/// sum = accumulator * factor, in f32: of plain sums, once all products are accumulated.
void scale_sum(KernelBuilder& k, Reg sum, Reg accumulator, Reg factor);

class ByteDequantiser {
 public:
  /// Bytes of the table in shared memory; 0: there is none.
  static int table_bytes(const Problem& problem);

  /// `table`: its address in shared memory (u32), if there is one.
  ByteDequantiser(KernelBuilder& k, const Problem& problem, Reg table);
  /// Fills the table. Called by all threads, at least 32, which then pass a barrier.
  static void fill_table(KernelBuilder& k, const Problem& problem, Reg table, Reg thread);

  /// What the groups of a run have in common, for the rows r and r + 8 of a thread.
  struct Run {
    std::array<Reg, 2> factor = {};  ///< f32
    Reg largest = {};                ///< exponents, in both halves
  };
  /// `scales`: of the groups, those of both rows as they lie in memory, in the low bits of a b32; a scale in
  /// f32 has one for each row.
  Run run_of(std::span<const Reg> scales);
  /// That of floats whose largest scale in both rows is this, in both halves.
  Run run_of_largest(Reg largest);
  /// What the elements of a group have in common, for both rows, as far as their format has it.
  struct Group {
    std::array<std::array<Reg, 2>, 2> tables = {};  ///< low and high half
    std::array<Reg, 2> offset = {};                 ///< f16 that are added, or bytes that are subtracted
    std::array<Reg, 2> scale = {};                  ///< f16
  };
  /// `zeros`: zero points of both rows, if there are any.
  Group group_of(const Run& run, Reg scales, Reg zeros);
  /// The two registers of 16 elements of k, number `number` of them. `unit`: the words that they are in.
  void make(std::span<const Reg> unit, int number, const Group& group, std::span<const Reg> into);

 private:
  Run integer_run(std::span<const Reg> scales);
  Run float_run(std::span<const Reg> scales);
  std::array<Reg, 2> zero_bytes(Reg zeros);
  /// `apart`: how far the exponents of both rows are below the largest of their run, in both halves.
  ///@{
  std::array<std::array<Reg, 2>, 2> tables_of(Reg apart);
  std::array<Reg, 2> powers_of_two(Reg apart);
  ///@}
  void bytes(Reg word, const Group& group, std::span<const Reg> into);
  void integers(Reg word, std::span<const Reg> into);
  void floats(Reg word, const Group& group, std::span<const Reg> into);
  void scaled_floats(Reg word, const Group& group, std::span<const Reg> into);
  /// Four bytes of a table for the e2m1 of register `reg` of a word, with their signs.
  void look_up(Reg into, Reg word, std::size_t reg, const std::array<Reg, 2>& table);
  void pairs(std::span<const Reg> unit, int number, const Group& group, std::span<const Reg> into);
  Reg scaled(Reg pair, Reg scale);
  void round(Reg into, Reg low, Reg high);

  KernelBuilder& k_;
  const Problem& p_;
  std::optional<Dequantiser> pairs_;   // in f16, of weights that lie in pairs
  std::optional<Dequantiser> scales_;  // of NVFP4
  Reg table_, zero_;
  std::array<Reg, 2> positive_, negative_;  // tables of integers
  std::array<Reg, 2> magnitudes_;           // table of an eighth of e2m1, high bytes of f16
};

}  // namespace ptxloom::scaled_gemm
