// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/plan.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/tune.hpp"
#include "support/errors.hpp"
#include "support/narrow.hpp"

using namespace ptxloom;

namespace {

std::vector<double> values(const HostTensor& tensor) {
  return test::narrow::values(tensor.plan.type, tensor.bytes);
}

HostTensor floats(const std::vector<float>& data) {
  HostTensor tensor{
      .plan = {.name = "d", .type = f32, .shape = {2, data.size() / 2}, .role = TensorPlan::Role::out},
      .bytes = std::vector<std::byte>(4 * data.size())};
  std::memcpy(tensor.bytes.data(), data.data(), tensor.bytes.size());
  return tensor;
}

}  // namespace

TEST_CASE("a plan's arguments are addresses, bits, and tensor maps with their address filled in") {
  LaunchPlan plan{.entry = "k", .grid = {500, 1, 1}};
  plan.arguments = {
      {"n", u32, "", 7}, {"x", u64, "x", 0}, {"y", b8, "y", 0, TensorMap{.rank = 1, .dims = {64}}}};
  const KernelSignature signature = signature_of(plan);
  CHECK(signature.parameters[1].pointer);
  CHECK(signature.parameters[2].offset == 64);
  CHECK(signature.size() == 192);
  const auto address = [](std::string_view name) { return std::uint64_t{name == "x" ? 4096U : 8192U}; };
  const Arguments packed(signature, LaunchArguments(plan, address, encode_for_executor));
  std::uint64_t x = 0;
  std::memcpy(&x, packed.bytes().data() + 8, sizeof x);
  CHECK(x == 4096);
  const auto map = decode_for_executor(packed.bytes().subspan<64, 128>());
  REQUIRE(map);
  CHECK(map->address == 8192);
}

TEST_CASE("a persistent grid has as many thread blocks as the device holds, or as there is work for") {
  LaunchPlan plan{.entry = "k", .grid = {500, 1, 1}};
  CHECK(launch_config_of(plan, 132).grid == Dim3{500, 1, 1});
  plan.blocks_per_sm = 2;
  CHECK(launch_config_of(plan, 132).grid == Dim3{264, 1, 1});
  CHECK(launch_config_of(plan, 1000).grid == Dim3{500, 1, 1});
  const std::uint32_t on_executor = launch_config_of(plan, 0).grid.x;
  CHECK(on_executor > 1);
  CHECK(on_executor < 500);
  CHECK(!launch_config_of(plan, 132).cooperative);
  plan.cooperative = true;
  CHECK(launch_config_of(plan, 132).cooperative);
}

TEST_CASE("random floats fill [-1, 1] of their type") {
  for (const Type type : {f16, bf16, tf32, f32, f64, e4m3}) {
    const std::vector<double> all =
        values(random_tensor({.name = "a", .type = type, .shape = {100, 100}}, Catch::getSeed()));
    double sum = 0, least = 0, most = 0;
    for (const double value : all) {
      sum += value;
      least = std::fmin(least, value);
      most = std::fmax(most, value);
      CHECK(test::narrow::decode(type, test::narrow::encode(type, value)) == value);
    }
    CAPTURE(type.name);
    CHECK(std::abs(sum) < 400);  // 4 sigma of 10,000 uniform values is 231
    CHECK(least >= -1);
    CHECK(least < -0.9);
    CHECK(most <= 1);
    CHECK(most > 0.9);
  }
}

TEST_CASE("random tf32 needs no more than 10 fraction bits") {
  const HostTensor tensor = random_tensor({.name = "a", .type = tf32, .shape = {1000}}, Catch::getSeed());
  for (std::size_t i = 0; i < 1000; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + 4 * i, 4);
    CHECK((bits & 0x1fff) == 0);
  }
}

TEST_CASE("random integers are of the whole range") {
  const std::vector<double> all =
      values(random_tensor({.name = "a", .type = s8, .shape = {20000}}, Catch::getSeed()));
  CHECK(std::set<double>(all.begin(), all.end()).size() == 256);
}

