// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/kit/accumulators.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "scaled_gemm/epilogue/results.hpp"
#include "scaled_gemm/wgmma/plan.hpp"

// The results of a warpgroup, stored to D. Its accumulators are of the transpose: a thread has the same
// columns of D for all rows. So they are stored one by one; or, in large tiles, transposed by stmatrix on the
// way to boxes of D in shared memory, which TMA stores. A tile with rows that must not be written is stored
// one by one.
namespace ptxloom::scaled_gemm::wgmma {

struct StoreInputs {
  Reg warpgroup;  ///< its number
  Reg thread;     ///< of the warpgroup
  Reg stores;     ///< shared address of the boxes of all warpgroups
};

class Store {
 public:
  Store(KernelBuilder& k, const Problem& problem, const Config& config, const Plan& plan, Variant mma,
        const kit::ParamRegs& in, const StoreInputs& inputs);

  /// Accumulators of all row tiles, from register `first` of each instruction on.
  void run(const kit::Accumulators& accumulators, const kit::TileOrigin& tile, int first = 0);
  /// A unit of a tile that stream-K has added up, at this row and column of the warpgroup's part (u32).
  void run_unit(const kit::Accumulators& unit, const kit::TileOrigin& tile, Reg row, Reg column);
  /// Waits for the TMA stores.
  void finish();

 private:
  /// Of this lane's first element: its row, its column of the product, and that of the result in D.
  struct Place {
    Reg row, column, stored;
  };
  void place();
  void store_results(const std::vector<Reg>& sums, const Results& results, const kit::TileOrigin& tile,
                     Reg column, int first);
  void store_boxes(const std::vector<Reg>& sums, const Results& results, const kit::TileOrigin& tile,
                   Reg column);
  void await_buffer();
  void write_box(const std::vector<Reg>& sums, const Results& results, const Place& own, int box, Reg buffer);
  Reg packed(Reg low, Reg high);
  void barrier();

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  const Plan& plan_;
  Variant mma_;
  const kit::ParamRegs& in_;
  StoreInputs inputs_;
  Reg lane_, warp_, leads_;
  Reg buffers_, place_;  // of this warpgroup; of this lane in a box
  int number_ = 0;       // of the box
};

}  // namespace ptxloom::scaled_gemm::wgmma
