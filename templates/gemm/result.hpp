// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fragments.hpp"
#include "function.hpp"

// A warp's accumulators as elements of D: where each lies, what becomes of it (function.hpp), and storing it
// from registers. How else D gets to memory is the business of epilogue.hpp and
// tma_store.hpp.
namespace ptxloom::gemm_kernel {

/// C or D of this block, in registers.
struct ResultSource {
  Reg pointer;
  Reg ld;  ///< elements, u32
};

using Accumulators = std::vector<std::vector<std::vector<Reg>>>;  ///< [tile along m][tile along n][register]

struct EpilogueInputs {
  Accumulators accumulators;
  Order row_order, column_order;
  Reg m, n;                     ///< of the problem
  Reg block_row, block_column;  ///< origin of the block's tile
  Reg warp_row, warp_column;    ///< origin of the warp's part in it
  Reg lane, thread;
  FunctionInputs function;
  ResultSource c, d;     ///< c only where the problem reads C; d where elements are stored one by one
  Reg shared;            ///< address of the block's shared memory
  bool swapped = false;  ///< the accumulators' rows are columns of D; all else speaks of D
};
/// Inputs that speak of D's transpose, as inputs that speak of D.
EpilogueInputs swapped(EpilogueInputs in);

/// Neighbours in a row; row and column are those of lane 0 in the warp's part of D.
struct Run {
  int row = 0, column = 0;
  std::vector<Reg> values;
};

/// "st.shared.v2.f32", to be completed from "st.shared.".
std::string vector_word(std::string_view opcode, Type type, std::size_t count);
/// `left` columns are more than `column`, in a row that lies inside.
Reg inside_row(KernelBuilder& k, Reg row_inside, Reg left, int column);

class ResultPart {
 public:
  ResultPart(KernelBuilder& k, const Problem& p, const Config& c, const EpilogueInputs& in);

  /// All elements by rows, in runs of up to `width`, which begin at multiples of it.
  std::vector<Run> runs(int width) const;
  /// How many neighbours of a row of C or D one access may take.
  int run_width(const Result& result) const;

  /// A row while its runs are dealt with.
  struct Row {
    int number = 0;
    Reg inside;  ///< it lies in D
    Reg c;       ///< address of this lane's first element in C
    Reg factor;  ///< of its sums
  };
  /// Calls `body` for each row with its runs, which must come row by row.
  void by_rows(const std::vector<Run>& runs,
               const std::function<void(const Row&, const std::vector<Run>&)>& body);
  /// What D is of the sums, in the arithmetic's type.
  Run finish(const Row& row, const Run& run);
  /// Results as memory takes them: in D's type, those of 8 bits two in a register.
  struct Words {
    Type type;
    std::vector<Reg> values;
  };
  Words to_words(const std::vector<Reg>& results);
  Reg to_result(Reg value);
  /// Runs of pairs, for what stores them as such, or of less where C's rows allow no better; and pairs made
  /// of them, finished.
  std::vector<Run> pair_runs() const { return runs(p_.reads_c() ? std::min(2, run_width(p_.c)) : 2); }
  std::vector<Run> finish_pairs(const std::vector<Run>& runs);
  /// Row and column both lie in D.
  Reg inside(const Row& row, int column);
  /// Finishes and stores everything, each lane its own elements.
  void store();

  Reg row() const { return row_; }  ///< of this lane's first element in the block's tile
  Reg column() const { return column_; }

 private:
  Reg first_element(const ResultSource& source, Type type);
  Reg row_address(Reg base, const ResultSource& source, Type type, int row);
  std::vector<Reg> load_c(const Row& row, const Run& run);
  const FunctionEmitter::Column& column_terms(int column);
  std::vector<std::vector<Run>> panels(const std::vector<Run>& runs) const;

  KernelBuilder& k_;
  const Problem& p_;
  const EpilogueInputs& in_;
  std::vector<Run> elements_;     // of one value each
  Reg row_, column_;              // of the lane's first element in the block's tile
  Reg row_of_d_, column_of_d_;    // and in D
  Reg rows_left_, columns_left_;  // of D from there
  FunctionEmitter function_;
  Reg c_base_;
  std::map<int, FunctionEmitter::Column> columns_;  // of the rows that are being dealt with
  std::map<int, Reg> row_factors_;
};

}  // namespace ptxloom::gemm_kernel