TEST_CASE("random integers that count something are below what there is of it") {
  const HostTensor tensor =
      random_tensor({.name = "a", .type = s32, .shape = {1000}, .below = 7}, Catch::getSeed());
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < 1000; ++i) {
    std::int32_t value = -1;
    std::memcpy(&value, tensor.bytes.data() + 4 * i, sizeof value);
    seen.insert(value);
  }
  CHECK(seen == std::set<std::int32_t>{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("random data depends on the seed and on the name, and on nothing else") {
  const TensorPlan plan{.name = "a", .type = f16, .shape = {64}};
  TensorPlan other = plan;
  other.name = "b";
  CHECK(random_tensor(plan, 1).bytes == random_tensor(plan, 1).bytes);
  CHECK(random_tensor(plan, 1).bytes != random_tensor(plan, 2).bytes);
  CHECK(random_tensor(plan, 1).bytes != random_tensor(other, 1).bytes);
}

TEST_CASE("a type of less than 8 bits has no size in bytes, but its tensors have") {
  for (const Type type : {s4, u4, b1, e2m1, e3m2, pred}) {
    CAPTURE(type.name);
    CHECK(error_of([&] { (void)type.bytes(); }).code() == "sub-byte-type");
  }
  const auto size = [](Type type, std::vector<std::uint64_t> shape) {
    return TensorPlan{.name = "a", .type = type, .shape = std::move(shape)}.bytes();
  };
  CHECK(size(s4, {3, 7}) == 11);
  CHECK(size(e2m1, {3, 7}) == 11);
  CHECK(size(e3m2, {5, 3}) == 12);
  CHECK(size(b1, {17}) == 3);
  CHECK(size(b128, {3}) == 48);
}

TEST_CASE("random elements of less than 8 bits have values of their type, each its own") {
  for (const Type type : {s4, u4, e2m1, e2m3, e3m2}) {
    CAPTURE(type.name);
    const HostTensor tensor =
        random_tensor({.name = "a", .type = type, .shape = {3, 1667}}, Catch::getSeed());
    REQUIRE(tensor.bytes.size() == (5001U * type.bits + 7) / 8);
    std::map<double, int> counts;
    for (std::uint64_t i = 0; i < 5001; ++i) ++counts[decode(type, load_element(type, tensor.bytes, i))];
    if (type.is_integer())
      CHECK(counts.size() == 16);
    else
      CHECK((counts.begin()->first == -1 && counts.rbegin()->first == 1 && counts.size() > 4));
    for (const auto& [value, count] : counts) CHECK(count < 3000);
  }
  const HostTensor few =
      random_tensor({.name = "a", .type = u4, .shape = {1001}, .below = 3}, Catch::getSeed());
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1001; ++i) seen.insert(load_element(u4, few.bytes, i));
  CHECK(seen == std::set<std::uint64_t>{0, 1, 2});
}

TEST_CASE("verify finds elements of less than 8 bits that are wrong, unwritten, or written by mistake") {
  for (const Type type : {s4, e2m1, e3m2}) {
    CAPTURE(type.name);
    HostTensor output =
        poisoned_tensor({.name = "d", .type = type, .shape = {3, 7}, .role = TensorPlan::Role::out});
    const Expectation expected{.tensor = "d", .points = {{20, 1, 0}}, .untouched = {19}};
    for (std::uint64_t i = 0; i < 21; ++i)
      if (i != 19 && i != 11) store_element(type, output.bytes, i, encode(type, 1));
    CHECK(verify(expected, output).unwritten == std::vector<std::uint64_t>{11});
    store_element(type, output.bytes, 11, encode(type, 1));
    CHECK(verify(expected, output).ok());
    store_element(type, output.bytes, 19, encode(type, 1));
    store_element(type, output.bytes, 20, encode(type, 0));
    CHECK(verify(expected, output).wrong == 2);
  }
}

TEST_CASE("a tensor with more elements than can be counted is refused") {
  const TensorPlan plan{.name = "a", .type = f16, .shape = {std::uint64_t{1} << 40, std::uint64_t{1} << 40}};
  CHECK(error_of([&] { plan.elements(); }).diagnostics().front().code == "too-large");
}

TEST_CASE("verify accepts what is within its tolerance and names what is not") {
  const HostTensor output =
      floats({1.0F, 2.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()});
  Expectation expected{.tensor = "d", .points = {{0, 1.1, 0.2}, {1, 2, 0}}};
  Verdict verdict = verify(expected, output);
  CHECK(verdict.ok());
  CHECK(verdict.checked == 2);
  CHECK(std::abs(verdict.worst - 0.5) < 1e-6);

  expected.points = {{1, 2.5, 0.4}, {0, 7, 1}};
  verdict = verify(expected, output);
  CHECK(verdict.wrong == 2);
  CHECK(verdict.first.starts_with("d[0, 1] is 2, but 2.5 is expected"));

  expected.points = {{2, 1, 1e9}};
  CHECK(verify(expected, output).wrong == 1);
  expected.points = {{2, std::numeric_limits<double>::quiet_NaN(), 0},
                     {3, std::numeric_limits<double>::infinity(), 0}};
  CHECK(verify(expected, output).ok());
  expected.points = {{3, -std::numeric_limits<double>::infinity(), 1}};
  CHECK(verify(expected, output).wrong == 1);
  constexpr double kAnything = std::numeric_limits<double>::infinity();
  expected.points = {{0, -3, kAnything}, {2, 1, kAnything}, {3, -3, kAnything}};
  CHECK(verify(expected, output).ok());
  for (const bool complete : {true, false}) {
    const Expectation unwritten{.tensor = "d", .points = {{2, 1, kAnything}}, .complete = complete};
    HostTensor other = output;
    std::memset(other.bytes.data() + 2 * sizeof(float), std::to_integer<int>(kPoison), sizeof(float));
    CHECK(verify(unwritten, other).unwritten == std::vector<std::uint64_t>{2});
  }
}

TEST_CASE("verify looks for poison where no point is, unless the points are complete") {
  HostTensor output = floats({1.0F, 2.0F, 3.0F, 4.0F});
  std::memset(output.bytes.data() + 8, 0xA5, 8);
  Expectation expected{.tensor = "d", .points = {{0, 1, 0}}, .untouched = {3}};
  CHECK(verify(expected, output).unwritten == std::vector<std::uint64_t>{2});
  expected.complete = true;
  CHECK(verify(expected, output).ok());
  expected.untouched = {1};
  CHECK(verify(expected, output).wrong == 1);
}
