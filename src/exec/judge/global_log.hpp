// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/judge/grid_order.hpp"
#include "exec/judge/scope.hpp"
#include "exec/judge/store_buffers.hpp"

// The latest accesses of a launch to each byte of global memory. Only what is accessed takes room: four times
// the size of words that are only read, or written and not read after that, and eight times that of words
// whose last write and a read after it are kept. A page keeps groups of sixteen bytes until an access begins
// or ends within one, then groups of four, then single bytes.
namespace ptxloom::exec {

struct GlobalTouch {
  Time time = 0;                ///< of the cluster; 0: there was none
  std::uint32_t operation = 0;  ///< index into Code::operations
  std::uint32_t cluster = 0;
  Party party = 0;
  std::uint8_t lane = 0;
  AccessKind kind;
};

/// What few groups of bytes need besides their last write and read.
struct GlobalConflict {
  GlobalTouch weak;        ///< the last weak write before the last one, if that is strong
  GlobalTouch other_read;  ///< one that was not before `read`
  GlobalTouch past_read;   ///< in the log of one cluster: the last one before the write
  bool copied_to = false;  ///< an asynchronous copy in flight writes it
};

/// In place of each element, this many.
template <class T>
void split_all(std::vector<T>& whole, std::size_t parts) {
  std::vector<T> split;
  split.reserve(whole.size() * parts);
  for (const T& each : whole) split.insert(split.end(), parts, each);
  whole = std::move(split);
}

/// One access to each group of a page. Takes room while there is any. A reference to one is valid until
/// `set`.
class TouchColumn {
 public:
  const GlobalTouch& operator[](std::size_t group) const {
    static constexpr GlobalTouch none;
    return touches_.empty() ? none : touches_[group];
  }
  /// `groups`: of the page.
  void set(std::size_t group, const GlobalTouch& touch, std::size_t groups) {
    if (touches_.empty()) {
      if (touch.time == 0) return;
      touches_.resize(groups);
    }
    if (touches_[group].time != 0) --used_;
    if (touch.time != 0) ++used_;
    touches_[group] = touch;
    if (used_ == 0) touches_ = std::vector<GlobalTouch>();
  }
  /// Each group becomes this many.
  void split(std::size_t parts) {
    split_all(touches_, parts);
    used_ *= parts;
  }

 private:
  std::vector<GlobalTouch> touches_;
  std::size_t used_ = 0;
};

class GlobalPage {
 public:
  static constexpr std::uintptr_t kBytes = 512;

  /// A group of bytes.
  class Group {
   public:
    Group(GlobalPage& page, std::size_t index) : page_(&page), index_(index) {}
    const GlobalTouch& write() const { return page_->writes_[index_]; }
    void set_write(const GlobalTouch& touch) const { page_->writes_.set(index_, touch, page_->groups()); }
    /// The last one since the write.
    const GlobalTouch& read() const { return page_->reads_[index_]; }
    void set_read(const GlobalTouch& touch) const { page_->reads_.set(index_, touch, page_->groups()); }
    const GlobalConflict& conflict() const {
      static constexpr GlobalConflict none;
      return page_->conflicts_ == nullptr ? none : (*page_->conflicts_)[index_];
    }
    void set_weak(const GlobalTouch& touch) const {
      if (touch.time != 0 || conflict().weak.time != 0) room().weak = touch;
    }
    void set_other_read(const GlobalTouch& touch) const {
      if (touch.time != 0 || conflict().other_read.time != 0) room().other_read = touch;
    }
    void set_past_read(const GlobalTouch& touch) const {
      if (touch.time != 0) room().past_read = touch;
    }
    /// A strong write that nothing orders before the last one, which is strong too.
    const GlobalTouch& other_write() const { return page_->other_writes_[index_]; }
    void set_other_write(const GlobalTouch& touch) const {
      page_->other_writes_.set(index_, touch, page_->groups());
    }
    void set_copied_to(bool copied) const {
      if (copied != conflict().copied_to) room().copied_to = copied;
    }

