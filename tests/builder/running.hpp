// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_get_random_seed.hpp>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"

// Kernels of the builder run in the executor, with one buffer of results: what nothing writes stays poisoned.
namespace ptxloom::builder_test {

inline const Context& executor() {
  static const Context context({.device = "cpu"});
  return context;
}

using Words = std::vector<std::uint32_t>;

/// Any, or below a bound.
inline Words random_words(std::size_t count, std::uint32_t below = 0) {
  std::mt19937 random(Catch::getSeed());
  Words words(count);
  for (std::uint32_t& word : words)
    word = static_cast<std::uint32_t>(below == 0 ? random() : random() % below);
  return words;
}

using Emit = std::function<void(KernelBuilder&, Pointer out)>;

/// `count` words of what the kernel writes, in one launch; `in` is its second parameter where there is one.
inline std::vector<std::uint32_t> run(const ir::Module& module, std::size_t count, const LaunchConfig& config,
                                      const std::vector<std::uint32_t>* in = nullptr,
                                      std::string_view entry = {}) {
  const Kernel kernel = executor().load(module, entry);
  Buffer out = executor().alloc(4 * count), given;
  if (in != nullptr) {
    given = executor().alloc(4 * in->size());
    given.copy_from(*in);
    kernel.launch(nullptr, config, {out, given});
  } else {
    kernel.launch(nullptr, config, {out});
  }
  std::vector<std::uint32_t> result(count);
  out.copy_to(result);
  return result;
}

inline std::vector<std::uint32_t> run(const Emit& emit, std::size_t count, const LaunchConfig& config,
                                      const char* target = "sm_90a") {
  KernelBuilder k(executor(), "tried", Target(target));
  emit(k, k.pointer(u32, "out"));
  return run(k.finish(), count, config);
}

/// With a buffer of words as its second parameter.
inline std::vector<std::uint32_t> run(
    const std::function<void(KernelBuilder&, Pointer out, Pointer in)>& emit, std::size_t count,
    const std::vector<std::uint32_t>& in, const LaunchConfig& config, const char* target = "sm_90a") {
  KernelBuilder k(executor(), "tried", Target(target));
  const Pointer out = k.pointer(u32, "out"), given = k.pointer(u32, "in");
  emit(k, out, given);
  return run(k.finish(), count, config, &in);
}

}  // namespace ptxloom::builder_test
