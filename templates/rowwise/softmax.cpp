// SPDX-License-Identifier: Apache-2.0
// softmax and log_softmax: the maximum and the sum of exponentials in one pass (the online algorithm of
// Milakov and Gimelshein), the results in another.
#include <limits>
#include <numbers>

#include "rowwise/row.hpp"

namespace ptxloom::rowwise_kernel {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

/// The softmax of one part of the row, for this thread's elements.
kit::SoftmaxSum softmax_of(KernelBuilder& k, Part& part) {
  const int vector = part.window().shape().vector;
  std::vector<Reg> tops;
  for (int slot = 0; slot < part.slots(); ++slot) {
    const std::vector<Reg> values = part.values(slot);
    for (std::size_t i = 0; i < values.size(); ++i)
      slot == 0 ? tops.push_back(values[i]) : void(tops[i] = k.max(tops[i], values[i]));
  }
  Reg top = tops[0];
  for (int i = 1; i < vector; ++i) top = k.max(top, tops[static_cast<std::size_t>(i)]);
  const Reg base = kit::finite_max(k, top);
  part.convert_again_after(base);
  std::vector<Reg> sums;
  for (int slot = 0; slot < part.slots(); ++slot) {
    const std::vector<Reg> values = part.values(slot);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Reg power = kit::exp_below(k, values[i], base);
      slot == 0 ? sums.push_back(power) : void(sums[i] = k.add(sums[i], power));
    }
  }
  Reg sum = sums[0];
  for (int i = 1; i < vector; ++i) sum = k.add(sum, sums[static_cast<std::size_t>(i)]);
  return {.max = top, .sum = sum};
}

}  // namespace

void emit_softmax(const RowKernel& kernel) {
  KernelBuilder& k = kernel.k;
  Row row(k, kernel.p, kernel.c, kernel.in, kernel.window, kLowest);
  const kit::SoftmaxSum mine{.max = k.mov(f32, kLowest), .sum = k.mov(f32, 0.0F)};
  row.each_part([&](Part& part) {
    kit::SoftmaxSum more = softmax_of(k, part);
    if (!kernel.c.keeps_row(kernel.p)) more = kit::merge(k, mine, more);
    k.set(mine.max, more.max), k.set(mine.sum, more.sum);
  });
  const kit::SoftmaxSum all = kernel.reducer.softmax(mine);
  row.convert_again_after(all.sum);
  const bool log = kernel.p.op == Op::log_softmax;
  const Reg last = log ? k.mul(k.log2(all.sum), std::numbers::ln2_v<float>) : k.rcp(all.sum);
  row.store([&](const Part& part, int slot) {
    std::vector<Reg> results;
    for (const Reg& value : part.values(slot))
      results.push_back(log ? k.sub(k.sub(value, all.max), last)
                            : k.mul(kit::exp_below(k, value, all.max), last));
    return results;
  });
}

}  // namespace ptxloom::rowwise_kernel
