// SPDX-License-Identifier: Apache-2.0
// What crosses to a worker process arrives as it was: each field has a value of its own, so that none is
// lost, doubled or exchanged for another.
#include "tune/worker/wire.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/errors.hpp"
#include "tune/worker/plan_json.hpp"

namespace ptxloom::tune::wire_test {
namespace {

using Json = nlohmann::json;

void check_same(const TensorPlan& a, const TensorPlan& b) {
  CHECK(a.name == b.name);
  CHECK(a.type == b.type);
  CHECK(a.shape == b.shape);
  CHECK(a.role == b.role);
  CHECK(a.below == b.below);
}

void check_same(const LaunchPlan& a, const LaunchPlan& b) {
  CHECK(a.entry == b.entry);
  CHECK(a.grid == b.grid);
  CHECK(a.blocks_per_sm == b.blocks_per_sm);
  CHECK(a.cooperative == b.cooperative);
  CHECK(a.block == b.block);
  CHECK(a.cluster == b.cluster);
  CHECK(a.shared_bytes == b.shared_bytes);
  CHECK(a.workspace_bytes == b.workspace_bytes);
  REQUIRE(a.arguments.size() == b.arguments.size());
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    const ArgumentPlan &one = a.arguments[i], &other = b.arguments[i];
    CHECK(one.name == other.name);
    CHECK(one.type == other.type);
    CHECK(one.tensor == other.tensor);
    CHECK(one.bits == other.bits);
    CHECK(one.alignment == other.alignment);
    REQUIRE(one.map.has_value() == other.map.has_value());
    if (!one.map) continue;
    CHECK(one.map->type == other.map->type);
    CHECK(one.map->rank == other.map->rank);
    for (std::size_t d = 0; d < one.map->rank; ++d) CHECK(one.map->dims[d] == other.map->dims[d]);
    CHECK(one.map->box == other.map->box);
    CHECK(one.map->strides == other.map->strides);
    CHECK(one.map->swizzle == other.map->swizzle);
  }
}

LaunchPlan some_launch() {
  return {.entry = "gemm",
          .grid = {2, 3, 4},
          .blocks_per_sm = 5,
          .cooperative = true,
          .block = {6, 7, 8},
          .cluster = {9, 10, 11},
          .shared_bytes = 12,
          .workspace_bytes = 1ULL << 33,
          .arguments = {{.name = "a", .type = u64, .tensor = "A", .alignment = 32},
                        {.name = "n", .type = u32, .bits = 0xFFFFFFFFFFFFFFFF},
                        {.name = "map",
                         .type = b8,
                         .tensor = "B",
                         .map = TensorMap{.type = f16,
                                          .rank = 2,
                                          .dims = {128, 96},
                                          .strides = {256},
                                          .box = {64, 32, 1, 1, 1},
                                          .swizzle = TensorSwizzle::by_128_bytes}}}};
}

MatrixProduct some_product() {
  return {.m = 1,
          .n = 2,
          .k = 3,
          .a = e4m3,
          .b = e5m2,
          .c = bf16,
          .d = f16,
          .a_rows = false,
          .b_rows = true,
          .lda = 4,
          .ldb = 5,
          .ldc = 6,
          .ldd = 7,
          .batch = 8,
          .stride_a = 9,
          .stride_b = 10,
          .stride_c = 11,
          .stride_d = 12,
          .alpha = 1.25,
          .beta = -0.1,
          .fast_sums = true};
}

void check_same(const MatrixProduct& a, const MatrixProduct& b) {
  CHECK((a.m == b.m && a.n == b.n && a.k == b.k));
  CHECK((a.a == b.a && a.b == b.b && a.c == b.c && a.d == b.d));
  CHECK((a.a_rows == b.a_rows && a.b_rows == b.b_rows));
  CHECK((a.lda == b.lda && a.ldb == b.ldb && a.ldc == b.ldc && a.ldd == b.ldd));
  CHECK(a.batch == b.batch);
  CHECK((a.stride_a == b.stride_a && a.stride_b == b.stride_b));
  CHECK((a.stride_c == b.stride_c && a.stride_d == b.stride_d));
  CHECK((a.alpha == b.alpha && a.beta == b.beta));
  CHECK(a.fast_sums == b.fast_sums);
}

/// As text and back: what a pipe carries.
Json sent(const Json& json) { return Json::parse(json.dump()); }

std::vector<std::byte> bytes(std::size_t count, unsigned first) {
  std::vector<std::byte> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<std::byte>(first + i * 7);
  return result;
}

TEST_CASE("plans arrive as they were") {
  for (const auto role : {TensorPlan::Role::in, TensorPlan::Role::out, TensorPlan::Role::inout}) {
    const TensorPlan plan{.name = "x", .type = bf16, .shape = {3, 1ULL << 40, 5}, .role = role, .below = 7};
    check_same(read_tensor(sent(to_json(plan))), plan);
  }
  check_same(read_launch(sent(to_json(some_launch()))), some_launch());
  check_same(read_product(sent(to_json(some_product()))), some_product());
  MatrixProduct without_c = some_product();
  without_c.c = {};
  without_c.a_rows = true;
  without_c.b_rows = without_c.fast_sums = false;
  check_same(read_product(sent(to_json(without_c))), without_c);
}

TEST_CASE("what no plan says is refused") {
  const auto code = [](auto&& work) { return error_of(work).diagnostics().front().code; };
  Json tensor = to_json(TensorPlan{.name = "x", .type = f32, .shape = {1}});
  tensor["type"] = "f33";
  CHECK(code([&] { read_tensor(tensor); }) == "bad-task");
  Json launch = to_json(some_launch());
  launch["arguments"][2]["map"] = "12";
  CHECK(code([&] { read_launch(launch); }) == "bad-task");
}

TEST_CASE("a candidate carries its text only if that is what runs") {
  Candidate candidate{.ptx = "text", .launches = {some_launch(), {.entry = "second"}}};
  candidate.scratch = {{.name = "s", .type = f32, .shape = {9}}, {.name = "t", .type = u8, .shape = {10}}};
  const auto arrived = [&] {
    const Message message = to_message(candidate);
    return read_candidate({.head = sent(message.head), .body = message.body});
  };
  const Candidate text = arrived();
  CHECK(text.ptx == "text");
  CHECK(text.cubin.empty());
  REQUIRE(text.launches.size() == 2);
  check_same(text.launches[0], candidate.launches[0]);
  CHECK(text.launches[1].entry == "second");
  REQUIRE(text.scratch.size() == 2);
  check_same(text.scratch[0], candidate.scratch[0]);
  check_same(text.scratch[1], candidate.scratch[1]);
  candidate.cubin = bytes(5, 1);
  CHECK(arrived().ptx.empty());
  CHECK(arrived().cubin == candidate.cubin);
}

TEST_CASE("a reading, resources and a diagnostic arrive as they were") {
  Reading reading{.us = {1.5, 2.5}, .rival_us = {3.5}, .busy_us = 4.5};
  Reading back = read_reading(sent(to_json(reading)));
  CHECK(back.us == reading.us);
  CHECK(back.rival_us == reading.rival_us);
  CHECK(back.busy_us == 4.5);
  CHECK_FALSE(back.restarted);
  CHECK_FALSE(back.health);
  CHECK_FALSE(back.problem);
  CHECK(back.library.empty());
  reading.health = DeviceHealth{.clock_mhz = 1,
                                .memory_clock_mhz = 2,
                                .temperature_c = 3,
                                .power_w = 4.5,
                                .power_capped = true,
                                .throttled = false};
  reading.problem = Diagnostic{.code = "c", .message = "m", .hint = "h"};
  reading.library = "library";
  reading.restarted = true;
  back = read_reading(sent(to_json(reading)));
  REQUIRE(back.health);
  CHECK(back.health->clock_mhz == 1);
  CHECK(back.health->memory_clock_mhz == 2);
  CHECK(back.health->temperature_c == 3);
  CHECK(back.health->power_w == 4.5);
  CHECK(back.health->power_capped);
  CHECK_FALSE(back.health->throttled);
  REQUIRE(back.problem);
  CHECK(back.problem->code == "c");
  CHECK(back.problem->message == "m");
  CHECK(back.problem->hint == "h");
  CHECK(back.library == "library");
  CHECK(back.restarted);
  const Resources resources = read_resources(
      sent(to_json(Resources{.registers = 1, .stack = 2, .spill_stores = 3, .spill_loads = 4, .shared = 5})));
  CHECK(resources.registers == 1);
  CHECK(resources.stack == 2);
  CHECK(resources.spill_stores == 3);
  CHECK(resources.spill_loads == 4);
  CHECK(resources.shared == 5);
}

TEST_CASE("surroundings arrive, with paths that are no UTF-8") {
  const Surroundings there{.specs = {"one", "/tw\xFFo"},
                           .libraries = {.folders = {"/l\x80"}, .system = false}};
  const Surroundings back = read_surroundings(sent(to_json(there)));
  CHECK(back.specs == there.specs);
  CHECK(back.libraries.folders == there.libraries.folders);
  CHECK_FALSE(back.libraries.system);
  CHECK(read_surroundings(sent(to_json(Surroundings{}))).libraries.system);
}

Task some_task() {
  Task task;
  task.tensors = {{.plan = {.name = "a", .type = u8, .shape = {5000}}, .bytes = bytes(5000, 1)},
                  {.plan = {.name = "b", .type = u8, .shape = {3}}, .bytes = bytes(3, 77)},
                  {.plan = {.name = "d", .type = u8, .shape = {4}, .role = TensorPlan::Role::out},
                   .bytes = bytes(4, 200)},
                  {.plan = {.name = "e", .type = u8, .shape = {4096}, .role = TensorPlan::Role::inout},
                   .bytes = bytes(4096, 13)}};
  task.expected = {
      {.tensor = "d",
       .points = {{.index = 3, .value = 0.5, .tolerance = 0.25}, {.index = 1, .value = -2, .tolerance = 0}},
       .complete = true,
       .untouched = {8, 9, 1ULL << 40}},
      {.tensor = "e", .points = {{.index = 7, .value = 3, .tolerance = 1}}, .untouched = {5}}};
  task.product = some_product();
  task.warm = true;
  return task;
}

TEST_CASE("a task arrives in shared memory, of outputs the plan alone") {
  const Task task = some_task();
  const SharedTask shared = share(task);
  const Task back = read_task(sent(shared.head), shared.memory.get());
  REQUIRE(back.tensors.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    check_same(back.tensors[i].plan, task.tensors[i].plan);
    if (i == 2)
      CHECK(back.tensors[i].bytes.empty());
    else
      CHECK(back.tensors[i].bytes == task.tensors[i].bytes);
  }
  REQUIRE(back.expected.size() == 2);
  for (std::size_t e = 0; e < 2; ++e) {
    const Expectation &there = back.expected[e], &here = task.expected[e];
    CHECK(there.tensor == here.tensor);
    CHECK(there.complete == here.complete);
    REQUIRE(there.points.size() == here.points.size());
    for (std::size_t i = 0; i < here.points.size(); ++i) {
      CHECK(there.points[i].index == here.points[i].index);
      CHECK(there.points[i].value == here.points[i].value);
      CHECK(there.points[i].tolerance == here.points[i].tolerance);
    }
    CHECK(there.untouched == here.untouched);
  }
  CHECK(back.warm);
  REQUIRE(back.product);
  check_same(*back.product, some_product());
}

TEST_CASE("a task of nothing is one, too") {
  const SharedTask shared = share({});
  const Task back = read_task(sent(shared.head), shared.memory.get());
  CHECK(back.tensors.empty());
  CHECK(back.expected.empty());
  CHECK_FALSE(back.product);
  CHECK_FALSE(back.warm);
}

TEST_CASE("data outside of the shared memory are not read") {
  const SharedTask shared = share(some_task());
  const std::size_t all = shared.head.at("bytes");
  const auto refused = [&](auto&& change) {
    Json head = shared.head;
    change(head);
    return error_of([&] { read_task(head, shared.memory.get()); }).diagnostics().front().code == "bad-task";
  };
  CHECK_NOTHROW(read_task(shared.head, shared.memory.get()));
  CHECK(refused([&](Json& head) { head["tensors"][0]["offset"] = all - 4999; }));
  CHECK(refused([&](Json& head) { head["tensors"][0]["offset"] = all + 1; }));
  CHECK(refused([&](Json& head) { head["tensors"][0]["bytes"] = all + 1; }));
  CHECK(refused([&](Json& head) { head["expected"][0]["points"] = all - 47; }));
  CHECK(refused([&](Json& head) { head["expected"][0]["untouched"] = all - 23; }));
  Json last = shared.head;
  last["tensors"][0]["offset"] = all - 5000;
  CHECK_NOTHROW(read_task(last, shared.memory.get()));
}

}  // namespace
}  // namespace ptxloom::tune::wire_test
