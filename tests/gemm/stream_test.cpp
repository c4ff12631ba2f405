// SPDX-License-Identifier: Apache-2.0
// Stream-K in the CPU executor: the k-blocks of all tiles, or pairs of tiles, shared among more and among
// fewer thread blocks than tiles, with judging, compared with the reference; twice on one workspace; and
// refusals.
#include <algorithm>
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <tuple>

#include "gemm/executor.hpp"
#include "ptxloom/tune.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::stream_test {
namespace {

/// The state of poisoned outputs and of the workspace after a launch.
class Device {
 public:
  Device(const Context& context, const Specialised& kernel)
      : context_(context),
        kernel_(kernel),
        tensors_(make_tensors(gemm_template(), kernel.problem, {}, Catch::getSeed())) {
    for (const HostTensor& tensor : tensors_)
      buffers_[tensor.plan.name] = context_.alloc(tensor.plan.bytes());
    Buffer& workspace = buffers_[std::string(kWorkspace)] =
        context_.alloc(kernel.launches.front().workspace_bytes);
    workspace.fill(std::byte{0});
  }

  /// Computes D with this many thread blocks.
  HostTensor run(int blocks) {
    for (const HostTensor& tensor : tensors_) buffers_.at(tensor.plan.name).write(tensor.bytes);
    const LaunchArguments arguments(
        kernel_.launches.front(),
        [&](std::string_view name) { return buffers_.find(name)->second.address(); },
        [&](const TensorMap& map) { return context_.encode(map); });
    const LaunchConfig config = launch_config_of(kernel_.launches.front(), blocks);
    const unsigned cluster = config.cluster.x, whole = static_cast<unsigned>(blocks) / cluster * cluster;
    CHECK(config.grid.x == std::min(std::max(whole, cluster), kernel_.launches.front().grid[0]));
    kernel_.kernels.front().launch(nullptr, config, arguments);
    context_.synchronize();
    HostTensor d = tensors_.back();
    buffers_.at("d").read(d.bytes);
    return d;
  }

  std::vector<HostTensor> tensors() const { return tensors_; }
  std::vector<std::byte> workspace() const {
    const Buffer& buffer = buffers_.find(kWorkspace)->second;
    std::vector<std::byte> bytes(buffer.size());
    buffer.read(bytes);
    return bytes;
  }
  /// They are at the start of the workspace, or those of packing are.
  bool counters_are_zero() const {
    const std::vector<std::byte> bytes = workspace();
    return std::ranges::all_of(bytes.begin(), bytes.begin() + 256,
                               [](std::byte byte) { return byte == std::byte{0}; });
  }

 private:
  const Context& context_;
  const Specialised& kernel_;
  std::vector<HostTensor> tensors_;
  std::map<std::string, Buffer, std::less<>> buffers_;
};

void check(const Settings& wanted, const Settings& config, std::initializer_list<int> grids = {3, 7},
           const char* target = "sm_90a") {
  const Settings problem = gemm_template().problem(wanted);
  INFO("problem " << words(wanted) << " on " << target << ", seed " << Catch::getSeed());
  const Specialised kernel =
      specialise(executor(target), gemm_template(), problem, with(config, {{"stream_k", "yes"}}));
  INFO("whole configuration " << words(kernel.config));
  REQUIRE(kernel.config.at("stream_k") == "yes");
  Device device(executor(target), kernel);
  const Expectation expected = gemm_template().expect(problem, device.tensors()).at(0);
  for (const int blocks : grids) {
    INFO(blocks << " blocks");
    const HostTensor d = device.run(blocks);
    const Verdict verdict = verify(expected, d);
    INFO(verdict.wrong << " of " << verdict.checked << " wrong; first: " << verdict.first << "; unwritten "
                       << verdict.unwritten.size());
    CHECK(verdict.ok());
    std::vector<HostTensor> tensors = device.tensors();
    tensors.back() = d;
    const Comparison naive = compare_gemm(wanted, tensors);
    INFO("naive product: " << naive.first);
    CHECK(naive.ok());
    require_compared(wanted, verdict, naive);
    CHECK(device.counters_are_zero());
    CHECK(device.run(blocks).bytes == d.bytes);
  }
}

Settings tiles(int m, int n, int warps_m = 4, int warps_n = 1) {
  return {{"strategy", "wgmma"},
          {"tile_m", std::to_string(m)},
          {"tile_n", std::to_string(n)},
          {"warps_m", std::to_string(warps_m)},
          {"warps_n", std::to_string(warps_n)}};
}

Settings mma_tiles(int m, int n, int warps_m, int warps_n) {
  return with(tiles(m, n, warps_m, warps_n), {{"strategy", "mma"}, {"tile_k", "64"}});
}

/// Tiles of about 64 rows, of which pairs share an operand.
Settings pairs(const char* multicast, int m = 64, int n = 32, int warps_m = 4, int warps_n = 1) {
  return with(tiles(m, n, warps_m, warps_n), {{"multicast", multicast}});
}

}  // namespace

