// SPDX-License-Identifier: Apache-2.0
// The workspace of a Gemm launch: one per stream, and none during capture. The driver is a fake that only
// records calls.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <optional>
#include <thread>

#include "ptxloom/gemm.hpp"
#include "ptxloom/workspace.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::workspace_fake_test {
namespace {

/// A Gemm on the fake device. It uses stream-K, which reduces through a workspace.
struct Rig {
  FakeCuda& fake = fresh_fake();
  TemporaryFolder folder;
  std::optional<Context> context;
  std::optional<Gemm> gemm;
  GemmOperands operands{
      .a = std::uint64_t{1} << 32, .b = std::uint64_t{2} << 32, .d = std::uint64_t{3} << 32};
  std::uint64_t at = 0;  // offset of the workspace's address among the parameters

  explicit Rig(const char* shared = "yes") {
    context.emplace(ContextOptions{.device = "gpu",
                                   .cache_folder = folder / "cache",
                                   .records_folder = folder / "records",
                                   .libraries = {.folders = {fake_driver_folder()}}});
    if (!context->libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
    const Template& gemm_kernel = gemm_template();
    const Settings problem = gemm_kernel.problem({{"m", "64"}, {"n", "64"}, {"k", "4096"}, {"a", "f16"}}),
                   words{{"strategy", "mma"}, {"stream_k", shared}};
    const Emitted emitted =
        gemm_kernel.emit(*context, context->target(), problem,
                         gemm_kernel.config(context->specs(), context->target(), problem, words));
    fake.kernel = emitted.launches.front().entry;
    const KernelSignature signature = ir::signature(emitted.module.functions.front());
    for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
      const KernelParameter& parameter = signature.parameters[i];
      fake.parameters.emplace_back(parameter.offset, parameter.size);
      if (emitted.launches.front().arguments[i].tensor == kWorkspace) at = parameter.offset;
    }
    gemm.emplace(*context, specialise(*context, gemm_kernel, problem, words));
  }

  /// Launches, and returns the workspace of the launch.
  std::uint64_t launch(CUstream_st* stream) {
    const std::size_t before = fake.launches.size();
    gemm->launch(stream, operands);
    REQUIRE(fake.launches.size() == before + 1);
    CHECK(fake.launches.back().config.hStream == stream);
    return workspace_of(fake.launches.back());
  }
  std::uint64_t workspace_of(const FakeCuda::Launch& launch) const {
    std::uint64_t address = 0;
    std::memcpy(&address, launch.parameters.data() + at, sizeof address);
    return address;
  }
  Stream stream() const { return Stream(*context); }
};

std::string code_of(const Error& error) { return error.diagnostics().front().code; }

/// A stream that another library creates and captures, as PyTorch does.
class ForeignCapture {
 public:
  ForeignCapture(Rig& rig, CUstreamCaptureMode mode) : rig_(rig), stream_(rig.stream()) {
    rig_.fake.streams[stream_].flags = CU_STREAM_NON_BLOCKING;
    rig_.fake.captures[stream_] = {mode, std::this_thread::get_id()};
  }
  ~ForeignCapture() { rig_.fake.captures.erase(stream_); }
  ForeignCapture(const ForeignCapture&) = delete;
  ForeignCapture& operator=(const ForeignCapture&) = delete;

  CUstream_st* stream() const { return stream_; }
  bool valid() const { return rig_.fake.captures.at(stream_).valid; }

 private:
  Rig& rig_;
  Stream stream_;
};

}  // namespace

TEST_CASE("each stream has a workspace, filled with zeros on that stream before its first launch") {
  Rig rig;
  CHECK(rig.fake.allocations == 0);
  const Stream one = rig.stream(), two = rig.stream();
  for (CUstream_st* stream :
       {static_cast<CUstream_st*>(nullptr), static_cast<CUstream_st*>(one), static_cast<CUstream_st*>(two)}) {
    const std::size_t launches = rig.fake.launches.size();
    const std::uint64_t workspace = rig.launch(stream);
    CHECK(workspace % 256 == 0);
    const FakeCuda::Fill& fill = rig.fake.fills.back();
    CHECK(fill.to == workspace);
    CHECK(fill.bytes == rig.gemm->workspace_bytes());
    CHECK(fill.value == 0);
    CHECK(fill.stream == stream);
    CHECK(fill.launches == launches);
    CHECK(rig.launch(stream) == workspace);
  }
  CHECK(rig.fake.allocations == 3);
  CHECK(rig.fake.fills.size() == 3);
  CHECK(rig.workspace_of(rig.fake.launches[0]) != rig.workspace_of(rig.fake.launches[2]));
  CHECK(rig.workspace_of(rig.fake.launches[0]) != rig.workspace_of(rig.fake.launches[4]));
  CHECK(rig.workspace_of(rig.fake.launches[2]) != rig.workspace_of(rig.fake.launches[4]));
  CHECK(rig.launch(CU_STREAM_LEGACY) == rig.workspace_of(rig.fake.launches[0]));
}

