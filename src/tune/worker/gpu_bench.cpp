// SPDX-License-Identifier: Apache-2.0
// A task's tensors on the device, in several sets that launches use in rotation. One round through the sets
// touches more than the L2 cache holds, so no launch finds its inputs in the cache from the previous one. A
// task that is declared warm has one set.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tune/model/rotation.hpp"
#include "tune/worker/bench.hpp"
#include "tune/worker/vendor_product.hpp"

namespace ptxloom::tune {
namespace {

constexpr std::size_t kMostPasses = 1024;
constexpr int kGlances = 4;             // per algorithm of the vendor
constexpr double kHopeless = 1.5;       // times the fastest of them: not measured further
constexpr std::size_t kTimed = 4;       // the algorithms that looked fastest
constexpr double kReplayUs = 4000;      // long enough for event timing
constexpr std::uint64_t kGuard = 4096;  // bytes before and after each tensor

/// Device memory with a guard zone at both ends, filled together with it.
class Guarded {
 public:
  Guarded(const DeviceContext& device, std::uint64_t bytes)
      : memory_(device, bytes + 2 * kGuard), bytes_(bytes) {
    fill(kPoison);
  }
  std::uint64_t address() const { return memory_.address() + kGuard; }
  void fill(std::byte value) {
    memory_.fill(value);
    filled_ = value;
  }
  void upload(std::span<const std::byte> data) const { memory_.upload(data, kGuard); }
  void download(std::span<std::byte> data) const { memory_.download(data, kGuard); }
  bool intact() const {
    std::array<std::byte, kGuard> zone{};
    for (const std::uint64_t offset : {std::uint64_t{0}, kGuard + bytes_}) {
      memory_.download(zone, offset);
      if (std::ranges::any_of(zone, [this](std::byte b) { return b != filled_; })) return false;
    }
    return true;
  }

 private:
  DeviceMemory memory_;
  std::uint64_t bytes_;
  std::byte filled_{};
};

using Set = std::vector<Guarded>;  // by tensor

std::size_t count_sets(const DeviceContext& device, const Task& task) {
  std::uint64_t bytes = 1;
  for (const HostTensor& tensor : task.tensors) bytes += tensor.plan.bytes();
  const std::size_t possible = device.memory().first / 2 / bytes;
  return std::clamp<std::size_t>(possible, 1, rotation(task, device.info().l2_bytes));
}

struct GpuLoaded : Bench::Loaded {
  virtual void launch(std::size_t set, CUstream_st* stream) const = 0;
  std::optional<Graph> graph;
  std::size_t passes = 0;  // per replay
};

/// Device memory that is set to zero before a launch.
struct Range {
  std::uint64_t address, bytes;
};

struct GpuCandidate : GpuLoaded {
  explicit GpuCandidate(const DeviceContext& on) : device(on) {}
  const DeviceContext& device;
  std::vector<Function> functions;  // by launch
  std::vector<LaunchConfig> configs;
  Set scratch;
  DeviceMemory workspace;  // shared by all launches, which run one after another
  // By set, then by launch.
  std::vector<std::vector<Arguments>> arguments;
  std::vector<std::vector<std::vector<Range>>> clear;

  void reset() override { workspace.fill(std::byte{0}); }
  void launch(std::size_t set, CUstream_st* stream) const override {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      for (const Range& range : clear[set][i])
        fill_memory(device, range.address, range.bytes, std::byte{0}, stream);
      functions[i].launch(stream, configs[i], arguments[set][i]);
    }
  }
};

struct GpuVendor : GpuLoaded {
  VendorProduct product;
  std::size_t algorithm;
  std::vector<std::array<std::uint64_t, 4>> tensors;  // a, b, c and d, by set
  double us = 0;                                      // if known

