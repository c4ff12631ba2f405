// SPDX-License-Identifier: Apache-2.0
// Stream-K in the CPU executor: the steps of k of all tiles shared among more and fewer blocks than there are
// tiles, judged, against the reference; twice on one workspace; and what it refuses.
#include <algorithm>
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "gemm/executor.hpp"
#include "ptxloom/tune.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::stream_test {
namespace {

/// What a kernel leaves of poisoned outputs, and of its workspace.
class Device {
 public:
  explicit Device(const Specialised& kernel)
      : kernel_(kernel), tensors_(make_tensors(gemm_template(), kernel.problem, {}, Catch::getSeed())) {
    for (const HostTensor& tensor : tensors_)
      buffers_[tensor.plan.name] = executor().alloc(tensor.plan.bytes());
    Buffer& workspace = buffers_[std::string(kWorkspace)] = executor().alloc(kernel.launch.workspace_bytes);
    workspace.fill(std::byte{0});
  }

  /// D, by so many blocks.
  HostTensor run(int blocks) {
    for (const HostTensor& tensor : tensors_) buffers_.at(tensor.plan.name).write(tensor.bytes);
    const LaunchArguments arguments(
        kernel_.launch, [&](std::string_view name) { return buffers_.find(name)->second.address(); },
        [](const TensorMap& map) { return executor().encode(map); });
    const LaunchConfig config = launch_config_of(kernel_.launch, blocks);
    CHECK(config.grid.x == std::min(static_cast<unsigned>(blocks), kernel_.launch.grid[0]));
    kernel_.kernel.launch(nullptr, config, arguments);
    executor().synchronize();
    HostTensor d = tensors_.back();
    buffers_.at("d").read(d.bytes);
    return d;
  }

  std::vector<HostTensor> tensors() const { return tensors_; }
  /// The first words of the workspace, where counters lie if nothing is packed.
  bool counters_are_zero(std::size_t count) const {
    std::vector<std::byte> bytes(buffers_.find(kWorkspace)->second.size());
    buffers_.find(kWorkspace)->second.read(bytes);
    const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
    CHECK(!std::ranges::all_of(bytes, zero));  // the sums
    return std::ranges::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(4 * count), zero);
  }

 private:
  const Specialised& kernel_;
  std::vector<HostTensor> tensors_;
  std::map<std::string, Buffer, std::less<>> buffers_;
};

void check(const Settings& wanted, const Settings& config, std::initializer_list<int> grids = {2, 3, 5, 7}) {
  const Settings problem = gemm_template().problem(wanted);
  INFO("problem " << words(wanted) << ", seed " << Catch::getSeed());
  const Specialised kernel =
      specialise(executor(), gemm_template(), problem, with(config, {{"stream_k", "yes"}}));
  INFO("whole configuration " << words(kernel.config));
  REQUIRE(kernel.config.at("stream_k") == "yes");
  Device device(kernel);
  const Expectation expected = gemm_template().expect(problem, device.tensors());
  for (const int blocks : grids) {
    INFO(blocks << " blocks");
    const HostTensor d = device.run(blocks);
    const Verdict verdict = verify(expected, d);
    INFO(verdict.wrong << " of " << verdict.checked << " wrong; first: " << verdict.first << "; unwritten "
                       << verdict.unwritten.size());
    CHECK(verdict.ok());
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

}  // namespace

TEST_CASE("blocks share the steps of k of all tiles", "[gemm]") {
  check(with(shape(136, 104, 712), {{"a", "bf16"}}), tiles(64, 64));
}

}  // namespace ptxloom::test::stream_test
