// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "exec/machine/block.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/members.hpp"
#include "exec/matrix/fragment.hpp"
#include "exec/matrix/matrix_descriptor.hpp"
#include "exec/matrix/metadata.hpp"
#include "exec/matrix/product.hpp"
#include "exec/matrix/undefined_elements.hpp"
#include "exec/matrix/warpgroup.hpp"

// wgmma.mma_async, dense and sparse, and its ordering (PTX ISA 9.7.15). Its operands are read when the last
// of the four warps issues it; warpgroup.hpp says when D becomes visible. wgmma.fence does nothing except for
// the judge, because registers are written in program order here.
namespace ptxloom::exec {
namespace {

using Warps = Warpgroups::Warps;

struct WgmmaPlan {
  Fragment a, d;  // a: if it is in registers
  Product product;
  std::optional<Metadata> metadata;
  bool a_in_registers = false;
  int scale_d = 0, negate_a = -1, negate_b = -1, transpose_a = -1, transpose_b = -1;  // operand indices

  std::size_t accumulators = 0;  // registers
};

std::span<const Slot> slots_of(const Operation& op, int operand) {
  return std::span(op.slots).subspan(op.first[static_cast<std::size_t>(operand)]);
}

// An immediate; `otherwise` if the variant has none.
std::int32_t immediate(Warp& warp, const Operation& op, int operand, std::int32_t otherwise) {
  return operand < 0 ? otherwise : Lanes<std::int32_t>(warp.registers(), slots_of(op, operand)[0])[0];
}

// An operand that must be the same in all threads of the warpgroup.
template <class T>
T uniform(const Warps& warps, const Operation& op, const Slot& slot, const char* what) {
  const T value = Lanes<T>(warps[0]->registers(), slot)[0];
  for (Warp* warp : warps) {
    const Lanes<T> values(warp->registers(), slot);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (values[lane] == value) continue;
      fault(*warp, op, lane_bit(lane), "warpgroup-operands",
            fmt::format("its {} is not that of the warpgroup's first thread", what),
            "use the same value in all threads of the warpgroup");
    }
  }
  return value;
}

SharedMatrix find_matrix(const Warps& warps, const Operation& op, int operand, int transpose,
                         MatrixDescriptor::Shape shape) {
  const auto bits = uniform<std::uint64_t>(warps, op, slots_of(op, operand)[0], "matrix descriptor");
  shape.transposed = immediate(*warps[0], op, transpose, 0) != 0;
  const MatrixDescriptor descriptor(bits);
  return {shape, descriptor.check(*warps[0], op, static_cast<std::size_t>(operand), shape)};
}

// Reads operands A and B that are in shared memory. B comes first.
std::vector<SharedMatrix> read_shared(const Warps& warps, const Operation& op, const WgmmaPlan& plan,
                                      Factors& factors) {
  const Product& product = plan.product;
  std::vector<SharedMatrix> sources{
      find_matrix(warps, op, 2, plan.transpose_b, {product.b, product.n, product.depth, false})};
  const Block& block = warps[0]->block();
  factors.b = sources[0].read(block.shared());
  if (!plan.a_in_registers) {
    sources.push_back(find_matrix(warps, op, 1, plan.transpose_a, {product.a, product.m, product.k, false}));
    factors.a = sources[1].read(block.shared());
  }
  return sources;
}

using UndefinedBits = std::span<const std::byte>;  // of shared memory

std::vector<bool> undefined_in(UndefinedBits bits, const SharedMatrix& source) {
  return flags_of(source.read(bits));
}

// The common case.
bool all_defined(const UndefinedElements& elements, UndefinedBits bits, Warp& warp, const Operation& op,
                 const WgmmaPlan& plan, bool adds, const std::vector<SharedMatrix>& sources) {
  const bool in_memory =
      std::ranges::all_of(sources, [&](const SharedMatrix& source) { return source.is_zero(bits); });
  return in_memory && !(plan.a_in_registers && elements.any(slots_of(op, 1).first(plan.a.registers()))) &&
         !(adds && elements.any(slots_of(op, 0).first(plan.d.registers()))) &&
         !(plan.metadata &&
           elements.any(plan.metadata->slots(op).first(plan.metadata->fragment(warp, op).registers())));
}

// Each element of D gets the undefined bits of the elements it is computed from.
void carry_undefined(const Warps& warps, const Operation& op, const WgmmaPlan& plan, bool adds,
                     const std::vector<SharedMatrix>& sources, std::span<const std::uint16_t> picked) {
  if (warps[0]->judge() == nullptr) return;
  Judge& judge = *warps[0]->judge();
  const Block& block = warps[0]->block();
  const UndefinedBits bits(judge.undefined_bits(block.shared().data()), block.shared().size());
  const UndefinedElements elements(judge, warps);
  if (all_defined(elements, bits, *warps[0], op, plan, adds, sources))
    return elements.define(slots_of(op, 0).first(plan.d.registers()));
  UndefinedFactors undefined{
      .a = plan.a_in_registers ? elements.flags(plan.a, slots_of(op, 1)) : undefined_in(bits, sources[1]),
      .b = undefined_in(bits, sources[0]),
      .sums = std::vector<bool>(plan.product.m * plan.product.n)};
  if (adds) undefined.sums = elements.flags(plan.d, slots_of(op, 0));
  if (plan.metadata) {
    mark_lines(undefined.a, plan.product.k,
               elements.flags(plan.metadata->fragment(*warps[0], op), plan.metadata->slots(op)));
  }
  multiply_undefined(plan.product, picked, undefined);
  elements.set_flags(plan.d, slots_of(op, 0), undefined.sums);
}

using Files = std::array<std::byte*, Warpgroups::kWarps>;  // the registers of each warp

// Other operands may be in registers of D that earlier instructions are still to write.
Files surface(const Warps& warps, const Operation& op, const WgmmaPlan& plan) {
  Warpgroups& groups = warps[0]->block().state<Warpgroups>();
  Files files{};
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i] = warps[i]->registers();
    if (plan.a_in_registers || plan.metadata)
      groups.accumulators(*warps[i]).surface(files[i], slots_of(op, 0).first(plan.accumulators));
  }
  return files;
}

