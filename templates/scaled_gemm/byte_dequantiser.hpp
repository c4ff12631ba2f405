// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "ptxloom/builder.hpp"
#include "scaled_gemm/problem.hpp"

// Fragments of operand A, of e4m3 or s8, from words of the weight layout beside 8 bits. The products of a run
// of k are accumulated by themselves and then added to sums in f32, times a factor for each row of weights:
// they are promoted. So no accumulation of the tensor cores, which of fp8 keeps 13 bits, is longer than a
// run.
//
// - s4 beside s8: 16 times the integers, by a mask. The factor is a 16th of the scale of the group.
// - s4 beside e4m3: the integers are exact. A byte is looked up by prmt, in a table of 0 to 7 for the low
//   three bits of a code, or in one of -8 to -1. prmt repeats the sign of an entry where the fourth bit of a
//   selector is set: entries of the first table have a sign, so negative codes find 0xff there; in the
//   second, with the fourth bit flipped, those that are not negative find 0. With 0x80 added to both, each
//   byte is the entry that was meant, and carries one. The factor is the scale of the group.
// - mxfp4: the run has the scales of up to four groups. The factor is the largest; a group that is 2^-d of it
//   looks up magnitudes that are 2^-d as large, in row d of a table in shared memory. e4m3 has them exactly
//   up to d = 14, and rounds them beyond.
namespace ptxloom::scaled_gemm {

/// Elements of k whose products are promoted at once, for k-blocks of this many.
int run_depth(const Problem& problem, int tile_k);

/// sum += accumulator * factor, in f32. Integers of an accumulator are below 2^22.
void promote(KernelBuilder& k, Reg sum, Reg accumulator, Reg factor);

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
  /// For the elements of a group: the tables of both rows, low and high half.
  using Tables = std::array<std::array<Reg, 2>, 2>;
  Tables tables_of(const Run& run, Reg scales);
  /// The two registers of a word.
  void make(Reg word, const Tables& tables, std::span<const Reg> into);

 private:
  Run integer_run(std::span<const Reg> scales);
  void bytes(Reg word, std::span<const Reg> into);
  void integers(Reg word, std::span<const Reg> into);
  void floats(Reg word, const Tables& tables, std::span<const Reg> into);

  KernelBuilder& k_;
  const Problem& p_;
  Reg table_, zero_, last_;                 // `last_`: the last row of the table, in both halves
  std::array<Reg, 2> positive_, negative_;  // tables of integers
};

}  // namespace ptxloom::scaled_gemm
