// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/wgmma.hpp"

#include <array>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {

// Descriptors differ only in the address, the low 14 bits; the rest is constant. Adding to the low half moves
// the address, because shared memory is smaller than 14 bits can address. In a cluster an address may have
// the thread block's rank above them.
WgmmaOperand::WgmmaOperand(KernelBuilder& k, const TmaTile& tile, Reg start) : tile_(tile) {
  const std::uint64_t bits = tile.descriptor();
  const Reg address = k.and_(k.shr(start, 4), 0x3fff);
  low_ = KernelBuilder::as(u32, k.or_(address, static_cast<std::int64_t>(bits & 0xffff'ffff)));
  high_ = k.mov(u32, static_cast<std::int64_t>(bits >> 32));
}

void WgmmaOperand::move(KernelBuilder& k, Reg count, int bytes) {
  k.emit("mad.lo.u32", low_, count, bytes / kUnit, low_);
}

Reg WgmmaOperand::descriptor(KernelBuilder& k, Reg low, int extent, int depth) const {
  const int offset = tile_.offset(extent, depth) / kUnit;
  const std::array halves{offset == 0 ? low : k.add(low, offset), high_};
  return k.pack(u64, halves);
}

std::vector<Reg> wgmma_accumulators(KernelBuilder& k, Variant mma) {
  const OperandSpec& d = mma.operand("D");
  return k.regs(d.type, d.registers());
}

// The immediates that follow depend on the type: integers have no sign flips, and only 16-bit types
// transpose.
void wgmma(KernelBuilder& k, Variant mma, const std::vector<Reg>& d, Reg a, Reg b, Reg add, bool transposed_a,
           bool transposed_b) {
  const auto has = [&](std::string_view operand) { return mma.operand_index(operand) >= 0; };
  if (has("TA")) return k.emit(mma, d, a, b, add, 1, 1, transposed_a ? 1 : 0, transposed_b ? 1 : 0);
  if (transposed_a || transposed_b)
    throw Error(ErrorKind::usage, "bad-wgmma", std::string(mma.opcode()) + " cannot transpose an operand",
                "give it operands that are contiguous along k, or use 16-bit types");
  if (has("NA")) return k.emit(mma, d, a, b, add, 1, 1);
  k.emit(mma, d, a, b, add);
}

void wgmma(KernelBuilder& k, Variant mma, const std::vector<Reg>& d, std::span<const Reg> a, Reg b, Reg add,
           bool transposed_b) {
  const auto has = [&](std::string_view operand) { return mma.operand_index(operand) >= 0; };
  if (has("TB")) return k.emit(mma, d, a, b, add, 1, 1, transposed_b ? 1 : 0);
  if (transposed_b)
    throw Error(ErrorKind::usage, "bad-wgmma", std::string(mma.opcode()) + " cannot transpose an operand",
                "give it operands that are contiguous along k, or use 16-bit types");
  if (has("NA")) return k.emit(mma, d, a, b, add, 1, 1);
  k.emit(mma, d, a, b, add);
}

void wgmma_sparse(KernelBuilder& k, Variant mma, const std::vector<Reg>& d, Reg a, Reg b, Reg metadata,
                  int selector, Reg add) {
  const auto has = [&](std::string_view operand) { return mma.operand_index(operand) >= 0; };
  if (has("TA")) return k.emit(mma, d, a, b, metadata, selector, add, 1, 1, 0, 0);
  if (has("NA")) return k.emit(mma, d, a, b, metadata, selector, add, 1, 1);
  k.emit(mma, d, a, b, metadata, selector, add);
}

void wgmma_fence(KernelBuilder& k) { k.emit("wgmma.fence.sync.aligned"); }

void wgmma_commit(KernelBuilder& k) { k.emit("wgmma.commit_group.sync.aligned"); }

void wgmma_wait(KernelBuilder& k, int pending) { k.emit("wgmma.wait_group.sync.aligned", pending); }

}  // namespace ptxloom::kit