  GpuVendor(VendorProduct with, std::size_t by) : product(std::move(with)), algorithm(by) {}
  void launch(std::size_t set, CUstream_st* stream) const override {
    product.launch(algorithm, tensors[set], stream);
  }
};

class GpuBench : public Bench {
 public:
  GpuBench(const DeviceContext& device, const Task& task)
      : device_(device), task_(task), stream_(device), start_(device), stop_(device) {
    sets_.resize(count_sets(device, task));
    for (Set& set : sets_) {
      for (const HostTensor& tensor : task.tensors) {
        Guarded& memory = set.emplace_back(device, tensor.plan.bytes());
        if (tensor.plan.role != TensorPlan::Role::out) memory.upload(tensor.bytes);
      }
    }
  }

  std::unique_ptr<Loaded> load(const Candidate& candidate) override {
    auto loaded = std::make_unique<GpuCandidate>(device_);
    const DeviceModule module(device_, candidate.cubin);
    for (const LaunchPlan& launch : candidate.launches) {
      loaded->functions.push_back(module.function(signature_of(launch)));
      loaded->configs.push_back(launch_config_of(launch, device_.info().sms));
    }
    for (const TensorPlan& plan : candidate.scratch) loaded->scratch.emplace_back(device_, plan.bytes());
    if (const std::uint64_t bytes = workspace_bytes(candidate.launches); bytes != 0) {
      loaded->workspace = DeviceMemory(device_, bytes);
      loaded->workspace.fill(std::byte{0});
    }
    for (const Set& set : sets_) {
      const auto address = [&](std::string_view name) {
        if (name == kWorkspace) return loaded->workspace.address();
        if (const std::uint64_t tensor = find(name, set)) return tensor;
        for (std::size_t i = 0; i < candidate.scratch.size(); ++i) {
          if (candidate.scratch[i].name == name) return loaded->scratch[i].address();
        }
        return std::uint64_t{0};
      };
      const auto encode_map = [&](const TensorMap& map) { return encode(device_, map); };
      std::vector<Arguments>& all = loaded->arguments.emplace_back();
      std::vector<std::vector<Range>>& clear = loaded->clear.emplace_back();
      for (std::size_t i = 0; i < candidate.launches.size(); ++i) {
        all.emplace_back(loaded->functions[i].signature(),
                         LaunchArguments(candidate.launches[i], address, encode_map));
        std::vector<Range>& ranges = clear.emplace_back();
        for (const ClearPlan& range : candidate.launches[i].clear)
          ranges.push_back({address(range.tensor) + range.offset, range.bytes});
      }
    }
    return loaded;
  }

  Vendor load_vendor() override {
    if (!task_.product)
      throw Error(ErrorKind::refused, "vendor-refused",
                  "the task is not a product that a vendor library supports",
                  "the result is not compared with a vendor library");
    std::vector<std::unique_ptr<GpuVendor>> able = glance_at_all(VendorProduct(device_, *task_.product));
    Vendor vendor{.name = able.front()->product.name(),
                  .standard = std::make_unique<GpuVendor>(*able.front())};
    vendor.fastest = fastest_of(std::move(able));
    return vendor;
  }

  void prepare(std::byte poison) override {
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      if (task_.tensors[i].plan.role == TensorPlan::Role::out) sets_[0][i].fill(poison);
      if (task_.tensors[i].plan.role == TensorPlan::Role::inout) sets_[0][i].upload(task_.tensors[i].bytes);
    }
  }

