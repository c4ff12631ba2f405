// SPDX-License-Identifier: Apache-2.0
// Pipelines whose producers write, copy, and multicast: every consumer reads every item once, in order.
#include "ptxloom/kit/pipeline.hpp"

#include <set>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/findings.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/tma.hpp"

using namespace ptxloom;
using kit::Pipeline;

namespace {

constexpr int kWords = 32;  // of an item, one for each lane
constexpr int kBytes = 4 * kWords;

std::vector<std::uint32_t> random_items(int items) {
  std::vector<std::uint32_t> values(static_cast<std::size_t>(items * kWords));
  for (auto& value : values) value = kit_test::random_word() >> 8;
  return values;
}

/// A kernel whose last warp produces, and whose other warps consume.
struct PipelineKernel {
  PipelineKernel(int stage_count, int consumer_count, int block_count = 1)
      : stages(stage_count), consumers(consumer_count), blocks(block_count) {
    params.size("items", u32, 0).pointer("in", u32).pointer("out", u32);
    k.require_block(static_cast<std::uint32_t>(32 * (consumers + 1)));
    if (blocks > 1) k.require_cluster(static_cast<std::uint32_t>(blocks));
    in = params.declare(k);
    lane = k.and_(k.special("tid.x"), 31);
    warp = k.shr(k.special("tid.x"), 5);
    stage = k.address_of(k.shared(u32, static_cast<std::uint64_t>(stages * kWords), "stages", 128));
    barriers = k.address_of(k.mbarriers(2 * stages, "barriers"));
  }
  Reg is_first_lane() { return k.eq(lane, 0); }
  void start(Pipeline& pipeline, int producers = 1) {
    k.if_(k.eq(k.special("tid.x"), 0), [&] { pipeline.initialise(consumers, producers); });
    blocks > 1 ? k.cluster_barrier() : k.barrier();
  }
  Reg stage_of(const Pipeline::Cursor& at) { return k.fma(at.stage, kBytes, stage); }
  /// Adds 1 to each word of an item and stores it where the consumer's results are.
  void store_item(Reg item, const Pipeline::Cursor& at, Reg consumer) {
    const Reg value = k.load("shared", u32, k.at(k.fma(lane, 4, stage_of(at))));
    const Reg row = k.fma(consumer, in["items"], item);
    k.store(in.pointer("out")[k.fma(row, kWords, lane)], k.add(value, 1));
  }
  /// What the consumers have stored.
  std::vector<std::uint32_t> run(std::vector<std::uint32_t>& items, exec::Findings* findings = nullptr) {
    std::vector<ArgumentPlan> arguments = params.arguments();
    arguments[0].bits = items.size() / kWords;
    std::vector<std::uint32_t> out(items.size() * static_cast<std::size_t>(consumers * blocks), 0xdeadbeef);
    const exec::Launch launch{.grid = {static_cast<std::uint32_t>(blocks), 1, 1},
                              .block = {static_cast<std::uint32_t>(32 * (consumers + 1)), 1, 1},
                              .findings = findings};
    kit_test::run(k.finish(), launch, arguments,
                  {kit_test::tensor("in", items), kit_test::tensor("out", out)});
    return out;
  }

  int stages, consumers, blocks;
  kit::Params params;
  KernelBuilder k = kit_test::builder();
  kit::ParamRegs in;
  Reg lane, warp, stage, barriers;
};

/// Each consumer has stored all items.
void check_copies(const std::vector<std::uint32_t>& out, const std::vector<std::uint32_t>& items) {
  REQUIRE(!items.empty());
  for (std::size_t i = 0; i < out.size(); ++i) {
    INFO("word " << i << ", seed " << Catch::getSeed());
    REQUIRE(out[i] == items[i % items.size()] + 1);
  }
}

/// One thread fills stages by bulk copies; the consumers load them, and test for the next one ahead.
void copy_items(PipelineKernel& made, kit::StageReads stage_reads) {
  KernelBuilder& k = made.k;
  Pipeline pipeline(k, made.stages, made.barriers, 1, stage_reads);
  made.start(pipeline);
  const Pipeline::Cursor writes = pipeline.producer(), reads = pipeline.consumer();
  const Reg produces = k.eq(k.special("tid.x"), 32 * made.consumers);
  k.if_(produces, [&] {
    k.for_(k.mov(u32, 0), made.in["items"], 1, [&](Reg item) {
      pipeline.acquire(writes);
      const Reg full = pipeline.full(writes);
      pipeline.expect(full, kBytes);
      const Reg from = k.mad_wide(item, kBytes, made.in.pointer("in").base);
      kit::bulk_load(k, k.at(made.stage_of(writes)), k.at(from), kBytes, full);
      pipeline.advance(writes);
    });
  });
  k.if_(k.lt(made.warp, made.consumers), [&] {
    const Reg ended = k.reg(pred);
    pipeline.test(ended, pipeline.full(reads), reads);
    k.for_(k.mov(u32, 0), made.in["items"], 1, [&](Reg item) {
      pipeline.await_unless(ended, pipeline.full(reads), reads);
      made.store_item(item, reads, made.warp);
      k.warp_barrier();
      k.if_(made.is_first_lane(), [&] { pipeline.release(pipeline.empty(reads)); });
      pipeline.advance(reads);
      pipeline.test(ended, pipeline.full(reads), reads);
    });
  });
}

}  // namespace

