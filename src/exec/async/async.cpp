// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "exec/async/async_copies.hpp"
#include "exec/judge/judge.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/machine/poison.hpp"
#include "exec/memory/address.hpp"

// cp.async and its groups (PTX ISA 9.7.9.25.3); async_copies.hpp says when data arrives.
namespace ptxloom::exec {
namespace {

// Operand indices; -1 if the variant has none.
struct CopyPlan {
  int size_read = -1;  // "S": bytes to read, the rest becomes zero
  int ignore = -1;     // "P": read nothing
};

std::uint32_t bytes_to_read(Warp& warp, const Operation& op, const CopyPlan& plan, int lane,
                            std::uint32_t bytes) {
  if (plan.ignore >= 0) {
    return Lanes<bool>(warp.registers(), op.slot(static_cast<std::size_t>(plan.ignore)))[lane] ? 0 : bytes;
  }
  if (plan.size_read < 0) return bytes;
  const auto read =
      Lanes<std::uint32_t>(warp.registers(), op.slot(static_cast<std::size_t>(plan.size_read)))[lane];
  if (read > bytes) {
    fault(warp, op, lane_bit(lane), "copy-size",
          fmt::format("it reads {} bytes, but copies only {}", read, bytes),
          "use a source size of at most the copy size");
  }
  return read;
}

// Operands: destination, source, bytes, then what the plan says.
void run_copy(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<CopyPlan>();
  const std::uint32_t bytes = Lanes<std::uint32_t>(warp.registers(), op.slots[2])[0];
  const Reach to_reach{.space = StateSpace::shared,
                       .access = Access::write,
                       .bytes = bytes,
                       .alignment = bytes,
                       .manner = Manner::apart};
  Pointers to;
  resolve(warp, op, mask, op.slots[0], to_reach, to);
  for_lanes(mask, [&](int lane) {
    const std::uint32_t read = bytes_to_read(warp, op, plan, lane, bytes);
    const Reach from_reach{
        .space = StateSpace::global, .bytes = read, .alignment = bytes, .manner = Manner::apart};
    // With nothing to read nothing can go wrong: any aligned address is accepted.
    const std::byte* from =
        read == 0 ? nullptr : resolve(warp, op, lane, address_of(warp, op.slots[1], lane), from_reach);
    warp.state<AsyncCopies>().issue(
        lane, SmallCopy({&warp, &op, lane}, to[static_cast<std::size_t>(lane)], from, bytes, read));
  });
}

void decode_copy(Decoder& decoder) {
  decoder.emit(&run_copy, std::make_shared<CopyPlan>(
                              CopyPlan{.size_read = decoder.operand("S"), .ignore = decoder.operand("P")}));
}

void decode_commit(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation&, Mask mask) { warp.state<AsyncCopies>().commit(mask); });
}

void decode_wait(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) {
    warp.state<AsyncCopies>().wait(mask, Lanes<std::uint32_t>(warp.registers(), op.slots[0])[0]);
  });
}

void decode_wait_all(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation&, Mask mask) { warp.state<AsyncCopies>().wait_all(mask); });
}

constexpr std::array kForms{
    Semantics{"cp.async", decode_copy, {FlowRule::decides}},
    Semantics{"cp.async.ignore", decode_copy, {FlowRule::decides}},
    Semantics{"cp.async.commit_group", decode_commit, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"cp.async.wait_group", decode_wait, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"cp.async.wait_all", decode_wait_all, {.rule = FlowRule::none, .synchronises = true}},
};

}  // namespace

SmallCopy::SmallCopy(const Actor& actor, std::byte* to, const std::byte* from, std::uint32_t bytes,
                     std::uint32_t read)
    : actor_(actor), to_(to), from_(from), bytes_(bytes), read_(read) {
  if (Judge* judge = actor.warp->judge()) {
    judge->write_begins(actor, to, bytes, AccessKind::weak());
    if (read != 0) issued_ = judge->small_copy_reads(actor, from, read);
  }
  if (read != 0) std::memcpy(data_.data(), from, read);
  std::memset(to, kPoison, bytes);
}

void SmallCopy::land() const {
  std::memcpy(to_, data_.data(), bytes_);
  Judge* judge = actor_.warp->judge();
  if (judge == nullptr) return;
  judge->small_copy_lands(actor_, issued_);
  judge->write_ends(actor_, to_, bytes_, AccessKind::weak(), Judge::End::own_wait);
  if (read_ != 0) judge->copied(actor_, to_, from_, read_);
}

std::span<const Semantics> async_semantics() { return kForms; }

}  // namespace ptxloom::exec
