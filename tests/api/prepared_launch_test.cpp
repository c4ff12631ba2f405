// SPDX-License-Identifier: Apache-2.0
// A launch that is prepared once, and the tensor maps that were encoded before.
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "api/tensor_map_cache.hpp"
#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/prepared_launch.hpp"
#include "support/errors.hpp"

namespace ptxloom::prepared_launch_test {
namespace {

/// y[i] = a * x[i]
Kernel scale(const Context& context) {
  KernelBuilder k(context, "scale", Target("sm_75"));
  const Reg a = k.param(f32, "a");
  const Pointer x = k.pointer(f32, "x"), y = k.pointer(f32, "y");
  const Reg i = k.global_thread_x();
  k.store(y[i], k.mul(a, k.load(x[i])));
  return context.load(k.finish());
}

LaunchPlan plan() {
  return {.entry = "scale",
          .block = {32, 1, 1},
          .arguments = {{"a", f32, "", 0x40000000}, {"x", u64, "x"}, {"y", u64, "y"}}};
}

std::vector<float> result(
    const Context& context, const std::vector<std::string_view>& names,
    const std::function<std::vector<std::uint64_t>(const Buffer& x, const Buffer& y)>& values) {
  std::vector<float> numbers(32);
  for (std::size_t i = 0; i < 32; ++i) numbers[i] = static_cast<float>(i) - 7;
  Buffer x = context.alloc(128), y = context.alloc(128);
  x.copy_from(numbers);
  PreparedLaunch(scale(context), plan(), 0, names).launch(nullptr, values(x, y));
  y.copy_to(numbers);
  return numbers;
}

}  // namespace

TEST_CASE("a prepared launch takes addresses and scalars in the order of its names") {
  const Context context({.device = "cpu"});
  const auto y_first = result(context, {"y", "nothing", "x"}, [](const Buffer& x, const Buffer& y) {
    return std::vector<std::uint64_t>{y.address(), 1, x.address()};
  });
  for (std::size_t i = 0; i < 32; ++i) CHECK(y_first[i] == 2 * (static_cast<float>(i) - 7));  // a of the plan
  const auto given = result(context, {"x", "y", "a"}, [](const Buffer& x, const Buffer& y) {
    return std::vector<std::uint64_t>{x.address(), y.address(), 0x40400000};
  });
  for (std::size_t i = 0; i < 32; ++i) CHECK(given[i] == 3 * (static_cast<float>(i) - 7));
}

TEST_CASE("an invalid prepared launch is refused") {
  const Context context({.device = "cpu"});
  const Kernel kernel = scale(context);
  const std::vector<std::string_view> names{"x", "y"};
  const auto code = [](const auto& work) { return error_of(work).diagnostics().front().code; };
  CHECK(code([&] { PreparedLaunch(kernel, plan(), 0, std::span(names).first(1)); }) == "unknown-tensor");
  LaunchPlan short_plan = plan();
  short_plan.arguments.pop_back();
  CHECK(code([&] { PreparedLaunch(kernel, short_plan, 0, names); }) == "argument-count");
  const PreparedLaunch prepared(kernel, plan(), 0, names);
  CHECK(code([&] { prepared.launch(nullptr, std::vector<std::uint64_t>{1}); }) == "argument-count");
}

TEST_CASE("an address that is not aligned as the plan says is refused before anything is launched") {
  const Context context({.device = "cpu"});
  const Kernel kernel = scale(context);
  const std::vector<std::string_view> names{"x", "y"};
  LaunchPlan aligned = plan();
  aligned.arguments[2].alignment = 16;
  Buffer x = context.alloc(256), y = context.alloc(256);
  const std::vector<float> before(64, 7.5F);
  y.copy_from(before);
  // The second of two launches has the alignment: the first one does not run either.
  const PreparedLaunch prepared(std::vector{kernel, kernel}, std::vector{plan(), aligned}, 0, names);
  const Error error =
      error_of([&] { prepared.launch(nullptr, std::vector<std::uint64_t>{x.address(), y.address() + 8}); });
  CHECK(error.code() == "misaligned-operand");
  CHECK(std::string(error.what()).find("tensor y of kernel scale") != std::string::npos);
  std::vector<float> after(64);
  y.copy_to(after);
  CHECK(after == before);
  prepared.launch(nullptr, std::vector<std::uint64_t>{x.address() + 4, y.address() + 16});
}

TEST_CASE("a tensor map is encoded once for an address, sizes and a pitch") {
  api::TensorMapCache cache;
  int encoded = 0;
  const auto find = [&](const TensorMap& map) {
    return cache.find(map, [&] { return ++encoded, encode_for_executor(map); });
  };
  const TensorMap map{
      .type = f16, .rank = 2, .address = 4096, .dims = {64, 32}, .strides = {128}, .box = {64, 8}};
  const EncodedTensorMap first = find(map);
  CHECK(find(map).bytes == first.bytes);
  CHECK(encoded == 1);
  std::vector<TensorMap> others(8, map);
  others[0].address += 16, others[1].dims[1] = 31, others[2].strides[0] = 144, others[3].box[1] = 4;
  others[4].type = bf16, others[5].swizzle = TensorSwizzle::by_64_bytes,
  others[6].l2 = L2Promotion::to_64_bytes;
  others[7].fill = TensorFill::nan;
  for (const TensorMap& other : others) {
    CHECK(find(other).bytes == encode_for_executor(other).bytes);
    CHECK(find(map).bytes == first.bytes);
  }
  CHECK(encoded == 9);
}

TEST_CASE("the tensor map cache is bounded, and maps of freed memory stay valid") {
  api::TensorMapCache cache;
  TensorMap map{.type = f32, .rank = 1, .dims = {64}, .box = {8}};
  for (std::uint64_t i = 0; i < 3 * api::TensorMapCache::kMost; ++i) {
    map.address = 16 * (i % (api::TensorMapCache::kMost + 5));
    const EncodedTensorMap found = cache.find(map, [&] { return encode_for_executor(map); });
    CHECK(found.bytes == encode_for_executor(map).bytes);
    REQUIRE(cache.size() <= api::TensorMapCache::kMost);
  }
}

}  // namespace ptxloom::prepared_launch_test