TEST_CASE("stream-K with every type, staged and direct", "[gemm][slow]") {
  const Settings function{{"alpha", "2"}, {"beta", "3"}};
  for (const char* epilogue : {"staged", "direct"}) {
    for (const char* d : {"f32", "bf16", "e4m3"})
      check(with(with(shape(136, 104, 328), function), {{"a", "bf16"}, {"d", d}}),
            with(tiles(64, 64), {{"epilogue", epilogue}}));
    for (const WgmmaTypes& types : kWgmmaTypes)
      check(
          with(with(shape(136, 48, 400), function), {{"a", types.a}, {"b", types.b}, {"d", types.d.back()}}),
          with(tiles(64, 48), {{"epilogue", epilogue}}), {3, 5});
  }
}

TEST_CASE("the stream-K grid has any size from one thread block to one per few k-blocks", "[gemm]") {
  check(with(shape(72, 40, 968), {{"a", "f16"}}), tiles(64, 64), {1, 2, 3, 4, 6, 9, 11, 100});
  check(with(shape(72, 40, 40), {{"a", "f16"}}), tiles(64, 64), {1, 100});  // one k-block for each of two
                                                                            // tiles
}

TEST_CASE("shared tiles in every layout, with warpgroups of every kind", "[gemm][slow]") {
  for (const auto& [m, n, warps_m, warps_n] :
       {std::array{128, 72, 8, 1}, {128, 64, 4, 2}, {256, 32, 8, 1}, {128, 24, 4, 1}, {64, 256, 4, 2}})
    for (const char* layout : {"row", "col"})
      check(with(shape(136, 264, 200), {{"a", "bf16"}, {"a_layout", layout}, {"b_layout", layout}}),
            tiles(m, n, warps_m, warps_n), {3, 7});
}

TEST_CASE("rows of shared tiles outside D are not written to the workspace", "[gemm]") {
  for (const int m : {1, 16, 17, 65, 100, 129})
    check(with(shape(m, 44, 264), {{"a", "bf16"}, {"ldd", "45"}}), tiles(128, 24, m < 100 ? 8 : 4), {2, 5});
  const Specialised kernel = specialise(executor(), gemm_template(),
                                        gemm_template().problem(with(shape(16, 24, 456), {{"a", "bf16"}})),
                                        with(tiles(128, 24, 8), {{"stream_k", "yes"}, {"swap", "no"}}));
  Device device(executor(), kernel);
  device.run(2);
  // Of 16 bytes from each of 256 threads, those of the first warp.
  const std::vector<std::byte> left = device.workspace();
  std::size_t inside = 0, outside = 0;
  for (std::size_t i = 256; i < left.size(); ++i)
    ((i - 256) % 4096 < 512 ? inside : outside) += left[i] != std::byte{0};
  CHECK(inside > 2 * 16 * 24 * 3);
  CHECK(outside == 0);
}

TEST_CASE("shared tiles with epilogues, batches, and sizes that are not baked in", "[gemm][slow]") {
  const Settings problem = with(shape(70, 100, 392), {{"a", "bf16"}, {"d", "bf16"}});
  check(with(problem, {{"bias", "f32"}, {"activation", "silu"}, {"scale_a", "row"}, {"scale_b", "col"}}),
        tiles(64, 32));
  check(with(problem, {{"beta", "-0.5"}, {"add_c", "after"}, {"scale_d", "tensor"}, {"ldc", "103"}}),
        tiles(64, 32));
  for (const char* bake : {"none", "mnk"})
    for (const char* epilogue : {"staged", "direct"})
      check(with(problem, {{"batch", "3"}, {"beta", "2"}, {"stride_b", "0"}}),
            with(tiles(64, 64), {{"static", bake}, {"epilogue", epilogue}}));
}