   private:
    GlobalConflict& room() const {
      if (page_->conflicts_ == nullptr)
        page_->conflicts_ = std::make_unique<std::vector<GlobalConflict>>(page_->groups());
      return (*page_->conflicts_)[index_];
    }
    GlobalPage* page_;
    std::size_t index_;
  };

  /// Calls f(group, offset) for the bytes [begin, end) of the page.
  template <class F>
  void for_groups(std::uintptr_t begin, std::uintptr_t end, F f) {
    while (((begin | end) & (grain_ - 1)) != 0) split();
    for (std::uintptr_t at = begin; at < end; at += grain_) f(Group(*this, at / grain_), at);
  }
  /// Calls f(group, group of `other`, offset) for the same bytes of two pages, and all of them.
  template <class F>
  void for_both(GlobalPage& other, F f) {
    while (grain_ > other.grain_) split();
    while (other.grain_ > grain_) other.split();
    for (std::uintptr_t at = 0; at < kBytes; at += grain_)
      f(Group(*this, at / grain_), Group(other, at / grain_), at);
  }

 private:
  static constexpr std::uintptr_t kCoarse = 16, kParts = 4;

  std::size_t groups() const { return kBytes / grain_; }
  void split() {
    for (TouchColumn* column : {&writes_, &reads_, &other_writes_}) column->split(kParts);
    if (conflicts_ != nullptr) split_all(*conflicts_, kParts);
    grain_ /= kParts;
  }

  std::uintptr_t grain_ = kCoarse;
  TouchColumn writes_, reads_, other_writes_;
  std::unique_ptr<std::vector<GlobalConflict>> conflicts_;
};

class GlobalLog {
 public:
  /// Calls f(group, distance from `memory`) for the bytes.
  template <class F>
  void for_groups(const std::byte* memory, std::uint32_t bytes, F f) {
    const auto first = reinterpret_cast<std::uintptr_t>(memory), end = first + bytes;
    for (std::uintptr_t at = first; at < end;) {
      const std::uintptr_t base = at / GlobalPage::kBytes * GlobalPage::kBytes;
      const std::uintptr_t stop = std::min(end, base + GlobalPage::kBytes);
      page_of(at / GlobalPage::kBytes)
          .for_groups(at - base, stop - base, [&](const GlobalPage::Group& group, std::uintptr_t within) {
            f(group, static_cast<std::uint32_t>(base + within - first));
          });
      at = stop;
    }
  }
  /// Calls f(group, group of `other`, memory) for the bytes of all pages of this log, in the order of
  /// addresses.
  template <class F>
  void for_both(GlobalLog& other, F f) {
    std::vector<std::uintptr_t> numbers;
    for (const auto& [number, page] : pages_) numbers.push_back(number);
    std::ranges::sort(numbers);
    for (const std::uintptr_t number : numbers) {
      const auto* const memory = reinterpret_cast<const std::byte*>(number * GlobalPage::kBytes);
      page_of(number).for_both(
          other.page_of(number),
          [&](const Group& one, const Group& theirs, std::uintptr_t at) { f(one, theirs, memory + at); });
    }
  }
  void clear() {
    pages_.clear();
    recent_.fill({});
  }

 private:
  using Group = GlobalPage::Group;
  GlobalPage& page_of(std::uintptr_t number) {
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number != number) recent = {.number = number, .page = &pages_[number]};
    return *recent.page;
  }

  struct Recent {
    std::uintptr_t number = 0;
    GlobalPage* page = nullptr;
  };

  std::unordered_map<std::uintptr_t, GlobalPage> pages_;
  std::array<Recent, 64> recent_{};  // pages found lately, by the last bits of their numbers
};

/// What the clusters of a grid share when findings are collected. Used by one host thread at a time.
struct GridLog {
  GridLog(std::uint64_t clusters, bool apart) : order(clusters), apart(apart) {}

  GlobalLog memory;
  GridOrder order;
  StoreBuffers buffers;  ///< of global memory
  /// Nothing orders the clusters, which may run at once: each keeps a log of its own, and joins it with
  /// `memory` when it has ended and those before it have.
  const bool apart;
};

}  // namespace ptxloom::exec