TEST_CASE("the default stream of each thread is one of its own") {
  Rig rig;
  const std::uint64_t here = rig.launch(CU_STREAM_PER_THREAD);
  std::uint64_t there = 0;
  std::thread([&] { there = rig.launch(CU_STREAM_PER_THREAD); }).join();
  CHECK(there != here);
  CHECK(rig.launch(CU_STREAM_PER_THREAD) == here);
}

TEST_CASE("copies of a Gemm share its workspaces, and the last one frees them") {
  Rig rig;
  const int objects = rig.fake.live_objects;
  const std::uint64_t workspace = rig.launch(nullptr);
  {
    const Gemm copy = *rig.gemm;
    copy.launch(nullptr, rig.operands);
    CHECK(rig.workspace_of(rig.fake.launches.back()) == workspace);
  }
  CHECK(rig.launch(nullptr) == workspace);
  CHECK(rig.fake.live_objects == objects + 1);
  const Kernel kernel = rig.gemm->specialised().kernels.front();
  rig.gemm.reset();
  CHECK(rig.fake.live_objects == objects);
}

TEST_CASE("a new stream with a reused handle does not get the workspace of a destroyed one") {
  Rig rig;
  CUstream_st* handle = nullptr;
  std::uint64_t before = 0;
  {
    const Stream stream = rig.stream();
    handle = stream;
    before = rig.launch(stream);
  }
  const Stream stream = rig.stream();
  REQUIRE(static_cast<CUstream_st*>(stream) == handle);
  CHECK(rig.launch(stream) != before);
}

TEST_CASE("workspaces of short-lived streams do not accumulate") {
  Rig rig;
  rig.launch(nullptr);
  const int objects = rig.fake.live_objects;
  for (std::size_t i = 0; i < 5 * StreamWorkspaces::kMost; ++i) {
    const Stream stream = rig.stream();
    rig.launch(stream);
    CHECK(rig.fake.live_objects <= objects + static_cast<int>(StreamWorkspaces::kMost));
  }
  const std::size_t fills = rig.fake.fills.size();
  rig.launch(nullptr);  // its own was freed meanwhile
  CHECK(rig.fake.fills.size() == fills + 1);
}

TEST_CASE("after a launch that fails the workspace is filled anew") {
  Rig rig;
  const std::uint64_t workspace = rig.launch(nullptr);
  rig.fake.failures["cuLaunchKernelEx"] = CUDA_ERROR_INVALID_VALUE;
  CHECK(code_of(error_of([&] { rig.gemm->launch(nullptr, rig.operands); })) == "cuda-error");
  rig.fake.failures.clear();
  CHECK(rig.launch(nullptr) == workspace);
  CHECK(rig.fake.fills.size() == 2);
  rig.launch(nullptr);
  CHECK(rig.fake.fills.size() == 2);
}

