// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/tma.hpp"

#include <fmt/format.h>

#include <string>

namespace ptxloom::kit {
namespace {

// Multicast mask and policy follow the mbarrier, each if the opcode has its qualifier.
template <class... Operands>
void emit_load(KernelBuilder& k, std::string opcode, const BulkOptions& options,
               const Operands&... operands) {
  if (options.multicast) opcode += ".multicast::cluster";
  if (options.policy) opcode += ".L2::cache_hint";
  if (options.multicast && options.policy)
    k.emit(opcode, operands..., *options.multicast, *options.policy);
  else if (options.multicast)
    k.emit(opcode, operands..., *options.multicast);
  else if (options.policy)
    k.emit(opcode, operands..., *options.policy);
  else
    k.emit(opcode, operands...);
}

}  // namespace

// In PTX the coordinates follow the map's address: [map, {x, y}].
void tma_load(KernelBuilder& k, Reg map, std::span<const Reg> at, Address to, Reg barrier,
              const BulkOptions& options) {
  emit_load(k,
            fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                        at.size()),
            options, to, k.at(map), Arg(at), k.at(barrier));
}

void tma_store(KernelBuilder& k, Reg map, std::span<const Reg> at, Address from) {
  k.emit(fmt::format("cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group", at.size()), k.at(map),
         Arg(at), from);
}

void bulk_load(KernelBuilder& k, Address to, Address from, Arg bytes, Reg barrier,
               const BulkOptions& options) {
  emit_load(k, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", options, to, from, bytes,
            k.at(barrier));
}

void bulk_store(KernelBuilder& k, Address to, Address from, Arg bytes) {
  k.emit("cp.async.bulk.global.shared::cta.bulk_group", to, from, bytes);
}

void fence_for_bulk(KernelBuilder& k) { k.emit("fence.proxy.async.shared::cta"); }

void bulk_commit(KernelBuilder& k) { k.emit("cp.async.bulk.commit_group"); }

void bulk_wait(KernelBuilder& k, int pending) { k.emit("cp.async.bulk.wait_group", pending); }

void bulk_wait_read(KernelBuilder& k, int pending) { k.emit("cp.async.bulk.wait_group.read", pending); }

Reg evict_first_policy(KernelBuilder& k) {
  const Reg policy = k.reg(b64);
  k.emit("createpolicy.fractional.L2::evict_first.b64", policy);
  return policy;
}

}  // namespace ptxloom::kit
