// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/tune.hpp"

// A device copy in 16-byte vectors: what kernels that only move data are held against.
namespace ptxloom::bench {

inline constexpr std::uint32_t kCopyThreads = 512, kCopyVector = 16;
inline constexpr std::uint32_t kCopyLoads[] = {1, 2, 4};  // vectors that a thread has in flight

/// Copies `count` vectors.
inline ir::Module copy_kernel(std::shared_ptr<const Specs> specs, const Target& target, std::uint32_t loads) {
  KernelBuilder k(std::move(specs), "copy", target);
  const Pointer x = k.pointer(b32, "x"), y = k.pointer(b32, "y");
  const Reg count = k.param(u32, "count");
  const Reg block = k.mul(k.special("ctaid.x"), kCopyThreads * loads);
  const Reg first = k.add(block, k.special("tid.x"));
  std::vector<std::vector<Reg>> words;
  const auto each = [&](const std::function<void(std::uint32_t, Reg)>& body) {
    for (std::uint32_t i = 0; i < loads; ++i) {
      const Reg index = i == 0 ? first : k.add(first, i * kCopyThreads);
      k.guarded(k.lt(index, count), [&] { body(i, index); });
    }
  };
  std::vector<Reg> from, to;
  for (std::uint32_t i = 0; i < loads; ++i) {
    words.push_back(k.regs(b32, 4));
    const Reg index = i == 0 ? first : k.add(first, i * kCopyThreads);
    from.push_back(k.mad_wide(index, kCopyVector, x.base));
    to.push_back(k.mad_wide(index, kCopyVector, y.base));
  }
  each([&](std::uint32_t i, Reg) { k.emit("ld.global.nc.L1::no_allocate.v4.b32", words[i], k.at(from[i])); });
  each([&](std::uint32_t i, Reg) { k.emit("st.global.v4.b32", k.at(to[i]), words[i]); });
  return k.finish();
}

/// Copies this many bytes of the tensor x to y.
inline tune::Candidate copy_candidate(const Context& ctx, std::uint64_t bytes, std::uint32_t loads) {
  const Kernel kernel = ctx.load(copy_kernel(ctx, ctx.target(), loads));
  const std::uint64_t count = (bytes + kCopyVector - 1) / kCopyVector;
  const std::uint64_t of_block = std::uint64_t{kCopyThreads} * loads;
  return {.ptx = {},
          .cubin = {kernel.cubin().begin(), kernel.cubin().end()},
          .launches = {{.entry = kernel.name(),
                        .grid = {static_cast<std::uint32_t>((count + of_block - 1) / of_block), 1, 1},
                        .block = {kCopyThreads, 1, 1},
                        .arguments = {{.name = "x", .type = u64, .tensor = "x"},
                                      {.name = "y", .type = u64, .tensor = "y"},
                                      {.name = "count", .type = u32, .bits = count}}}}};
}

}  // namespace ptxloom::bench