TEST_CASE("a captured launch needs a workspace of the caller's; without one the capture stays as it is") {
  for (const auto mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    Rig rig;
    Buffer own = rig.context->alloc(rig.gemm->workspace_bytes());
    const ForeignCapture capture(rig, mode);
    const int allocations = rig.fake.allocations;
    const std::size_t fills = rig.fake.fills.size();

    const Error error = error_of([&] { rig.gemm->launch(capture.stream(), rig.operands); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(code_of(error) == "missing-workspace");
    CHECK(error.diagnostics().front().message.find(std::to_string(rig.gemm->workspace_bytes())) !=
          std::string::npos);
    CHECK(error.diagnostics().front().hint.find("GemmOperands::workspace") != std::string::npos);
    CHECK(rig.fake.launches.empty());

    rig.operands.workspace = own;
    CHECK(rig.launch(capture.stream()) == own.address());
    CHECK(rig.fake.allocations == allocations);
    CHECK(rig.fake.fills.size() == fills);
    CHECK(capture.valid());
  }
}

TEST_CASE("a captured launch is refused if no kernel is prepared for its sizes") {
  Rig rig;
  Settings config = rig.gemm->config();  // the driver knows a single kernel, by name
  config.erase("static");
  const Gemm made = gemm(*rig.context, {.m = 64, .n = 64, .k = 4096, .a = f16}, config);
  Buffer own = rig.context->alloc(made.workspace_bytes());
  rig.operands.workspace = own;
  const GemmSizes sizes{.k = 2048};
  {
    const ForeignCapture capture(rig, CU_STREAM_CAPTURE_MODE_GLOBAL);
    const Error error = error_of([&] { made.launch(capture.stream(), rig.operands, sizes); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(code_of(error) == "not-prepared");
    CHECK(error.diagnostics().front().message.find("k = 2048") != std::string::npos);
    CHECK(rig.fake.launches.empty());
    CHECK(capture.valid());
    CHECK(!made.is_prepared(sizes));
    CHECK(made.is_prepared({}));
    made.prepare(sizes);  // loads a module, which leaves the capture intact
    CHECK(made.is_prepared(sizes));
    CHECK(capture.valid());
  }
  CHECK_THROWS_AS(made.is_prepared({.k = 4097}), Error);
  own = rig.context->alloc(made.workspace_bytes(sizes));
  rig.operands.workspace = own;
  const ForeignCapture capture(rig, CU_STREAM_CAPTURE_MODE_GLOBAL);
  made.launch(capture.stream(), rig.operands, sizes);
  CHECK(rig.fake.launches.size() == 1);
  CHECK(capture.valid());
}

TEST_CASE("a stream's workspace is not lent to a graph that is captured there") {
  Rig rig;
  const Stream stream = rig.stream();
  rig.launch(stream);
  rig.fake.captures[stream] = {CU_STREAM_CAPTURE_MODE_RELAXED, std::this_thread::get_id()};
  CHECK(code_of(error_of([&] { rig.gemm->launch(stream, rig.operands); })) == "missing-workspace");
  rig.fake.captures[stream].valid = false;
  CHECK(code_of(error_of([&] { rig.gemm->launch(stream, rig.operands); })) == "missing-workspace");
  rig.fake.captures.clear();
  rig.launch(stream);
  CHECK(rig.fake.allocations == 1);
}

TEST_CASE("a graph is recorded after a refusal, and with the caller's workspace") {
  Rig rig;
  Buffer own = rig.context->alloc(rig.gemm->workspace_bytes());
  const Graph graph(*rig.context, [&](CUstream_st* stream) {
    CHECK(code_of(error_of([&] { rig.gemm->launch(stream, rig.operands); })) == "missing-workspace");
    rig.operands.workspace = own;
    rig.gemm->launch(stream, rig.operands);
  });
  graph.launch(nullptr);
  CHECK(rig.fake.launches.size() == 1);
}

TEST_CASE("a first launch during another thread's capture does not break it") {
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    Rig rig;
    std::optional<ForeignCapture> capture;
    std::thread([&] { capture.emplace(rig, mode); }).join();
    const Stream stream = rig.stream();
    rig.launch(stream);
    CHECK(capture->valid());
    rig.gemm.reset();
    CHECK(capture->valid());
  }
}

TEST_CASE("a launch on the default stream that a capture forbids says so and leaves the capture as it is") {
  Rig rig;
  const Stream captured = rig.stream();
  rig.fake.captures[captured] = {CU_STREAM_CAPTURE_MODE_RELAXED, std::this_thread::get_id()};
  CHECK(code_of(error_of([&] { rig.gemm->launch(nullptr, rig.operands); })) == "cuda-error");
  CHECK(rig.fake.captures[captured].valid);
  rig.fake.captures.clear();
}

TEST_CASE("a kernel without a workspace is captured as it is") {
  Rig rig("no");
  REQUIRE(rig.gemm->workspace_bytes() == 0);
  const ForeignCapture capture(rig, CU_STREAM_CAPTURE_MODE_GLOBAL);
  rig.launch(capture.stream());
  CHECK(capture.valid());
  CHECK(rig.fake.allocations == 0);
}

TEST_CASE("a workspace that cannot be used is refused") {
  Rig rig;
  Buffer own = rig.context->alloc(rig.gemm->workspace_bytes() + 256);
  const auto refusal = [&](std::uint64_t workspace) {
    rig.operands.workspace = workspace;
    return code_of(error_of([&] { rig.gemm->launch(nullptr, rig.operands); }));
  };
  CHECK(refusal(own.address() + 16) == "misaligned-operand");
  CHECK(refusal(rig.operands.a.value()) == "overlapping-operands");
  CHECK(refusal(rig.operands.d.value() - rig.gemm->workspace_bytes() / 256 * 256 + 256) ==
        "overlapping-operands");
  rig.operands.workspace = own.address() + 256;
  CHECK(rig.launch(nullptr) == own.address() + 256);
}

TEST_CASE("memory is allocated and freed during captures") {
  Rig rig;
  std::optional<ForeignCapture> capture;
  std::thread([&] { capture.emplace(rig, CU_STREAM_CAPTURE_MODE_GLOBAL); }).join();
  {
    const DeviceMemory memory(rig.context->device_context(), 100);
  }
  CHECK(capture->valid());
}

}  // namespace ptxloom::test::workspace_fake_test
