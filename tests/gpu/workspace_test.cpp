// SPDX-License-Identifier: Apache-2.0
// Kernels that need a workspace, launched on several streams at once, from several threads, and in graphs:
// compared with the reference, with the same bits each time.
#include <atomic>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <memory>
#include <thread>

#include "cuda/driver.hpp"
#include "launch/current.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/workspace.hpp"
#include "support/errors.hpp"
#include "support/gpu.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::workspace_test {
namespace {

constexpr int kRounds = 40;
constexpr std::size_t kOutputs = 6;

struct Kind {
  Settings problem, config;
};

// Few k-blocks, so that the launches of several streams fit on the device at once; and many.
const Kind kKinds[] = {
    {{{"m", "64"}, {"n", "128"}, {"k", "2048"}, {"a", "bf16"}}, {{"strategy", "mma"}, {"stream_k", "yes"}}},
    {{{"m", "120"}, {"n", "136"}, {"k", "1096"}, {"a", "f16"}}, {{"strategy", "wgmma"}, {"stream_k", "yes"}}},
    {{{"m", "256"}, {"n", "256"}, {"k", "32768"}, {"a", "bf16"}},
     {{"strategy", "wgmma"}, {"stream_k", "yes"}}},
    {{{"m", "65"}, {"n", "133"}, {"k", "515"}, {"a", "bf16"}}, {{"strategy", "wgmma"}}},  // packed
};

Buffer filled(const Context& context, std::span<const std::byte> bytes) {
  Buffer buffer = context.alloc(bytes.size());
  buffer.write(bytes);
  return buffer;
}

Buffer zeros(const Context& context, std::uint64_t bytes) {
  Buffer buffer = context.alloc(bytes);
  buffer.fill(std::byte{0});
  return buffer;
}

/// A stream and its work: its own inputs, and outputs that must all be equal.
class Lane {
 public:
  Lane(const Context& context, const Gemm& gemm, std::uint64_t seed)
      : gemm_(gemm), stream_(context.device_context()) {
    const auto tensors = make_tensors(gemm_template(), gemm.problem(), {}, seed);
    a_ = filled(context, tensors[0].bytes);
    b_ = filled(context, tensors[1].bytes);
    for (std::size_t i = 0; i < kOutputs; ++i) outputs_.push_back(context.alloc(tensors.back().bytes.size()));
    HostTensor result = tensors.back();
    gemm.launch(stream_, operands(0));
    stream_.synchronize();
    outputs_[0].read(result.bytes);
    const Verdict verdict = verify(gemm_template().expect(gemm.problem(), tensors).at(0), result);
    INFO(verdict.first);
    CHECK(verdict.ok());
    CHECK(verdict.checked > 0);
    expected_ = std::move(result.bytes);
    poison();
  }

  CUstream_st* stream() const { return stream_; }
  GemmOperands operands(std::size_t output, const Buffer* workspace = nullptr) const {
    GemmOperands operands{.a = a_, .b = b_, .d = outputs_[output]};
    if (workspace != nullptr) operands.workspace = *workspace;
    return operands;
  }
  /// The number of wrong outputs; they are poisoned for what comes next.
  int wrong() {
    stream_.synchronize();
    int count = 0;
    std::vector<std::byte> result(expected_.size());
    for (const Buffer& output : outputs_) {
      output.read(result);
      count += result != expected_;
    }
    poison();
    return count;
  }

 private:
  void poison() {
    for (Buffer& output : outputs_) output.fill(kPoison);
  }

  const Gemm& gemm_;
  Stream stream_;
  Buffer a_, b_;
  std::vector<Buffer> outputs_;
  std::vector<std::byte> expected_;
};

std::vector<std::unique_ptr<Lane>> lanes(const Context& context, const Gemm& gemm, std::size_t count) {
  std::vector<std::unique_ptr<Lane>> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(std::make_unique<Lane>(context, gemm, Catch::getSeed() + i));
  return all;
}

int wrong(const std::vector<std::unique_ptr<Lane>>& lanes) {
  int count = 0;
  for (const auto& lane : lanes) count += lane->wrong();
  return count;
}

/// Calls `work` for each lane on its own thread, and returns how many threw.
int failures(const std::vector<std::unique_ptr<Lane>>& lanes, const std::function<void(const Lane&)>& work) {
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> threads;
    for (const auto& lane : lanes) {
      threads.emplace_back([&] {
        try {
          work(*lane);
        } catch (const Error&) {
          ++failed;
        }
      });
    }
  }
  return failed;
}

