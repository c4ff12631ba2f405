// SPDX-License-Identifier: Apache-2.0
// Real code: the block algorithms of the installed CUB headers (cub.cu), compiled by nvcc for two targets,
// against std::.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "exec/harness.hpp"
#include "exec/machine/nvcc.hpp"

namespace ptxloom::exec::test::cub_test {
namespace {

constexpr std::uint32_t kThreads = 128, kTile = 3 * kThreads, kBlocks = 3;

/// The module of cub.cu; skips the test where there is no nvcc, or none that has CUB.
const ir::Module& cub(const std::string& target) {
  static std::map<std::string, ir::Module> modules;
  const auto known = modules.find(target);
  if (known != modules.end()) return known->second;
  return modules.emplace(target, compiled_by_nvcc("cub.cu", target)).first->second;
}

/// What the kernel makes of `in`, in kBlocks blocks.
template <class Out, class In>
std::vector<Out> run_blocks(const ir::Module& module, const std::string& kernel, std::vector<In> in,
                            std::size_t outputs) {
  Memory memory;
  std::vector<Out> out(outputs);
  std::memset(out.data(), 0xA5, outputs * sizeof(Out));
  const auto parameters = pack({memory.map(in.data(), in.size() * sizeof(In), "in"),
                                memory.map(out.data(), outputs * sizeof(Out), "out")});
  Program(module, kernel)
      .run(memory, {.grid = {kBlocks, 1, 1}, .block = {kThreads, 1, 1}, .parameters = parameters});
  return out;
}

/// Items of which many are equal, and whose sums are exact in any order.
template <class T>
std::vector<T> items(Random& random) {
  std::vector<T> values(kBlocks * kTile);
  const bool any = std::is_unsigned_v<T> && random.below(2) == 0;  // they wrap
  for (T& value : values) {
    if (any) {
      value = static_cast<T>(random.bits());
    } else {
      value = static_cast<T>(static_cast<int>(random.below(1000)) - (std::is_signed_v<T> ? 500 : 0));
    }
  }
  return values;
}

/// What `work(begin of the block's items, end, begin of its results)` makes of each block.
template <class Out, class In, class F>
std::vector<Out> each_block(std::vector<In> in, std::size_t outputs, F work) {
  std::vector<Out> out(outputs);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    const auto begin = in.begin() + block * kTile;
    work(begin, begin + kTile, out.begin() + static_cast<std::ptrdiff_t>(block * outputs / kBlocks));
  }
  return out;
}

template <class T>
void check(const ir::Module& module, const std::string& type, Random& random) {
  const std::vector<T> in = items<T>(random);
  constexpr std::size_t all = kBlocks * kTile;
  const auto reduced = each_block<T>(in, 2 * kBlocks, [](auto begin, auto end, auto out) {
    out[0] = std::accumulate(begin, end, T{0});
    out[1] = *std::max_element(begin, end);
  });
  CHECK(run_blocks<T>(module, "reduce_warp_" + type, in, 2 * kBlocks) == reduced);
  CHECK(run_blocks<T>(module, "reduce_raking_" + type, in, 2 * kBlocks) == reduced);

  const auto inclusive = each_block<T>(
      in, all, [](auto begin, auto end, auto out) { std::inclusive_scan(begin, end, out, std::plus<T>()); });
  CHECK(run_blocks<T>(module, "scan_warp_" + type, in, all) == inclusive);
  const auto exclusive = each_block<T>(in, all, [](auto begin, auto end, auto out) {
    std::exclusive_scan(begin, end, out, T{0}, std::plus<T>());
  });
  CHECK(run_blocks<T>(module, "scan_raking_" + type, in, all) == exclusive);

  const auto ascending = each_block<T>(in, all, [](auto begin, auto end, auto out) {
    std::sort(begin, end);
    std::copy(begin, end, out);
  });
  CHECK(run_blocks<T>(module, "sort_" + type, in, all) == ascending);
  const auto descending = each_block<T>(in, all, [](auto begin, auto end, auto out) {
    std::sort(begin, end, std::greater<T>());
    std::copy(begin, end, out);
  });
  CHECK(run_blocks<T>(module, "descend_" + type, in, all) == descending);

  const auto order = each_block<std::uint32_t>(in, all, [](auto begin, auto, auto out) {
    std::iota(out, out + kTile, 0u);
    std::stable_sort(out, out + kTile, [&](std::uint32_t a, std::uint32_t b) { return begin[a] < begin[b]; });
  });
  CHECK(run_blocks<std::uint32_t>(module, "order_" + type, in, all) == order);
}

}  // namespace

TEST_CASE("CUB's block reduction, scan and radix sort give what std:: gives", "[oracle]") {
  Random random;
  INFO("seed " << random.seed);
  for (const std::string target : {"sm_80", "sm_90"}) {
    INFO(target);
    const ir::Module& module = cub(target);
    check<std::int32_t>(module, "s32", random);
    check<std::uint32_t>(module, "u32", random);
    check<std::uint64_t>(module, "u64", random);
    check<std::uint8_t>(module, "u8", random);
    check<float>(module, "f32", random);
    check<double>(module, "f64", random);
  }
}

}  // namespace ptxloom::exec::test::cub_test