TEST_CASE("producers that write to the stages") {
  for (const auto& [stages, consumers, items] :
       {std::tuple{1, 1, 5}, {2, 3, 7}, {3, 1, 2}, {4, 2, 13}, {5, 2, 10}}) {
    CAPTURE(stages, consumers, items);
    PipelineKernel made(stages, consumers);
    KernelBuilder& k = made.k;
    const Reg warp = made.warp, lane = made.lane, count = made.in["items"], zero = k.mov(u32, 0);
    const Reg leads = made.is_first_lane(), barriers = made.barriers;
    const int number = consumers;
    const auto write_to = [&](const Pipeline::Cursor& at, Reg item) {
      const Reg value = k.load(made.in.pointer("in")[k.fma(item, kWords, lane)]);
      k.store("shared", u32, k.at(k.fma(lane, 4, made.stage_of(at))), value);
    };
    const auto read_from = [&](const Pipeline::Cursor& at, Reg item) { made.store_item(item, at, warp); };
    // guide pipeline {
    kit::Pipeline pipeline(k, stages, barriers);
    k.if_(k.eq(k.special("tid.x"), 0), [&] { pipeline.initialise(number); });
    k.barrier();
    const kit::Pipeline::Cursor writes = pipeline.producer(), reads = pipeline.consumer();
    k.if_(
        k.eq(warp, number),
        [&] {  // the producer warp
          k.for_(zero, count, 1, [&](Reg item) {
            pipeline.acquire(writes);
            write_to(writes, item);
            k.warp_barrier();
            k.if_(leads, [&] { pipeline.arrive(pipeline.full(writes)); });
            pipeline.advance(writes);
          });
        },
        [&] {  // the consumer warps
          k.for_(zero, count, 1, [&](Reg item) {
            pipeline.await(pipeline.full(reads), reads);
            read_from(reads, item);
            k.warp_barrier();
            k.if_(leads, [&] { pipeline.release(pipeline.empty(reads)); });
            pipeline.advance(reads);
          });
        });
    // }
    std::vector<std::uint32_t> given = random_items(items);
    check_copies(made.run(given), given);
  }
}

TEST_CASE("bulk copies fill stages, and consumers test ahead") {
  for (const auto& [stages, consumers, items] : {std::tuple{1, 2, 4}, {2, 1, 9}, {3, 2, 8}}) {
    CAPTURE(stages, consumers, items);
    PipelineKernel made(stages, consumers);
    copy_items(made, kit::StageReads::loads);
    std::vector<std::uint32_t> given = random_items(items);
    check_copies(made.run(given), given);
  }
}

// Each consumer reads every n-th item, and skips the stages of the others.
TEST_CASE("consumers take turns") {
  for (const auto& [stages, consumers, rounds] : {std::tuple{3, 2, 5}, {2, 2, 4}, {5, 4, 3}}) {
    CAPTURE(stages, consumers, rounds);
    PipelineKernel made(stages, consumers);
    KernelBuilder& k = made.k;
    Pipeline pipeline(k, stages, made.barriers);
    k.if_(k.eq(k.special("tid.x"), 0), [&] { pipeline.initialise(1, 32); });  // all lanes arrive
    k.barrier();
    const Pipeline::Cursor writes = pipeline.producer(), reads = pipeline.consumer();
    k.if_(
        k.eq(made.warp, consumers),
        [&] {
          k.for_(k.mov(u32, 0), made.in["items"], 1, [&](Reg item) {
            pipeline.acquire(writes);
            const Reg value = k.load(made.in.pointer("in")[k.fma(item, kWords, made.lane)]);
            k.store("shared", u32, k.at(k.fma(made.lane, 4, made.stage_of(writes))), value);
            pipeline.arrive(pipeline.full(writes));
            pipeline.advance(writes);
          });
        },
        [&] {
          pipeline.skip(reads, made.warp);
          k.for_(made.warp, made.in["items"], consumers, [&](Reg item) {
            pipeline.await(pipeline.full(reads), reads);
            made.store_item(item, reads, k.mov(u32, 0));
            k.warp_barrier();
            k.if_(made.is_first_lane(), [&] { pipeline.release(pipeline.empty(reads)); });
            pipeline.skip(reads, k.mov(u32, consumers));
          });
        });
    std::vector<std::uint32_t> given = random_items(rounds * consumers);
    std::vector<std::uint32_t> out = made.run(given);
    out.resize(given.size());  // the consumers have stored to one list
    check_copies(out, given);
  }
}

