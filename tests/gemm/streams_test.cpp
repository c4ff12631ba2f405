// SPDX-License-Identifier: Apache-2.0
// A Gemm that needs a workspace, launched on several streams and by several host threads in the executor.
#include <atomic>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <thread>

#include "gemm/executor.hpp"
#include "support/errors.hpp"

namespace ptxloom::test::streams_test {
namespace {

CUstream_st* stream(std::size_t number) { return reinterpret_cast<CUstream_st*>(16 * number); }

/// Inputs of a problem, the expected result, and a D to compute it into.
class Work {
 public:
  Work(const Gemm& kernel, std::uint64_t seed) : kernel_(kernel) {
    const auto tensors = make_tensors(gemm_template(), kernel.problem(), {}, seed);
    a_ = filled(tensors[0]);
    b_ = filled(tensors[1]);
    d_ = executor().alloc(tensors.back().bytes.size());
    HostTensor result = tensors.back();
    launch(nullptr);
    d_.read(result.bytes);
    CHECK(verify(gemm_template().expect(kernel.problem(), tensors).at(0), result).ok());
    expected_ = std::move(result.bytes);
  }
  GemmOperands operands() const { return {.a = a_, .b = b_, .d = d_}; }
  void launch(CUstream_st* on, MatrixAddress workspace = {}) {
    d_.fill(kPoison);
    GemmOperands all = operands();
    all.workspace = workspace;
    kernel_.launch(on, all);
  }
  bool right() const {
    std::vector<std::byte> result(expected_.size());
    d_.read(result);
    return result == expected_;
  }

 private:
  static Buffer filled(const HostTensor& tensor) {
    Buffer buffer = executor().alloc(tensor.bytes.size());
    buffer.write(tensor.bytes);
    return buffer;
  }

  const Gemm& kernel_;
  Buffer a_, b_, d_;
  std::vector<std::byte> expected_;
};

/// The number of wrong launches, from four threads with their own inputs.
int wrong(const Gemm& kernel, const std::function<CUstream_st*(std::size_t thread)>& stream_of,
          MatrixAddress workspace = {}) {
  std::vector<Work> work;
  for (std::uint64_t i = 0; i < 4; ++i) work.emplace_back(kernel, Catch::getSeed() + i);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < work.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 0; turn < 3; ++turn) {
          try {
            work[i].launch(stream_of(i), workspace);
            if (!work[i].right()) ++wrong;
          } catch (const Error&) {
            ++wrong;
          }
        }
      });
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("concurrent launches of a Gemm are right, on one stream and on several", "[gemm]") {
  const GemmProblem shared{.m = 60, .n = 136, .k = 712, .a = bf16},
      packed{.m = 65, .n = 33, .k = 51, .a = bf16};
  for (const Gemm& kernel :
       {gemm(executor(), shared, {{"stream_k", "yes"}}), gemm(executor(), packed, {{"strategy", "wgmma"}})}) {
    REQUIRE(kernel.workspace_bytes() > 0);
    CHECK(wrong(kernel, [](std::size_t i) { return stream(i); }) == 0);
    CHECK(wrong(kernel, [](std::size_t) { return stream(7); }) == 0);
    CHECK(wrong(kernel, [](std::size_t) { return nullptr; }) == 0);
  }
}

TEST_CASE("a caller's workspace serves the launches of one stream, from any thread", "[gemm]") {
  const Gemm kernel = gemm(executor(), {.m = 60, .n = 136, .k = 712, .a = bf16}, {{"stream_k", "yes"}});
  Buffer own = executor().alloc(kernel.workspace_bytes());
  own.fill(std::byte{0});
  CHECK(wrong(kernel, [](std::size_t) { return stream(1); }, own) == 0);
}

TEST_CASE("a faulting launch leaves nothing in the workspace for the next", "[gemm]") {
  const Gemm kernel = gemm(executor(), {.m = 60, .n = 136, .k = 712, .a = bf16}, {{"stream_k", "yes"}});
  const Work work(kernel, Catch::getSeed());
  Work other(kernel, Catch::getSeed() + 1);  // its accumulators differ from those that the fault leaves
  GemmOperands operands = work.operands();
  const Buffer few = executor().alloc(130 * 712 * 2);  // few columns of B, so that only the last tile faults
  operands.b = few;
  CHECK(error_of([&] { kernel.launch(nullptr, operands); }).kind() == ErrorKind::device_fault);
  other.launch(nullptr);
  CHECK(other.right());
}

}  // namespace ptxloom::test::streams_test