  void restore() override {
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      sets_[0][i].fill(kPoison);
      if (task_.tensors[i].plan.role != TensorPlan::Role::out) sets_[0][i].upload(task_.tensors[i].bytes);
    }
  }

  void run(Loaded& loaded) override {
    static_cast<GpuLoaded&>(loaded).launch(0, stream_);
    stream_.synchronize();
  }

  void read(std::size_t tensor, std::span<std::byte> bytes) override { sets_[0][tensor].download(bytes); }

  std::optional<std::string> damaged() override {
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      if (!sets_[0][i].intact()) return task_.tensors[i].plan.name;
    }
    return std::nullopt;
  }

  double glance_us(Loaded& loaded) override {
    start_.record(stream_);
    static_cast<GpuLoaded&>(loaded).launch(next_set_++ % sets_.size(), stream_);
    return timed();
  }

  double time_us(Loaded& loaded) override {
    auto& own = static_cast<GpuLoaded&>(loaded);
    if (!own.graph) record(own);
    return replay(own) / static_cast<double>(own.passes);
  }

  double busy_us() override { return std::exchange(busy_us_, 0.0); }
  std::optional<DeviceHealth> health() override { return device_.health(); }

  bool alive(const Error& error) override {
    if (error.diagnostics().front().code == "device-fault") return false;
    try {
      device_.synchronize();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

 private:
  std::uint64_t find(std::string_view name, const Set& set) const {
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      if (task_.tensors[i].plan.name == name) return set[i].address();
    }
    return 0;
  }

  /// All algorithms that run, in the library's order, with the minimum time of a few launches of each. The
  /// first launch only warms up.
  std::vector<std::unique_ptr<GpuVendor>> glance_at_all(const VendorProduct& product) {
    std::vector<std::unique_ptr<GpuVendor>> able;
    std::optional<Error> failed;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < product.algorithms(); ++i) {
      auto one = std::make_unique<GpuVendor>(product, i);
      for (const Set& set : sets_)
        one->tensors.push_back({find("a", set), find("b", set), find("c", set), find("d", set)});
      try {
        glance_us(*one);
        one->us = glance_us(*one);
        for (int again = 0; again < kGlances && one->us < kHopeless * best; ++again)
          one->us = std::min(one->us, glance_us(*one));
      } catch (const Error& error) {
        if (!alive(error)) throw;
        failed = error;
        continue;
      }
      best = std::min(best, one->us);
      able.push_back(std::move(one));
    }
    if (able.empty()) throw Error(*failed);
    return able;
  }

  /// A single launch gives only a rough time, so those that looked fastest are timed by replays.
  std::unique_ptr<Loaded> fastest_of(std::vector<std::unique_ptr<GpuVendor>> able) {
    const auto us = [](const std::unique_ptr<GpuVendor>& one) { return one->us; };
    std::ranges::sort(able, {}, us);
    if (able.size() > kTimed) able.resize(kTimed);
    for (const auto& one : able) one->us = time_us(*one);
    return std::move(*std::ranges::min_element(able, {}, us));
  }

  double timed() {
    stop_.record(stream_);
    const double us = 1000.0 * static_cast<double>(stop_.elapsed_ms(start_));
    busy_us_ += us;
    return us;
  }

  double replay(const GpuLoaded& loaded) {
    start_.record(stream_);
    loaded.graph->launch(stream_);
    return timed();
  }

  /// At least one round through the sets, and as many as make a replay long enough.
  void record(GpuLoaded& loaded) {
    const auto repeat = [&](std::size_t passes) {
      loaded.graph.emplace(device_, [&](CUstream_st* stream) {
        for (std::size_t i = 0; i < passes; ++i) loaded.launch(i % sets_.size(), stream);
      });
      loaded.passes = passes;
    };
    repeat(sets_.size());
    replay(loaded);  // warms up
    const double laps = std::ceil(kReplayUs / std::max(replay(loaded), 1e-3));
    const auto most = std::max<std::size_t>(kMostPasses / sets_.size(), 1);
    const std::size_t count = std::clamp<std::size_t>(static_cast<std::size_t>(laps), 1, most);
    if (count > 1) repeat(count * sets_.size());
  }

  const DeviceContext& device_;
  const Task& task_;
  Stream stream_;
  Event start_, stop_;
  std::vector<Set> sets_;
  std::size_t next_set_ = 0;
  double busy_us_ = 0;
};

}  // namespace

std::unique_ptr<Bench> make_gpu_bench(const DeviceContext& device, const Task& task) {
  return std::make_unique<GpuBench>(device, task);
}

}  // namespace ptxloom::tune
