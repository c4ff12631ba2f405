// SPDX-License-Identifier: Apache-2.0
// A repeated kernel must give the same bits, in whatever order its thread blocks and copies happen to run.
// Outputs are compared on the device, so thousands of repeats take no longer than running them.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "ptxloom/builder.hpp"
#include "ptxloom/gemm.hpp"
#include "support/gpu.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::gemm_repeats_test {
namespace {

/// Counts the words in which `a` and `b` differ.
ir::Module difference(const Context& context) {
  KernelBuilder k(context, "difference", context.target());
  const Pointer a = k.pointer(u32, "a"), b = k.pointer(u32, "b"), count = k.pointer(u32, "count");
  const Reg words = k.param(u32, "words");
  const Reg threads = k.mul(k.special("nctaid.x"), k.special("ntid.x"));
  k.for_(k.global_thread_x(), words, threads, [&](Reg i) {
    const Reg differs = k.ne(k.load(a[i]), k.load(b[i]));
    k.guarded(differs, [&] { k.emit("red.global.add.u32", k.at(count.base), 1); });
  });
  return k.finish();
}

class Difference {
 public:
  explicit Difference(const Context& context)
      : kernel_(context.load(difference(context))), count_(context.alloc(sizeof(std::uint32_t))) {
    count_.fill(std::byte{0});
  }
  void add(const Buffer& a, const Buffer& b) {
    const auto words = static_cast<std::uint32_t>(a.size() / 4);
    kernel_.launch(nullptr, {.grid = {64}, .block = {256}}, {a, b, count_, words});
  }
  /// The total found so far.
  std::uint32_t total() const {
    std::array<std::uint32_t, 1> total{};
    count_.copy_to(total);
    return total[0];
  }

 private:
  Kernel kernel_;
  Buffer count_;
};

/// The words that differ between a first run and `times` more, each on an output poisoned with another byte.
std::uint32_t differing(const Context& context, const Settings& words, const Settings& config, int times) {
  const Gemm gemm(context, specialise(context, gemm_template(), gemm_template().problem(words), config));
  const auto tensors = make_tensors(gemm_template(), gemm.problem(), {}, Catch::getSeed());
  std::map<std::string, Buffer, std::less<>> buffers;
  for (const HostTensor& tensor : tensors) {
    Buffer& buffer = buffers[tensor.plan.name] = context.alloc(tensor.plan.bytes());
    buffer.write(tensor.bytes);
  }
  Buffer first = context.alloc(buffers["d"].size());
  const auto run = [&](const Buffer& d) {
    gemm.launch(nullptr, {.a = buffers["a"], .b = buffers["b"], .d = d});
  };
  run(first);
  Difference difference(context);
  for (int i = 0; i < times; ++i) {
    buffers["d"].fill(static_cast<std::byte>(i));
    run(buffers["d"]);
    difference.add(first, buffers["d"]);
  }
  return difference.total();
}

const Settings kKinds[] = {{{"strategy", "wgmma"}, {"split", "1"}, {"stream_k", "no"}},
                           {{"strategy", "wgmma"}, {"split", "2"}},
                           {{"strategy", "wgmma"}, {"split", "1"}, {"stream_k", "yes"}},
                           {{"strategy", "mma"}, {"split", "1"}},
                           {{"strategy", "mma"}, {"split", "4"}},
                           {{"strategy", "mma"}, {"split", "1"}, {"stream_k", "yes"}}};

}  // namespace

TEST_CASE("words that differ are counted") {
  const Context context({.device = "cpu"});
  std::vector<std::uint32_t> values(40000, 7);
  Buffer a = context.alloc(4 * values.size()), b = context.alloc(4 * values.size());
  a.copy_from(values);
  for (const std::size_t place : {std::size_t{0}, std::size_t{20011}, values.size() - 1})
    values[place] ^= 0x100;
  b.copy_from(values);
  Difference difference(context);
  difference.add(a, a);
  CHECK(difference.total() == 0);
  difference.add(a, b);
  CHECK(difference.total() == 3);
}

TEST_CASE("a repeated gemm gives the same bits in the executor") {
  const Context context({.device = "cpu"});
  for (const Settings& kind : kKinds) {
    CAPTURE(words(kind));
    CHECK(differing(context, with(shape(40, 72, 264), {{"a", "bf16"}, {"d", "bf16"}}), kind, 2) == 0);
  }
}

TEST_CASE("ten thousand repeats of a gemm on the GPU give the same bits", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  for (const Settings& kind : kKinds) {
    if (kind.at("strategy") == "wgmma" && context.target().name() != "sm_90a") continue;
    if (kind.at("split") != "1" && context.target().number() < 90) continue;  // no clusters
    CAPTURE(words(kind));
    CHECK(differing(context, with(shape(520, 776, 2056), {{"a", "bf16"}, {"d", "bf16"}}), kind, 10000) == 0);
  }
}

}  // namespace ptxloom::test::gemm_repeats_test
