// SPDX-License-Identifier: Apache-2.0
#include "worker/cpu_bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::worker {
namespace {

/// The system would grant the memory, and kill some process when it is used.
void check_memory(std::uint64_t bytes) {
  const std::uint64_t whole = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (bytes < whole / 2) return;
  throw Error(ErrorKind::out_of_memory, "out-of-memory",
              fmt::format("a buffer takes {} MiB, but this machine has {} MiB", bytes >> 20, whole >> 20),
              "use smaller buffers");
}

EncodedTensorMap encode_checked(const TensorMap& map) {
  map.check();
  return encode_for_executor(map);
}

std::array<std::uint32_t, 3> extent(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

/// Owns an allocation.
class Allocation {
 public:
  Allocation(exec::Memory& memory, const TensorPlan& plan) : memory_(memory), bytes_(plan.bytes()) {
    check_memory(plan.bytes());
    address_ = memory.allocate(plan.bytes(), plan.name);
  }
  ~Allocation() { memory_.release(address_); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  std::uint64_t address() const { return address_; }
  void clear() const { std::memset(memory_.at(address_, bytes_), 0, bytes_); }

 private:
  exec::Memory& memory_;
  std::uint64_t bytes_;
  std::uint64_t address_ = 0;
};

/// Memory that is set to zero before a launch.
struct Range {
  std::uint64_t address, bytes;
};

struct CpuLoaded : tune::Bench::Loaded {
  ParseResult parsed;  // programs refer to it
  struct Launch {
    exec::Program program;
    LaunchConfig config;
    std::vector<std::byte> parameters;
    std::vector<Range> clear;
  };
  std::vector<Launch> launches;
  std::vector<std::unique_ptr<Allocation>> scratch;
  std::unique_ptr<Allocation> workspace;

  void reset() override {
    if (workspace) workspace->clear();
  }
};

class CpuBench : public tune::Bench {
 public:
  CpuBench(const tune::Task& task, std::span<const std::filesystem::path> specs)
      : task_(task), specs_(std::make_shared<const Specs>(specs)) {
    for (const HostTensor& tensor : task.tensors)
      buffers_.push_back(std::make_unique<Allocation>(memory_, tensor.plan));
    restore();
  }

  std::unique_ptr<Loaded> load(const tune::Candidate& candidate) override {
    auto loaded = std::make_unique<CpuLoaded>();
    loaded->parsed = parse(candidate.ptx, specs_);
    if (!loaded->parsed.diagnostics.empty()) throw Error(ErrorKind::illegal_ptx, loaded->parsed.diagnostics);
    for (const TensorPlan& plan : candidate.scratch)
      loaded->scratch.push_back(std::make_unique<Allocation>(memory_, plan));
    if (const std::uint64_t bytes = workspace_bytes(candidate.launches); bytes != 0) {
      const TensorPlan plan{.name = std::string(kWorkspace), .type = b8, .shape = {bytes}};
      loaded->workspace = std::make_unique<Allocation>(memory_, plan);
      loaded->workspace->clear();
    }
    const auto address = [&](std::string_view name) { return find(name, candidate, *loaded); };
    for (const LaunchPlan& plan : candidate.launches) {
      const ir::Function* kernel = loaded->parsed.module.find(plan.entry);
      if (kernel == nullptr)
        throw Error(ErrorKind::usage, "unknown-kernel", fmt::format("there is no kernel '{}'", plan.entry));
      const Arguments packed(ir::signature(*kernel), LaunchArguments(plan, address, encode_checked));
      loaded->launches.push_back({.program = exec::Program(loaded->parsed.module, plan.entry),
                                  .config = launch_config_of(plan, 0),
                                  .parameters = {packed.bytes().begin(), packed.bytes().end()},
                                  .clear = {}});
      for (const ClearPlan& range : plan.clear)
        loaded->launches.back().clear.push_back({address(range.tensor) + range.offset, range.bytes});
    }
    return loaded;
  }

  Vendor load_vendor() override {
    throw Error(ErrorKind::missing, "no-vendor", "there is no vendor library in the executor",
                "tune on a GPU");
  }

  void prepare(std::byte poison) override {
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      if (task_.tensors[i].plan.role != TensorPlan::Role::in) reset(i, poison);
    }
  }
  void restore() override {
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) reset(i, kPoison);
  }

  void run(Loaded& loaded) override {
    for (const CpuLoaded::Launch& launch : static_cast<CpuLoaded&>(loaded).launches) {
      for (const Range& range : launch.clear)
        if (range.bytes != 0) std::memset(memory_.at(range.address, range.bytes), 0, range.bytes);
      const LaunchConfig& config = launch.config;
      const bool alone = config.cluster.count() == 1;
      launch.program.run(memory_, {.grid = extent(config.grid),
                                   .block = extent(config.block),
                                   .cluster = alone ? std::array<std::uint32_t, 3>{} : extent(config.cluster),
                                   .shared_bytes = config.shared_bytes,
                                   .parameters = launch.parameters});
    }
  }

  void read(std::size_t tensor, std::span<std::byte> bytes) override {
    if (!bytes.empty())
      std::memcpy(bytes.data(), memory_.at(buffers_[tensor]->address(), bytes.size()), bytes.size());
  }
  std::optional<std::string> damaged() override { return std::nullopt; }  // the run itself would have failed

  double glance_us(Loaded& loaded) override { return time_us(loaded); }
  double time_us(Loaded& loaded) override {
    const auto begin = std::chrono::steady_clock::now();
    run(loaded);
    const double us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    busy_us_ += us;
    return us;
  }
  double busy_us() override { return std::exchange(busy_us_, 0.0); }
  std::optional<DeviceHealth> health() override { return std::nullopt; }
  bool alive(const Error&) override { return true; }

 private:
  void reset(std::size_t i, std::byte poison) {
    const HostTensor& tensor = task_.tensors[i];
    const std::uint64_t bytes = tensor.plan.bytes();
    if (bytes == 0) return;
    std::byte* data = memory_.at(buffers_[i]->address(), bytes);
    if (tensor.plan.role == TensorPlan::Role::out)
      std::memset(data, std::to_integer<int>(poison), bytes);
    else
      std::memcpy(data, tensor.bytes.data(), bytes);
  }

  std::uint64_t find(std::string_view name, const tune::Candidate& candidate, const CpuLoaded& loaded) const {
    if (name == kWorkspace) return loaded.workspace->address();
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      if (task_.tensors[i].plan.name == name) return buffers_[i]->address();
    }
    for (std::size_t i = 0; i < candidate.scratch.size(); ++i) {
      if (candidate.scratch[i].name == name) return loaded.scratch[i]->address();
    }
    return 0;
  }

  const tune::Task& task_;
  std::shared_ptr<const Specs> specs_;
  exec::Memory memory_;
  std::vector<std::unique_ptr<Allocation>> buffers_;  // by tensor
  double busy_us_ = 0;
};

}  // namespace

std::unique_ptr<tune::Bench> make_cpu_bench(const tune::Task& task,
                                            std::span<const std::filesystem::path> specs) {
  return std::make_unique<CpuBench>(task, specs);
}

}  // namespace ptxloom::worker
