// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/tune.hpp"

// Reading A and B once and doing nothing with them: what a product of few rows, which is all reading, can be
// held against. Threads go through both tensors as one array of 16-byte vectors, several of which each has
// under way, and keep the exclusive or of all, so that no load can be left out.
namespace ptxloom::bench {

struct StreamForm {
  std::uint32_t loads;          ///< that a thread has under way
  std::uint32_t blocks_per_sm;  ///< of 512 threads
};

inline constexpr std::uint32_t kStreamThreads = 512, kVector = 16;

inline ir::Module streaming_read(std::shared_ptr<const Specs> specs, const Target& target,
                                 const StreamForm& form) {
  KernelBuilder k(std::move(specs), "streaming_read", target);
  const Pointer a = k.pointer(u32, "a"), b = k.pointer(u32, "b"), d = k.pointer(u32, "d");
  const Reg of_a = k.param(u32, "of_a"), all = k.param(u32, "all");  // vectors
  const Reg behind_a = k.sub(b.base, k.mul_wide(of_a, kVector));
  const Reg threads = k.mul(k.special("nctaid.x"), k.special("ntid.x"));
  const Reg sum = k.mov(b32, 0);
  k.for_(k.global_thread_x(), all, k.mul(threads, form.loads), [&](Reg first) {
    struct Load {
      Reg there;
      std::vector<Reg> words;
    };
    std::vector<Load> loads;
    Reg index = first;
    for (std::uint32_t i = 0; i < form.loads; ++i) {
      if (i != 0) index = k.add(index, threads);
      Load& load = loads.emplace_back(Load{.there = k.lt(index, all), .words = k.regs(b32, 4)});
      const Reg base = k.select(k.lt(index, of_a), a.base, behind_a);
      const Reg address = k.mad_wide(index, kVector, base);
      k.guarded(load.there, [&] { k.emit("ld.global.nc.v4.b32", load.words, k.at(address)); });
    }
    for (const Load& load : loads)
      k.guarded(load.there, [&] {
        for (const Reg& word : load.words) k.emit("xor.b32", sum, sum, word);
      });
  });
  // Never of random data, or as good as never; but who knows the data?
  k.if_(k.eq(k.as(u32, sum), 0x9E3779B9), [&] { k.store(d[0], k.as(u32, sum)); });
  return k.finish();
}

/// For the tensors a, b and d of a task.
inline tune::Candidate streaming_candidate(const Context& context, const tune::Task& task,
                                           const StreamForm& form) {
  const auto vectors = [&](std::size_t tensor) { return task.tensors.at(tensor).plan.bytes() / kVector; };
  const Kernel kernel = context.load(streaming_read(context, context.target(), form));
  const auto grid = static_cast<std::uint32_t>(context.device().sms) * form.blocks_per_sm;
  return {.ptx = {},
          .cubin = {kernel.cubin().begin(), kernel.cubin().end()},
          .launches = {{.entry = kernel.name(),
                        .grid = {grid, 1, 1},
                        .block = {kStreamThreads, 1, 1},
                        .arguments = {{.name = "a", .type = u64, .tensor = "a"},
                                      {.name = "b", .type = u64, .tensor = "b"},
                                      {.name = "d", .type = u64, .tensor = "d"},
                                      {.name = "of_a", .type = u32, .bits = vectors(0)},
                                      {.name = "all", .type = u32, .bits = vectors(0) + vectors(1)}}}}};
}

}  // namespace ptxloom::bench