/// Calls `check` with a Gemm of each kind that the device supports.
template <typename Check>
void for_kinds(const Context& context, const Check& check) {
  for (const Kind& kind : kKinds) {
    if (context.target().name() != "sm_90a" && kind.config.at("strategy") == "wgmma") continue;
    INFO(words(kind.problem) << "| " << words(kind.config) << "| seed " << Catch::getSeed());
    const Gemm gemm(context,
                    specialise(context, gemm_template(), gemm_template().problem(kind.problem), kind.config));
    REQUIRE(gemm.workspace_bytes() > 0);
    check(gemm);
  }
}

std::string code_of(const Error& error) { return error.diagnostics().front().code; }

}  // namespace

TEST_CASE("launches on several streams at once do not disturb each other", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  for_kinds(context, [&](const Gemm& gemm) {
    const auto all = lanes(context, gemm, 3);
    int count = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kOutputs; ++i)
        for (const auto& lane : all) gemm.launch(lane->stream(), lane->operands(i));
      count += wrong(all);
    }
    CHECK(count == 0);
  });
}

TEST_CASE("launches from several threads do not disturb each other, on one stream or several", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  for_kinds(context, [&](const Gemm& gemm) {
    const auto all = lanes(context, gemm, 3);
    for (const bool one_stream : {false, true}) {
      CHECK(failures(all, [&](const Lane& lane) {
              for (int round = 0; round < kRounds; ++round)
                for (std::size_t i = 0; i < kOutputs; ++i)
                  gemm.launch(one_stream ? all[0]->stream() : lane.stream(), lane.operands(i));
            }) == 0);
      context.synchronize();
      CHECK(wrong(all) == 0);
    }
  });
}

TEST_CASE("the default streams and those of threads have workspaces of their own", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  auto* const of_thread = reinterpret_cast<CUstream_st*>(2);  // CU_STREAM_PER_THREAD
  for_kinds(context, [&](const Gemm& gemm) {
    const auto all = lanes(context, gemm, 3);
    CHECK(failures(all, [&](const Lane& lane) {
            for (int round = 0; round < kRounds; ++round)
              for (std::size_t i = 0; i < kOutputs; ++i) gemm.launch(of_thread, lane.operands(i));
            context.synchronize(of_thread);
          }) == 0);
    CHECK(wrong(all) == 0);
    for (std::size_t i = 0; i < kOutputs; ++i) gemm.launch(nullptr, all[0]->operands(i));
    context.synchronize();
    CHECK(all[0]->wrong() == 0);
  });
}

TEST_CASE("streams that come and go leave each other's workspaces alone", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  for_kinds(context, [&](const Gemm& gemm) {
    const auto lane = std::make_unique<Lane>(context, gemm, Catch::getSeed());
    const std::uint64_t before = context.device_context().memory().first;
    for (std::size_t i = 0; i < 3 * StreamWorkspaces::kMost; ++i) {
      const Stream stream(context.device_context());  // destroyed while it has work
      gemm.launch(stream, lane->operands(i % kOutputs));
    }
    context.synchronize();
    CHECK(lane->wrong() == 0);
    const std::uint64_t most = StreamWorkspaces::kMost * (gemm.workspace_bytes() + (std::uint64_t{2} << 20));
    CHECK(context.device_context().memory().first + most + (std::uint64_t{256} << 20) >= before);
  });
}

TEST_CASE("capture without a workspace is an error, after which the capture goes on", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  for_kinds(context, [&](const Gemm& gemm) {
    Lane lane(context, gemm, Catch::getSeed());
    const Buffer own = zeros(context, gemm.workspace_bytes());
    const Graph graph(context.device_context(), [&](CUstream_st* stream) {
      CHECK(code_of(error_of([&] { gemm.launch(stream, lane.operands(0)); })) == "missing-workspace");
      for (std::size_t i = 0; i < kOutputs; ++i) gemm.launch(stream, lane.operands(i, &own));
      CHECK(code_of(error_of([&] { gemm.launch(stream, lane.operands(0)); })) == "missing-workspace");
    });
    for (int round = 0; round < kRounds; ++round) {
      graph.launch(lane.stream());
      CHECK(lane.wrong() == 0);
    }
    const Error whole = error_of([&] {
      Graph(context.device_context(), [&](CUstream_st* stream) { gemm.launch(stream, lane.operands(0)); });
    });
    CHECK(code_of(whole) == "missing-workspace");
    gemm.launch(lane.stream(), lane.operands(0));
    lane.wrong();
  });
}

