// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "scaled_gemm/weights/byte_dequantiser.hpp"
#include "scaled_gemm/weights/dequantiser.hpp"
#include "scaled_gemm/weights/wide_dequantiser.hpp"

// The fragments of a row tile of weights, 64 rows, from the words and scales of a k-block that a thread has
// in registers: what the strategies for weights have in common.
namespace ptxloom::scaled_gemm {

/// Elements of k of an instruction.
inline int instruction_depth(const Problem& p) { return p.row_scales() ? 32 : 16; }

/// A thread's part of a k-block.
struct WeightBlock {
  std::vector<Reg> words;          ///< those of the thread in the weight layout
  std::vector<Reg> scales, zeros;  ///< of each group, and of zero points if there are any. A scale in f32
                                   ///< has two registers, of rows r and r + 8; others share one
};

class WeightGroups {
 public:
  /// `table`: shared address of ByteDequantiser::table_bytes(), if there are any.
  WeightGroups(KernelBuilder& k, const Problem& problem, int tile_k, Reg table = {});

  static int count_of(const Problem& problem, int tile_k) { return problem.b.groups_in(tile_k); }
  /// Registers of the scales of a group, and of all groups of a k-block.
  ///@{
  static int scale_registers(const Problem& problem) { return problem.b.wide_scales() ? 2 : 1; }
  static int scale_registers(const Problem& problem, int tile_k) {
    return count_of(problem, tile_k) * scale_registers(problem);
  }
  ///@}
  int count() const { return count_; }  ///< groups of a k-block
  WeightBlock allocate() const;
  /// Loads the words of a k-block from `from`, where those of its first tile are.
  void load_words(std::string_view load, const WeightBlock& block, Reg from) const;
  /// Loads the scales of the k-block that begins at `depth` from `from`, where those of its first group are.
  /// `load`: "ld.global.nc"; `end`: k.
  void load_scales(std::string_view load, const WeightBlock& block, Reg from, Reg depth, Reg end) const;
  /// The number of the group that begins at or before `depth`, u32.
  static Reg group_at(KernelBuilder& k, const Problem& problem, Reg depth);

  /// What make() keeps of a row tile from one instruction to the next.
  struct State {
    Dequantiser::Factors factors = {};
    Reg above_one = {};  // predicate: the k-block has scales above 1
    ByteDequantiser::Run run = {};
    ByteDequantiser::Group group = {};
    WideDequantiser::Factors wide = {};
  };
  /// Of plain sums of floats with ue8m0 scales, whose run is all of k: called before the first k-block.
  bool needs_largest() const { return p_.row_scales() && p_.plain_sums && p_.b.format.scale == ue8m0; }
  /// `scales`: global address of the row tile's (u64). `thread`: of the four warps that have the tile.
  void begin(State& state, Reg scales, Reg thread);
  /// The registers of the fragments of consecutive instructions, four of each, from this one on. Called for
  /// all of a k-block, in order.
  void make(const WeightBlock& block, int first, State& state, std::span<const Reg> into);

  /// Elements of k whose products are promoted at once; 0: accumulators are not promoted.
  int run() const { return run_; }

 private:
  using Scales = std::span<const Reg>;
  void clear_behind(Reg scale, int group, Reg depth, Reg end) const;
  int group_of(int depth) const;  // of the k-block
  bool begins_group(int depth) const { return depth == 0 || group_of(depth) != group_of(depth - 1); }
  /// The registers of the scales of `count` groups.
  Scales scales_of(const WeightBlock& block, int group, int count = 1) const;
  void make_halves(const WeightBlock& block, int instruction, State& state, std::span<const Reg> into);
  void make_wide(const WeightBlock& block, int instruction, State& state, std::span<const Reg> into);
  void make_bytes(const WeightBlock& block, int number, State& state, std::span<const Reg> into);
  /// The words that have 16 elements of k, which number is given: of 6 bits those of 32.
  std::span<const Reg> unit_of(const WeightBlock& block, int number) const;
  Reg zeros_of(const WeightBlock& block, int group) const;

  KernelBuilder& k_;
  const Problem& p_;
  kit::WeightLayout layout_;
  int tile_k_, count_, run_ = 0;
  std::optional<Dequantiser> halves_;
  std::optional<ByteDequantiser> bytes_;
  std::optional<WideDequantiser> wide_;
};

}  // namespace ptxloom::scaled_gemm
