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

/// Inputs of a problem, what comes of them, and a D to compute that into.
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
    CHECK(verify(gemm_template().expect(kernel.problem(), tensors), result).ok());
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

/// How many launches come out wrong, of four threads with inputs of their own.
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

TEST_CASE("launches of a Gemm from several threads are right, on one stream and on several", "[gemm]") {
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

TEST_CASE("a workspace of the caller's serves the launches of one stream, whatever thread they come from",
          "[gemm]") {
  const Gemm kernel = gemm(executor(), {.m = 60, .n = 136, .k = 712, .a = bf16}, {{"stream_k", "yes"}});
  Buffer own = executor().alloc(kernel.workspace_bytes());
  own.fill(std::byte{0});
  CHECK(wrong(kernel, [](std::size_t) { return stream(1); }, own) == 0);
}

TEST_CASE("a launch that ends in a fault leaves nothing in the workspace for the next", "[gemm]") {
  const Gemm kernel = gemm(executor(), {.m = 60, .n = 136, .k = 712, .a = bf16}, {{"stream_k", "yes"}});
  const Work work(kernel, Catch::getSeed());
  Work other(kernel, Catch::getSeed() + 1);  // whose sums are others than what the fault leaves
  GemmOperands operands = work.operands();
  const Buffer few = executor().alloc(130 * 712 * 2);  // columns of B, so that the last tile alone faults
  operands.b = few;
  CHECK(error_of([&] { kernel.launch(nullptr, operands); }).kind() == ErrorKind::device_fault);
  other.launch(nullptr);
  CHECK(other.right());
}

}  // namespace ptxloom::test::streams_test