// Where the lanes of each register of D lie from now on.
std::vector<std::uint32_t*> submerge(const Warps& warps, const Operation& op, const WgmmaPlan& plan) {
  Warpgroups& groups = warps[0]->block().state<Warpgroups>();
  std::vector<std::uint32_t*> registers;
  registers.reserve(warps.size() * plan.accumulators);
  for (Warp* warp : warps) {
    groups.accumulators(*warp).submerge(warp->registers(), slots_of(op, 0).first(plan.accumulators),
                                        registers);
  }
  return registers;
}

// Operands D, A, B come first.
void multiply(const Warps& warps, const Operation& op) {
  const auto& plan = op.plan_as<WgmmaPlan>();
  Factors factors;
  const Files files = surface(warps, op, plan);
  const std::vector<SharedMatrix> sources = read_shared(warps, op, plan, factors);
  if (plan.a_in_registers) plan.a.gather(files, slots_of(op, 1), factors.a);
  if (plan.metadata) factors.picked = plan.metadata->picked(warps, op);
  const bool adds = uniform<bool>(warps, op, slots_of(op, plan.scale_d)[0], "scale-d");
  const std::vector<std::uint32_t*> accumulators = submerge(warps, op, plan);
  if (adds) {
    plan.d.gather<std::uint32_t>(accumulators, factors.sums);
  } else {
    factors.sums.resize(plan.product.m * plan.product.n);
  }
  carry_undefined(warps, op, plan, adds, sources, factors.picked);
  Product product = plan.product;
  product.negate_a = immediate(*warps[0], op, plan.negate_a, 1) < 0;
  product.negate_b = immediate(*warps[0], op, plan.negate_b, 1) < 0;
  product.apply(factors);
  plan.d.scatter<std::uint32_t>(accumulators, factors.sums);
}

void run_multiply(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  warp.block().state<Warpgroups>().arrive(warp, op, &multiply);
}

std::shared_ptr<WgmmaPlan> plan_of(const Decoder& decoder) {
  auto plan = std::make_shared<WgmmaPlan>();
  plan->d = Fragment(decoder, "D");
  plan->accumulators = static_cast<std::size_t>(decoder.variant().operand("D").registers());
  plan->a_in_registers = decoder.variant().operand("A").count != 0;
  if (plan->a_in_registers) plan->a = Fragment(decoder, "A");
  Product& product = plan->product;
  product.a = *find_type(decoder.word("a"));
  product.b = *find_type(decoder.word("b"));
  product.c = product.d = plan->d.type();
  product.m = static_cast<std::size_t>(plan->d.rows());
  product.n = static_cast<std::size_t>(plan->d.cols());
  product.k = 256 / product.a.bits;  // 32 bytes of each row
  const bool sparse = decoder.operand("E") >= 0;
  product.depth = sparse ? 2 * product.k : product.k;
  if (sparse) plan->metadata.emplace(decoder, static_cast<int>(product.k), false);
  product.arithmetic =
      mma_arithmetic(decoder.target(), MmaUnit::wgmma, product.a, static_cast<int>(product.k));
  product.satfinite = decoder.has("sat");
  plan->scale_d = decoder.operand("P");
  plan->negate_a = decoder.operand("NA");
  plan->negate_b = decoder.operand("NB");
  plan->transpose_a = decoder.operand("TA");
  plan->transpose_b = decoder.operand("TB");
  return plan;
}

void decode_multiply(Decoder& decoder) {
  const auto plan = decoder.plan_of_variant<WgmmaPlan>([&] { return plan_of(decoder); });
  if (!plan->product.known()) return decoder.emit(nullptr);
  decoder.emit(&run_multiply, plan);
}

void decode_fence(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) {
    require_full_warp(warp, op, mask);
    if (Judge* judge = warp.judge()) judge->wgmma_fence(warp);
  });
}

void decode_commit(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) {
    require_full_warp(warp, op, mask);
    warp.block().state<Warpgroups>().accumulators(warp).commit();
    if (Judge* judge = warp.judge()) judge->wgmma_commit(warp);
  });
}

void decode_wait(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) {
    require_full_warp(warp, op, mask);
    const auto pending = Lanes<std::uint32_t>(warp.registers(), op.slots[0])[0];
    warp.block().state<Warpgroups>().accumulators(warp).wait(warp.registers(), pending);
    if (Judge* judge = warp.judge()) judge->wgmma_wait(warp, pending);
  });
}

constexpr std::array kForms{
    Semantics{"wgmma.mma_async", decode_multiply, {.rule = FlowRule::matrix, .multiplies = true}},
    Semantics{"wgmma.fence", decode_fence, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"wgmma.commit_group", decode_commit, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"wgmma.wait_group", decode_wait, {.rule = FlowRule::none, .synchronises = true}},
};

}  // namespace

std::span<const Semantics> wgmma_semantics() { return kForms; }

}  // namespace ptxloom::exec
