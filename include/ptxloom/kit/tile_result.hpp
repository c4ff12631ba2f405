// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ptxloom/activation.hpp"
#include "ptxloom/kit/accumulators.hpp"
#include "ptxloom/kit/fragments.hpp"

/// \file
/// The epilogue of a product with given terms, which are read in vectors and once for each row or column:
///
///     D = scale_d * activation(alpha * row_scale * column_scale * accumulator + beta * C + bias)
///
/// or, if C comes last, `scale_d * (activation(... + bias) + beta * C)`. Each term may be absent. gemm's
/// epilogues are made of it. epilogue.hpp is simpler, and takes any function of an accumulator.
///
///     kit::TileResult result(k, in);
///     result.store();                                     // each thread stores what it has, or:
///     for (const kit::ResultRun& run : result.finish_pairs(result.pair_runs()))
///       ...                                               // D goes through shared memory
///
/// A thread's elements are handled in runs of adjacent ones of a row, as wide as C and D allow. Elements
/// outside D are computed with zeros for what lies outside C and the vectors, and are not stored.
///
/// Errors: none of its own. A target without an instruction for the types is reported as
/// KernelBuilder::emit() does; bf16 is converted by fallbacks (lower.hpp) before sm_80.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// What an epilogue does. Registers stay live until its end.
struct EpilogueTerms {
  Type accumulator = {};  ///< f32, s32 or f64
  Type arithmetic = {};   ///< of the epilogue: f32, s32 or f64; f32 if there is a term with a type of its own
  Reg alpha;              ///< of `arithmetic`
  std::vector<Reg> scales = {};              ///< other f32 factors of all elements
  std::optional<Reg> row_scales = {};        ///< address of an f32 factor for each row of D
  std::optional<Reg> column_scales = {};     ///< address of an f32 factor for each column of D
  std::optional<Pointer> bias = {};          ///< an element for each column of D
  Activation activation = Activation::none;  ///< where the arithmetic is f32
  std::optional<Reg> beta = {};              ///< of `arithmetic`: beta * C is added
  bool c_last = false;                       ///< after the activation
  std::optional<Reg> scale_d = {};           ///< f32 factor of the result

  /// Whether columns have terms of their own.
  bool by_column() const { return bias || column_scales; }
};

/// C or D in memory, row-major.
struct ResultMatrix {
  Type type = {};      ///< of an element
  int alignment = 16;  ///< kit::alignment(), with the length of rows
  Reg pointer;         ///< the first element
  Reg ld;              ///< elements from a row to the next, u32
};

/// What the epilogue of a tile starts from. Registers are u32.
struct TileResultInputs {
  Variant mma;                   ///< the instruction whose accumulators these are
  int mma_rows, mma_columns;     ///< the distance from one instruction to the next
  Accumulators accumulators;     ///< of a warp
  FragmentOrder row_order = {};  ///< fragment_order() of A and B, if Fragments loads them
  FragmentOrder column_order = {};
  Reg rows, columns;            ///< of D
  Reg block_row, block_column;  ///< origin of the thread block's tile
  Reg warp_row, warp_column;    ///< origin of the warp's part in it
  Reg lane;
  EpilogueTerms terms;
  ResultMatrix c;  ///< read if there is terms.beta
  ResultMatrix d;  ///< its pointer is read by store() only
  /// The accumulators' rows are columns of D, and their columns its rows. All else describes D.
  bool swapped = false;
};
/// Inputs for the transpose of D, where rows and columns are those of the accumulators, as inputs for D.
TileResultInputs swapped(TileResultInputs in);

/// Adjacent elements of a row of D.
struct ResultRun {
  int row = 0;     ///< that of lane 0, in the warp's part
  int column = 0;  ///< the same of the first element
  std::vector<Reg> values;
};

/// The elements of D that a warp has.
class TileResult {
 public:
  TileResult(KernelBuilder& k, const TileResultInputs& in);
  ~TileResult();
  TileResult(const TileResult&) = delete;
  TileResult& operator=(const TileResult&) = delete;

  /// Finishes and stores everything; each thread stores its own elements.
  void store();

  /// Accumulators of pairs of adjacent elements, sorted by row; of single ones if the rows of C allow no
  /// more.
  std::vector<ResultRun> pair_runs() const;
  /// Results for runs, in the arithmetic's type, as pairs.
  std::vector<ResultRun> finish_pairs(const std::vector<ResultRun>& runs);

  /// A result in D's type. For types of 16 bits and more.
  Reg to_result(Reg value);
  /// Results as they are stored: of D's type, or if it has 8 bits two to a register.
  struct Stored {
    Type type;                ///< of a register
    std::vector<Reg> values;  ///< the registers
  };
  Stored to_stored(const std::vector<Reg>& results);  ///< as that says

  Reg row() const;     ///< of this lane's first element in the thread block's tile
  Reg column() const;  ///< the same of its column

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kit
}  // namespace ptxloom