namespace {

/// The thread blocks of a cluster each load a part of every item for all of them.
void multicast_items(PipelineKernel& made, kit::StageReads stage_reads) {
  KernelBuilder& k = made.k;
  const int blocks = made.blocks;
  Pipeline pipeline(k, made.stages, made.barriers, blocks, stage_reads);
  made.start(pipeline);
  const Reg rank = k.special("cluster_ctarank"), all = k.mov(u16, (1 << blocks) - 1);
  const Pipeline::Cursor writes = pipeline.producer(), reads = pipeline.consumer();
  k.if_(k.eq(k.special("tid.x"), 32 * made.consumers), [&] {
    const int part = kBytes / blocks;
    k.for_(k.mov(u32, 0), made.in["items"], 1, [&](Reg item) {
      pipeline.acquire(writes);
      const Reg full = pipeline.full(writes);
      pipeline.expect(full, kBytes);
      const Reg at = k.fma(rank, part, k.mul(item, kBytes));
      kit::bulk_load(k, k.at(k.fma(rank, part, made.stage_of(writes))),
                     k.at(k.mad_wide(at, 1, made.in.pointer("in").base)), part, full, {.multicast = all});
      pipeline.advance(writes);
    });
    pipeline.drain(writes);
  });
  k.if_(k.lt(made.warp, made.consumers), [&] {
    k.for_(k.mov(u32, 0), made.in["items"], 1, [&](Reg item) {
      pipeline.await(pipeline.full(reads), reads);
      made.store_item(item, reads, k.fma(rank, made.consumers, made.warp));
      k.warp_barrier();
      k.if_(made.is_first_lane(), [&] { pipeline.release(pipeline.empty(reads)); });
      pipeline.advance(reads);
    });
  });
}

}  // namespace

TEST_CASE("thread blocks fill each other's stages") {
  for (const auto& [stages, blocks, items] : {std::tuple{2, 2, 7}, {3, 4, 8}, {1, 8, 3}}) {
    CAPTURE(stages, blocks, items);
    PipelineKernel made(stages, 2, blocks);
    multicast_items(made, kit::StageReads::shared_loads);
    std::vector<std::uint32_t> given = random_items(items);
    check_copies(made.run(given), given);
  }
}

TEST_CASE("a proxy fence comes between loads of a stage and its next copies") {
  const auto codes = [](int blocks, auto&& emit, kit::StageReads reads) {
    PipelineKernel made(2, 3, blocks);
    emit(made, reads);
    std::vector<std::uint32_t> given = random_items(7);
    exec::Findings findings;
    check_copies(made.run(given, &findings), given);
    std::set<std::string> found;
    for (const exec::Finding& one : findings.all()) found.insert(one.code);
    return found;
  };
  using enum kit::StageReads;
  const std::set<std::string> missing = {"proxy-fence-before-refill"};
  CHECK(codes(1, copy_items, loads).empty());
  CHECK(codes(1, copy_items, kit::StageReads::wgmma) == missing);
  CHECK(codes(2, multicast_items, shared_loads) == std::set<std::string>{});
  CHECK(codes(2, multicast_items, loads) == missing);
}

TEST_CASE("pipelines that cannot be are refused") {
  KernelBuilder k = kit_test::builder();
  const Reg barriers = k.mov(u32, 0);
  CHECK_THROWS_AS(Pipeline(k, 0, barriers), Error);
  CHECK_THROWS_AS(Pipeline(k, 2, barriers, 3), Error);
  CHECK_THROWS_AS(Pipeline(k, 2, barriers, 32), Error);
  CHECK(Pipeline::bytes(3) == 48);
}
