// SPDX-License-Identifier: Apache-2.0
// Matrices whose rows TMA refuses are copied into the workspace, whatever their pitch, type and batches.
#include "ptxloom/kit/packing.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;
using kit::MatrixBatches;
using kit::PackedMatrix;
using kit::PackPlan;

namespace {

ir::Module pack_kernel(const std::vector<MatrixBatches>& given, const PackPlan& plan,
                       const kit::Params& params, int warps) {
  KernelBuilder k = kit_test::builder();
  k.require_block(static_cast<std::uint32_t>(32 * warps));
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x");
  // guide packing {
  std::vector<kit::PackSource> sources;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (plan.matrices()[i].packed)
      sources.push_back({given[i].matrix, plan.matrices()[i], in[fmt::format("matrix{}", i)]});
  kit::Packing packing(k, plan, sources, in["workspace"]);
  packing.run(thread, warps);
  k.if_(k.eq(thread, 0), [&] { packing.await(); });  // the thread that issues TMA loads
  // }
  return k.finish();
}

void check_rows(const MatrixBatches& given, const PackedMatrix& to, const std::vector<std::byte>& from,
                const std::vector<std::byte>& workspace) {
  const auto size = static_cast<std::uint64_t>(given.matrix.type.bytes());
  CHECK(to.matrix.ld * size % 16 == 0);
  CHECK(to.matrix.stride * size % 16 == 0);
  CHECK(to.at % 256 == 0);
  std::uint64_t compared = 0;
  for (std::uint64_t batch = 0; batch < to.batches; ++batch)
    for (std::uint64_t row = 0; row < given.matrix.rows; ++row)
      for (std::uint64_t byte = 0; byte < given.matrix.row_bytes(); ++byte, ++compared) {
        const std::uint64_t source = (batch * given.matrix.stride + row * given.matrix.ld) * size + byte;
        const std::uint64_t target = to.at + (batch * to.matrix.stride + row * to.matrix.ld) * size + byte;
        REQUIRE(workspace.at(target) == from.at(source));
      }
  CHECK(compared == to.batches * given.matrix.rows * given.matrix.row_bytes());
}

void check_packing(const std::vector<MatrixBatches>& given, std::uint32_t blocks, int warps) {
  const PackPlan plan(given);
  REQUIRE(plan.any());
  kit::Params params;
  params.workspace(b8);
  std::vector<std::vector<std::byte>> data;  // each buffer ends with the matrix's last element
  for (std::size_t i = 0; i < given.size(); ++i) {
    params.pointer(fmt::format("matrix{}", i), given[i].matrix.type);
    const kit::MatrixOperand& m = given[i].matrix;
    data.push_back(kit_test::random_bytes(kit::span(m.rows, m.cols, m.ld, m.stride, given[i].batches) *
                                          static_cast<std::uint64_t>(m.type.bytes())));
  }
  std::vector<std::byte> workspace(plan.workspace_bytes());
  std::vector<kit_test::Tensor> tensors = {{"workspace", workspace}};
  for (std::size_t i = 0; i < given.size(); ++i) tensors.push_back({fmt::format("matrix{}", i), data[i]});
  INFO(fmt::format("{} matrices, {} blocks of {} warps, seed {}", given.size(), blocks, warps,
                   Catch::getSeed()));
  const ir::Module module = pack_kernel(given, plan, params, warps);
  const auto threads = static_cast<std::uint32_t>(32 * warps);
  for (int launch = 0; launch < 2; ++launch)  // the counter is ready for the second one
    kit_test::run(module, {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .cooperative = true},
                  params.arguments(), tensors);
  for (int byte = 0; byte < 4; ++byte) CHECK(workspace[static_cast<std::size_t>(byte)] == std::byte{0});
  for (std::size_t i = 0; i < given.size(); ++i)
    if (plan.matrices()[i].packed) check_rows(given[i], plan.matrices()[i], data[i], workspace);
}

}  // namespace

TEST_CASE("rows of any pitch are packed") {
  check_packing({{{bf16, true, 37, 45, 45, 0}}}, 3, 2);
  check_packing({{{s8, true, 61, 33, 35, 0}}}, 2, 1);
  check_packing({{{f32, true, 5, 1, 3, 0}}}, 1, 4);
  check_packing({{{e4m3, true, 1, 3, 3, 0}}}, 2, 2);
  check_packing({{{f16, true, 300, 130, 131, 0}}}, 4, 2);
}

TEST_CASE("several matrices, some of which TMA takes, and batches") {
  check_packing({{{bf16, true, 37, 45, 45, 0}}, {{bf16, false, 40, 64, 64, 0}}, {{s8, true, 19, 50, 51, 0}}},
                3, 2);
  check_packing({{{f16, true, 9, 20, 24, 9 * 24 + 1}, 3}, {{f16, true, 70, 20, 21, 70 * 21}, 2}}, 2, 3);
  check_packing({{{s8, true, 17, 30, 31, 0}}, {{s8, true, 23, 41, 41, 0}}, {{s8, true, 5, 7, 9, 0}}}, 1, 2);
}

TEST_CASE("sources that are not the packed matrices of the plan are refused") {
  const std::vector<MatrixBatches> given = {
      {{bf16, true, 37, 45, 45, 0}}, {{bf16, true, 10, 13, 16, 0}}, {{s8, true, 19, 50, 51, 0}}};
  const PackPlan plan(given), none{std::span(given).subspan(1, 1)};
  const auto built = [&](const PackPlan& of, const std::vector<std::size_t>& sources) {
    return kit_test::verdict([&] {
      KernelBuilder k = kit_test::builder();
      std::vector<kit::PackSource> all;
      for (const std::size_t i : sources) all.push_back({given[i].matrix, of.matrices()[i], k.mov(u64, 0)});
      kit::Packing(k, of, all, k.mov(u64, 0)).run(k.special("tid.x"), 1);
    });
  };
  CHECK(built(plan, {0, 2}) == "accepted");
  CHECK(built(plan, {2, 0}) == "accepted");
  for (const std::vector<std::size_t>& sources :
       std::vector<std::vector<std::size_t>>{{}, {0}, {0, 0}, {0, 1}, {0, 1, 2}})
    CHECK(built(plan, sources) == "bad-packing");
  CHECK(built(none, {}) == "bad-packing");
}

TEST_CASE("what TMA takes stays where it is") {
  CHECK(kit::takes_tma_loads({bf16, true, 10, 13, 16, 0}));
  CHECK_FALSE(kit::takes_tma_loads({bf16, true, 10, 13, 13, 0}));
  CHECK_FALSE(kit::takes_tma_loads({bf16, true, 10, 13, 16, 164}));
  const std::vector<MatrixBatches> given = {{{bf16, true, 10, 13, 16, 0}}, {{f32, true, 4, 8, 8, 32}, 5}};
  const PackPlan plan(given);
  CHECK_FALSE(plan.any());
  CHECK(plan.workspace_bytes() == 0);
  CHECK(plan.pieces() == 0);
  CHECK(plan.matrices()[0].matrix.ld == 16);
  CHECK(plan.matrices()[1].batches == 5);
}
