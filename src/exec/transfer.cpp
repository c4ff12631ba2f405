// SPDX-License-Identifier: Apache-2.0
#include "exec/transfer.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "exec/address.hpp"
#include "exec/block.hpp"
#include "exec/poison.hpp"

namespace ptxloom::exec {

void Transfer::poison() const {
  if (reduction_ != nullptr) return;
  for (const Piece& piece : pieces_) std::memset(piece.to, kPoison, piece.bytes);
}

void Transfer::add_value(std::byte* to, const void* value, std::uint32_t bytes) {
  const auto* from = static_cast<const std::byte*>(value);
  pieces_.push_back({.to = to, .bytes = bytes});
  data_.insert(data_.end(), from, from + bytes);
  taken_ = true;
}

void Transfer::take() {
  if (taken_) return;
  taken_ = true;
  for (const Piece& piece : pieces_) {
    if (piece.from != nullptr) {
      data_.insert(data_.end(), piece.from, piece.from + piece.bytes);
      continue;
    }
    for (std::uint32_t i = 0; i < piece.bytes; ++i) data_.push_back(fill_[i % fill_.size()]);
  }
}

void Transfer::land() {
  take();
  const std::byte* from = data_.data();
  for (const Piece& piece : pieces_) {
    if (reduction_ != nullptr) {
      reduction_->apply(piece.to, from, piece.bytes);
    } else {
      std::memcpy(piece.to, from, piece.bytes);
    }
    from += piece.bytes;
  }
}

void issue(Transfer transfer, const SharedPlace& barrier, std::uint32_t bytes) {
  transfer.poison();
  const auto shared = std::make_shared<Transfer>(std::move(transfer));
  Mbarriers& barriers = barrier.block->mbarriers();
  barriers.when_looked_at(shared->actor(), barrier.offset,
                          [&barriers, shared, offset = barrier.offset, bytes] {
                            shared->land();
                            barriers.complete(shared->actor(), offset, bytes);
                          });
}

void issue(Transfer transfer) {
  transfer.poison();
  const Actor actor = transfer.actor();
  actor.warp->bulk_copies().issue(actor.lane, std::move(transfer));
}

}  // namespace ptxloom::exec
