// SPDX-License-Identifier: Apache-2.0
#include "exec/async/transfer.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "exec/async/mbarrier.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/poison.hpp"
#include "exec/memory/address.hpp"

namespace ptxloom::exec {

// Pieces are often parts of one row of a tensor, or adjoin for another reason.
template <class Byte, class F>
void Transfer::for_runs(Byte* Piece::* place, F f) const {
  for (std::size_t i = 0; i < pieces_.size();) {
    Byte* const first = pieces_[i].*place;
    std::uint32_t bytes = pieces_[i++].bytes;
    if (first == nullptr) continue;
    while (i < pieces_.size() && pieces_[i].*place == first + bytes) bytes += pieces_[i++].bytes;
    f(first, bytes);
  }
}

template <class F>
void Transfer::for_written(F f) const {
  if (whole_.bytes != 0) return f(whole_.to, whole_.bytes);
  for_runs(&Piece::to, f);
}

void Transfer::begin(bool counted) {
  counted_ = counted;
  Judge* const judge = actor_.warp->judge();
  if (judge != nullptr && !taken_) begun_ = judge->bulk_begins(actor_);
  if (map_ != nullptr) map_version_ = judge->tensor_maps().use_begins(actor_, map_, counted);
  if (judge != nullptr) {
    for_written([&](std::byte* to, std::uint32_t bytes) { judge->write_begins(actor_, to, bytes, kind()); });
    if (!taken_)
      for_runs(&Piece::from,
               [&](const std::byte* from, std::uint32_t bytes) { judge->read_begins(actor_, from, bytes); });
  }
  if (reduction_ != nullptr) return;
  for_written([](std::byte* to, std::uint32_t bytes) { std::memset(to, kPoison, bytes); });
}

// Each reduction is relaxed at gpu scope (PTX ISA 9.7.9.25, cp.reduce.async.bulk). Values of st.async come
// from registers.
AccessKind Transfer::kind() const {
  AccessKind kind = reduction_ == nullptr
                        ? AccessKind::weak()
                        : AccessKind::strong_of(Scope::gpu, static_cast<std::uint32_t>(reduction_->bytes));
  kind.by_proxy = !values_;
  return kind;
}

Judge::End Transfer::end() const { return counted_ ? Judge::End::mbarrier : Judge::End::own_wait; }

void Transfer::add_value(std::byte* to, const void* value, std::uint32_t bytes) {
  const auto* from = static_cast<const std::byte*>(value);
  pieces_.push_back({.to = to, .bytes = bytes});
  data_.insert(data_.end(), from, from + bytes);
  taken_ = values_ = true;
}

void Transfer::take() {
  if (taken_) return;
  taken_ = true;
  Judge* const judge = actor_.warp->judge();
  if (judge != nullptr) judge->bulk_has_read(actor_, begun_);
  if (map_ != nullptr) judge->tensor_maps().use_ends(actor_, map_, counted_, map_version_);
  for (const Piece& piece : pieces_) {
    if (piece.from != nullptr) {
      if (judge != nullptr) judge->copies_out(actor_, piece.to, piece.from, piece.bytes);
      data_.insert(data_.end(), piece.from, piece.from + piece.bytes);
      if (change_ != nullptr) change_(std::span(data_).last(piece.bytes));
      continue;
    }
    for (std::uint32_t i = 0; i < piece.bytes; ++i) data_.push_back(fill_[i % fill_.size()]);
  }
  if (judge == nullptr) return;
  for_runs(&Piece::from,
           [&](const std::byte* from, std::uint32_t bytes) { judge->read_ends(actor_, from, bytes, end()); });
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
  Judge* const judge = actor_.warp->judge();
  if (judge == nullptr) return;
  for_written(
      [&](std::byte* to, std::uint32_t bytes) { judge->write_ends(actor_, to, bytes, kind(), end()); });
  if (reduction_ != nullptr) return;
  for (const Piece& piece : pieces_)
    if (piece.from != nullptr) judge->copied(actor_, piece.to, piece.from, piece.bytes);
}

void BulkCopies::finish() {
  for_each([](Transfer& copy) {
    if (!copy.taken()) {
      fault(copy.actor(), "copy-not-awaited",
            "the thread exits without waiting until this copy has read its source",
            "use cp.async.bulk.commit_group and cp.async.bulk.wait_group.read before the thread exits");
    }
    copy.land();
  });
}

void issue(Transfer transfer, const SharedPlace& barrier, std::uint32_t bytes) {
  transfer.begin(true);
  Judge* const judge = transfer.actor().warp->judge();
  const Time issued = judge != nullptr ? judge->count_begins() : 0;
  const auto shared = std::make_shared<Transfer>(std::move(transfer));
  Mbarriers& barriers = barrier.block->state<Mbarriers>();
  barriers.after_failed_test(shared->actor(), barrier.offset, [=, &barriers] {
    shared->land();
    const Actor& actor = shared->actor();
    if (judge != nullptr) judge->count_ends(actor, barrier, issued);
    barriers.complete(actor, barrier.offset, bytes);
  });
}

void issue(Transfer transfer) {
  transfer.begin(false);
  const Actor actor = transfer.actor();
  actor.warp->state<BulkCopies>().issue(actor.lane, std::move(transfer));
}

}  // namespace ptxloom::exec
