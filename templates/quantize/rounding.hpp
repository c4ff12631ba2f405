// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/philox.hpp"
#include "quantize/problem.hpp"

// Stochastic rounding. A value u lies between two neighbours of the format that are q apart; it becomes
// q * floor(u / q + r), with r = (word >> 8) / 2^24 and `word` a random one: element i of a row has word i %
// 4 of those that Philox makes of the counter (i / 4, row, 0, 0) and the seed. So the result is the same in
// every configuration.
namespace ptxloom::quantize_kernel {

class StochasticRounding {
 public:
  StochasticRounding(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in, Reg row);

  /// Values of the format, or beyond its range. `column`: the element of the row that the first one is, an
  /// s32 and a multiple of the number of values.
  std::vector<Reg> round(const std::vector<Reg>& values, Reg column) const;

 private:
  std::vector<Reg> words(std::size_t count, Reg column) const;
  Reg round_one(Reg value, Reg word) const;

  KernelBuilder& k_;
  const Problem& p_;
  kit::Philox philox_;
  Reg row_;
};

}  // namespace ptxloom::quantize_kernel