TEST_CASE("a graph is replayed on any stream, next to launches and other graphs", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  for_kinds(context, [&](const Gemm& gemm) {
    const auto all = lanes(context, gemm, 3);
    const Buffer first = zeros(context, gemm.workspace_bytes()),
                 second = zeros(context, gemm.workspace_bytes());
    const auto capture = [&](const Lane& lane, const Buffer& workspace) {
      return Graph(context.device_context(), [&](CUstream_st* stream) {
        for (std::size_t i = 0; i < kOutputs; ++i) gemm.launch(stream, lane.operands(i, &workspace));
      });
    };
    const Graph one = capture(*all[0], first), two = capture(*all[1], second);
    int count = 0;
    for (int round = 0; round < kRounds; ++round) {
      // The same executable graph on three streams: CUDA lets its replays follow each other.
      for (const auto& lane : all) one.launch(lane->stream());
      two.launch(all[static_cast<std::size_t>(round) % 3]->stream());
      for (std::size_t i = 0; i < kOutputs; ++i) gemm.launch(all[2]->stream(), all[2]->operands(i));
      context.synchronize();
      count += wrong(all);
    }
    CHECK(count == 0);
  });
}

TEST_CASE("a first launch while another thread captures disturbs neither", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const DeviceContext& device = context.device_context();
  const cuda::Driver& driver = device.libraries().driver();
  for_kinds(context, [&](const Gemm& gemm) {
    std::vector<std::unique_ptr<Lane>> one = lanes(context, gemm, 1);
    const Lane& lane = *one[0];
    const Buffer own = zeros(context, gemm.workspace_bytes());
    const Stream fresh(device);
    with_current(device, [&] {
      CUstream captured = nullptr;
      CUgraph graph = nullptr;
      driver.check(driver.cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING), "creating a stream");
      driver.check(driver.cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), "capturing");
      gemm.launch(captured, lane.operands(0, &own));
      CHECK(failures(one, [&](const Lane&) {
              for (std::size_t i = 0; i < kOutputs; ++i) gemm.launch(fresh, lane.operands(i));
              const DeviceMemory freed(device, 1 << 20);
            }) == 0);
      CHECK(driver.cuStreamEndCapture(captured, &graph) == CUDA_SUCCESS);
      if (graph != nullptr) driver.cuGraphDestroy(graph);
      driver.cuStreamDestroy(captured);
    });
    context.synchronize();
    CHECK(wrong(one) == 0);
  });
}

TEST_CASE("kernels load and unload while a graph is captured, by the same thread and by another", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const DeviceContext& device = context.device_context();
  const cuda::Driver& driver = device.libraries().driver();
  const GemmProblem problem{.m = 96, .n = 96, .k = 64, .a = f16};
  with_current(device, [&] {
    CUstream captured = nullptr;
    CUgraph graph = nullptr;
    driver.check(driver.cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING), "creating a stream");
    driver.check(driver.cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), "capturing");
    const auto load = [&](const char* sizes) {
      const Gemm gemm(context, specialise(context, gemm_template(),
                                          gemm_template().problem(problem.settings()), {{"static", sizes}}));
      gemm.prepare({.m = 17});
      CHECK(gemm.is_prepared({.m = 17}));
    };
    CHECK_NOTHROW(load("none"));
    std::atomic<int> failed = 0;
    std::jthread([&] {
      try {
        load("nk");
      } catch (const Error&) {
        ++failed;
      }
    }).join();
    CHECK(failed == 0);
    CHECK(driver.cuStreamEndCapture(captured, &graph) == CUDA_SUCCESS);
    if (graph != nullptr) driver.cuGraphDestroy(graph);
    driver.cuStreamDestroy(captured);
  });
}

}  // namespace ptxloom::test::workspace_test
