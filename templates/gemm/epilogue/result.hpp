// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gemm/config/config.hpp"
#include "gemm/epilogue/terms.hpp"
#include "ptxloom/kit/accumulators.hpp"
#include "ptxloom/kit/fragments.hpp"

// A warp's accumulators as elements of D: the position of each, the epilogue computation
// (epilogue/terms.hpp), and the store from registers. mma_sync/epilogue.hpp and wgmma/tma_store.hpp have the
// other ways to store D.
namespace ptxloom::gemm_kernel {

/// C or D of this thread block, in registers.
struct ResultSource {
  Reg pointer;
  Reg ld;  ///< elements, u32
};

using kit::Accumulators;

struct EpilogueInputs {
  Accumulators accumulators;
  kit::FragmentOrder row_order, column_order;
  Reg m, n;                     ///< of the problem
  Reg block_row, block_column;  ///< origin of the thread block's tile
  Reg warp_row, warp_column;    ///< origin of the warp's part of it
  Reg lane, thread;
  TermInputs terms;
  ResultSource c, d;     ///< c only if the problem reads C; d if elements are stored one by one
  Reg shared;            ///< address of the thread block's shared memory
  bool swapped = false;  ///< the accumulators' rows are columns of D; all else describes D
};
/// Inputs for the transpose of D as inputs for D.
EpilogueInputs swapped(EpilogueInputs in);

/// Adjacent elements of a row; row and column are those of lane 0 in the warp's part of D.
struct Run {
  int row = 0, column = 0;
  std::vector<Reg> values;
};

class ResultPart {
 public:
  ResultPart(KernelBuilder& k, const Problem& p, const Config& c, const EpilogueInputs& in);

  /// All elements by rows, in runs of up to `width` elements that start at multiples of it.
  std::vector<Run> runs(int width) const;
  /// The number of adjacent elements of a row of C or D that one access may cover.
  int run_width(const Result& result) const;

  /// A row while its runs are processed.
  struct Row {
    int number = 0;
    Reg inside;  ///< predicate: the row lies in D
    Reg c;       ///< address of this lane's first element in C
    Reg factor;  ///< for its accumulators
  };
  /// Calls `body` for each row with its runs, which must be sorted by row.
  void by_rows(const std::vector<Run>& runs,
               const std::function<void(const Row&, const std::vector<Run>&)>& body);
  /// The result for the accumulators, in the arithmetic's type.
  Run finish(const Row& row, const Run& run);
  /// Results as stored: in D's type, 8-bit ones two to a register.
  struct Stored {
    Type type;
    std::vector<Reg> values;
  };
  Stored to_stored(const std::vector<Reg>& results);
  Reg to_result(Reg value);
  /// Runs of pairs, or shorter ones if C's rows allow no more; and finished pairs made of them.
  std::vector<Run> pair_runs() const { return runs(p_.reads_c() ? std::min(2, run_width(p_.c)) : 2); }
  std::vector<Run> finish_pairs(const std::vector<Run>& runs);
  /// Predicate: row and column both lie in D.
  Reg inside(const Row& row, int column);
  /// Finishes and stores everything; each lane stores its own elements.
  void store();

  Reg row() const { return row_; }  ///< of this lane's first element in the thread block's tile
  Reg column() const { return column_; }

 private:
  Reg first_element(const ResultSource& source, Type type);
  Reg row_address(Reg base, const ResultSource& source, Type type, int row);
  std::vector<Reg> load_c(const Row& row, const Run& run);
  const TermEmitter::Column& column_terms(int column);
  std::vector<std::vector<Run>> panels(const std::vector<Run>& runs) const;

  KernelBuilder& k_;
  const Problem& p_;
  const EpilogueInputs& in_;
  std::vector<Run> elements_;     // of one value each
  Reg row_, column_;              // of the lane's first element in the thread block's tile
  Reg row_of_d_, column_of_d_;    // the same in D
  Reg rows_left_, columns_left_;  // of D, from that element on
  TermEmitter terms_;
  Reg c_base_;
  std::map<int, TermEmitter::Column> columns_;  // of the rows being processed
  std::map<int, Reg> row_factors_;
};

}  // namespace ptxloom::gemm_kernel