TEST_CASE("shared tiles with packed rows, promoted accumulators and block scales", "[gemm]") {
  check(with(shape(70, 91, 517), {{"a", "bf16"}}), tiles(64, 32));
  check(with(shape(70, 40, 400), {{"a", "e4m3"}, {"sums", "promoted"}}), tiles(64, 24));
  for (const char* depth : {"64", "128"})
    check(with(shape(140, 40, 400), {{"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "block"}}),
          with(tiles(128, 32, 8), {{"tile_k", depth}}));
}

TEST_CASE("with many tiles some are shared and come first, the others are whole", "[gemm][slow]") {
  for (const auto& [epilogue, raster] : {std::array{"staged", "1"}, {"direct", "4"}})
    check(with(shape(300, 264, 136), {{"a", "bf16"}, {"beta", "2"}}),
          with(tiles(64, 64), {{"epilogue", epilogue}, {"raster", raster}, {"stages", "3"}}),
          {2, 3, 4, 7, 11});
}

TEST_CASE("mma.sync stream-K with every type of a target, in every layout", "[gemm][slow]") {
  const std::pair<const char*, std::vector<const char*>> targets[] = {
      {"sm_75", {"f16", "s8"}},
      {"sm_80", {"f16", "bf16", "tf32", "f64", "u8"}},
      {"sm_90a", {"f64", "e4m3", "s8"}},
      {"sm_120a", {"bf16", "e5m2"}}};
  for (const auto& [target, types] : targets)
    for (const char* a : types)
      for (const char* a_layout : {"row", "col"})
        for (const char* b_layout : {"row", "col"})
          check(
              with(shape(77, 72, 456),
                   {{"a", a}, {"a_layout", a_layout}, {"b_layout", b_layout}, {"alpha", "2"}, {"beta", "3"}}),
              {{"strategy", "mma"}, {"tile_m", "64"}, {"tile_n", "64"}, {"warps_m", "2"}, {"warps_n", "2"}},
              {3, 5}, target);
}

TEST_CASE("mma.sync stream-K with each shape of mma.sync", "[gemm]") {
  const std::tuple<const char*, const char*, const char*> shapes[] = {
      {"f64", "m8n8k4", "sm_90"},    {"f64", "m16n8k4", "sm_90"},  {"f64", "m16n8k8", "sm_90"},
      {"f64", "m16n8k16", "sm_90"},  {"s8", "m8n8k16", "sm_80"},   {"s8", "m16n8k16", "sm_80"},
      {"tf32", "m16n8k4", "sm_80"},  {"tf32", "m16n8k8", "sm_80"}, {"bf16", "m16n8k8", "sm_86"},
      {"e4m3", "m16n8k32", "sm_89"}, {"f16", "m16n8k16", "sm_89"}};
  for (const auto& [a, mma, target] : shapes)
    check(with(shape(50, 44, 391), {{"a", a}, {"a_layout", "col"}}),
          {{"strategy", "mma"}, {"mma", mma}, {"tile_m", "64"}, {"tile_n", "32"}}, {2, 7}, target);
}

TEST_CASE("a thread block's half of a shared tile may be larger than all stages", "[gemm]") {
  const Settings shallow{{"tile_k", "16"}, {"stages", "2"}, {"epilogue", "direct"}};
  check(with(shape(128, 256, 256), {{"a", "bf16"}}), with(mma_tiles(128, 128, 4, 2), shallow), {4});
  check(with(shape(64, 128, 256), {{"a", "bf16"}}), with(mma_tiles(64, 64, 2, 2), shallow), {4});
}

TEST_CASE("with mma.sync the stream-K grid has any size, and whole tiles may be staged", "[gemm][slow]") {
  const Settings two = mma_tiles(64, 64, 2, 2);
  check(with(shape(72, 40, 1992), {{"a", "f16"}}), two, {1, 2, 3, 4, 6, 9, 11, 15, 100}, "sm_80");
  check(with(shape(72, 40, 40), {{"a", "f16"}}), two, {1, 100}, "sm_80");
  for (const char* epilogue : {"staged", "direct"})
    for (const char* prefetch : {"step", "tile"})
      check(with(shape(300, 264, 136), {{"a", "bf16"}, {"d", "bf16"}, {"beta", "2"}}),
            with(two, {{"epilogue", epilogue}, {"prefetch", prefetch}, {"stages", "3"}}), {2, 3, 7, 11},
            "sm_80");
  for (const int m : {1, 8, 9, 16, 17, 31})
    for (const char* a : {"s8", "f64"})
      check(with(shape(m, 44, 456), {{"a", a}, {"a_layout", "col"}, {"ldd", "45"}}),
            {{"strategy", "mma"}, {"tile_m", "64"}, {"warps_m", "2"}}, {2, 5},
            a[0] == 's' ? "sm_75" : "sm_80");
}

TEST_CASE("mma.sync shared tiles with epilogues, batches, block scales", "[gemm][slow]") {
  const Settings problem = with(shape(70, 100, 392), {{"a", "bf16"}, {"d", "bf16"}});
  const Settings two = mma_tiles(64, 32, 2, 1);
  check(with(problem, {{"bias", "f32"}, {"activation", "silu"}, {"scale_a", "row"}, {"scale_b", "col"}}), two,
        {3, 7}, "sm_80");
  check(with(problem, {{"beta", "-0.5"}, {"add_c", "after"}, {"scale_d", "tensor"}, {"ldc", "103"}}), two,
        {3, 7}, "sm_120a");
  for (const char* bake : {"none", "nk", "mnk"})
    check(with(problem, {{"batch", "3"}, {"beta", "2"}, {"stride_b", "0"}}), with(two, {{"static", bake}}),
          {2, 5, 7}, "sm_80");
  check(with(shape(64, 64, 512), {{"a", "tf32"}, {"batch", "2"}}), with(two, {{"static", "mnk"}}), {3, 7},
        "sm_80");
  for (const char* depth : {"64", "128"})
    check(with(shape(140, 40, 784), {{"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "block"}}),
          with(two, {{"tile_k", depth}}), {3, 5}, "sm_89");
}

TEST_CASE("clusters of two share the k-blocks of pairs of tiles", "[gemm][slow]") {
  for (const auto& [shared, epilogue] : {std::pair{"a", "staged"}, {"b", "direct"}})
    for (const auto& [m, n] : {std::pair{72, 40}, {136, 104}})
      check(with(shape(m, n, 456), {{"a", "bf16"}, {"beta", "2"}}),
            with(pairs(shared), {{"epilogue", epilogue}}), {4, 7, 14});
  for (const char* shared : {"a", "b"}) {
    for (const WgmmaTypes& types : kWgmmaTypes)
      check(with(shape(136, 80, 400), {{"a", types.a}, {"b", types.b}, {"d", types.d.back()}}),
            pairs(shared, 64, 48), {5, 6});
    check(with(shape(72, 40, 1992), {{"a", "f16"}}), pairs(shared), {1, 3, 6, 22, 100});
    check(with(shape(72, 40, 40), {{"a", "f16"}}), pairs(shared), {1, 4, 100});
    check(with(shape(300, 264, 136), {{"a", "bf16"}, {"beta", "2"}}),
          with(pairs(shared, 64, 64), {{"raster", "2"}, {"stages", "3"}}), {2, 4, 6, 14});
  }
}

TEST_CASE("shared pairs of tiles, with warpgroups of every kind, in every layout", "[gemm][slow]") {
  for (const auto& [m, n, warps_m, warps_n] :
       {std::array{128, 64, 8, 1}, {128, 64, 4, 2}, {256, 32, 8, 1}, {128, 256, 8, 1}})
    for (const auto& [shared, layout] : {std::pair{"a", "row"}, {"b", "col"}})
      check(with(shape(264, 264, 328), {{"a", "bf16"}, {"a_layout", layout}, {"b_layout", layout}}),
            pairs(shared, m, n, warps_m, warps_n), {10});
}

TEST_CASE("shared pairs of tiles with batches, packed rows, promoted accumulators, scales", "[gemm][slow]") {
  for (const char* shared : {"a", "b"}) {
    for (const char* bake : {"none", "mnk"})
      check(with(shape(70, 100, 392), {{"a", "bf16"}, {"batch", "3"}, {"beta", "2"}, {"stride_b", "0"}}),
            with(pairs(shared), {{"static", bake}}), {2, 4, 10});
    check(with(shape(70, 91, 517), {{"a", "bf16"}}), pairs(shared), {2, 6});
    check(with(shape(70, 40, 784), {{"a", "e4m3"}, {"sums", "promoted"}}), pairs(shared), {2, 6});
    check(with(shape(140, 40, 784), {{"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "block"}}),
          pairs(shared), {2, 6});
    check(with(shape(20, 200, 456), {{"a", "bf16"}}), with(pairs(shared, 64, 16), {{"swap", "yes"}}), {2, 6});
  }
}

TEST_CASE("a stream-K Gemm is launched again, on its own workspace and on another", "[gemm]") {
  for (const Settings& config : {tiles(64, 64), mma_tiles(64, 64, 2, 2)})
    check_launched_again(
        gemm(executor(), {.m = 60, .n = 136, .k = 712, .a = bf16}, with(config, {{"stream_k", "yes"}})));
}

TEST_CASE("stream-K is considered for few tiles and a deep k", "[gemm][slow]") {
  using Values = std::vector<std::string>;
  const std::tuple<Settings, Values, Values> problems[] = {
      {shape(256, 256, 65536), {"no", "yes"}, {"no", "yes"}},
      {shape(256, 256, 512), {"no"}, {"no"}},
      {shape(8192, 8192, 65536), {"no"}, {"no"}},
      {shape(40, 256, 65536), {"no", "yes"}, {"no", "yes"}},
  };
  const Target target("sm_90a");
  for (const auto& [sizes, unasked, searched] : problems)
    for (const char* a : {"bf16", "f64"}) {
      const Settings problem = gemm_template().problem(with(sizes, {{"a", a}}));
      INFO(words(problem));
      const auto found = [&](const Settings& given) {
        std::set<std::string> values;
        for (const Settings& config : gemm_template().candidates(executor().specs(), target, problem, given))
          values.insert(config.at("stream_k"));
        return Values(values.begin(), values.end());
      };
      CHECK(found({}) == unasked);
      CHECK(found({{"stream_k", "yes"}}) == Values{"yes"});
      const tune::Space space = gemm_template().tuning_space(executor().specs(), target, problem);
      const auto word = std::ranges::find(space.parameters, "stream_k", &tune::Parameter::name);
      REQUIRE(word != space.parameters.end());
      CHECK(word->values == searched);
    }
}

TEST_CASE("stream-K is refused with a reason where it is impossible", "[gemm]") {
  const auto says = [](const Settings& problem, const Settings& config, const char* part) {
    const std::string text = config_refusal(problem, with(config, {{"stream_k", "yes"}}));
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const Settings problem = with(shape(200, 200, 512), {{"a", "bf16"}, {"batch", "2"}});
  for (const char* strategy : {"mma", "wgmma"}) {
    const Settings given{{"strategy", strategy}};
    says(problem, with(given, {{"split", "2"}}), "with stream_k=yes split must be 1");
    says(with(problem, {{"groups", "masked"}}), given, "groups must be none");
    says(with(problem, {{"groups", "contiguous"}}), given, "groups must be none");
  }
  // The larger half of 31 or 32 units of 2 KiB; a stage has 10 KiB.
  for (const int columns : {248, 256}) {
    const Settings shallow = with(tiles(64, columns), {{"tile_k", "16"}, {"epilogue", "direct"}});
    says(problem, with(shallow, {{"stages", "2"}}), "slices of shared tiles");
    says(problem, with(shallow, {{"stages", "3"}}), "slices of shared tiles");
    says(problem, with(shallow, {{"stages", "4"}}), "it was accepted");
  }
}

}  // namespace ptxloom::test::stream_test
