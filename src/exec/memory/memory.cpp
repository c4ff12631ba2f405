// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "exec/machine/poison.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/turns.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"

namespace ptxloom::exec {
namespace {

// The memories of a process share the addresses from here to kFirstVariable. None is used twice, so an
// address of another memory is as wild as one of a released allocation.
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 48;  // above every pointer of the host
constexpr std::uint64_t kRange = std::uint64_t{1} << 40;         // what a memory takes at a time

constexpr std::size_t kRemembered = 256;  // released allocations, so that a late access can be explained

// The first of `bytes` addresses that no other memory of the process has.
std::uint64_t take_range(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> next{kFirstAddress};
  std::uint64_t first = next;
  do {
    if (bytes > kFirstVariable - first)
      throw Error(ErrorKind::out_of_memory, "out-of-device-memory",
                  "the process has used all addresses of the executor's memory",
                  "start a new process, or keep buffers instead of making new ones");
  } while (!next.compare_exchange_weak(first, first + bytes));
  return first;
}

}  // namespace

struct Memory::State {
  struct Entry {
    Allocation allocation;
    std::unique_ptr<std::byte[]> owned;
    bool unwritten = false;                  // all of it; `undefined` is made when somebody asks
    std::unique_ptr<std::byte[]> undefined;  // null otherwise: all is written
  };

  static std::byte* undefined_bits(Entry& entry, bool may_discard = false) {
    const bool all_written = !entry.unwritten && entry.undefined == nullptr;
    if (all_written && may_discard) entry.undefined = std::make_unique<std::byte[]>(entry.allocation.bytes);
    if (entry.unwritten && entry.allocation.bytes != 0) {
      entry.undefined = std::make_unique_for_overwrite<std::byte[]>(entry.allocation.bytes);
      std::memset(entry.undefined.get(), 0xff, entry.allocation.bytes);
      entry.unwritten = false;
    }
    return entry.undefined.get();
  }
  static void count_as_written(Entry& entry, std::uint64_t address, std::size_t bytes) {
    if (bytes == entry.allocation.bytes) entry.unwritten = false, entry.undefined.reset();
    std::byte* const bits = undefined_bits(entry);
    if (bits != nullptr) std::memset(bits + (address - entry.allocation.address), 0, bytes);
  }

  std::uint64_t add(std::byte* data, std::size_t bytes, std::string name,
                    std::unique_ptr<std::byte[]> owned) {
    const std::scoped_lock lock(mutex);
    const std::uint64_t address = take(bytes);
    const bool unwritten = owned != nullptr;
    live[address] = {
        .allocation = {.address = address, .bytes = bytes, .data = data, .name = std::move(name)},
        .owned = std::move(owned),
        .unwritten = unwritten,
        .undefined = {}};
    return address;
  }

  // An address with room for the bytes and a gap behind them.
  std::uint64_t take(std::size_t bytes) {
    const std::uint64_t room = (std::min<std::uint64_t>(bytes, kFirstVariable) / kGap + 2) * kGap;
    if (room > end - next) {
      const std::uint64_t range = (room + kRange - 1) / kRange * kRange;
      next = take_range(range);
      end = next + range;
    }
    return std::exchange(next, next + room);
  }

  Turns turns;
  mutable std::mutex mutex;
  std::uint64_t next = 0, end = 0;  // the rest of the last range
  std::map<std::uint64_t, Entry> live;
  std::vector<Allocation> released;
};

Memory::Memory() : state_(std::make_unique<State>()) {}
Memory::~Memory() = default;

std::uint64_t Memory::allocate(std::size_t bytes, std::string name) {
  std::unique_ptr<std::byte[]> data;
  try {
    data = std::make_unique_for_overwrite<std::byte[]>(bytes);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, "out-of-device-memory",
                fmt::format("the executor cannot allocate {} bytes", bytes),
                "the host's memory is the executor's device memory: use smaller tensors");
  }
  std::memset(data.get(), kPoison, bytes);
  std::byte* start = data.get();
  return state_->add(start, bytes, std::move(name), std::move(data));
}

std::uint64_t Memory::map(void* data, std::size_t bytes, std::string name) {
  return state_->add(static_cast<std::byte*>(data), bytes, std::move(name), nullptr);
}

void Memory::release(std::uint64_t address) {
  const std::scoped_lock lock(state_->mutex);
  const auto entry = state_->live.find(address);
  if (entry == state_->live.end()) {
    throw Error(ErrorKind::usage, "unknown-allocation",
                fmt::format("{:#x} is not the start of an allocation of the executor", address),
                "release each address that allocate() or map() returned, once");
  }
  Allocation gone = std::move(entry->second.allocation);
  gone.data = nullptr;
  if (state_->released.size() == kRemembered) state_->released.erase(state_->released.begin());
  state_->released.push_back(std::move(gone));
  state_->live.erase(entry);
}

std::byte* Memory::at(std::uint64_t address, std::size_t bytes) const {
  {
    const std::scoped_lock lock(state_->mutex);
    const auto after = state_->live.upper_bound(address);
    if (after != state_->live.begin()) {
      State::Entry& entry = std::prev(after)->second;
      const std::uint64_t offset = address - entry.allocation.address;
      if (offset <= entry.allocation.bytes && entry.allocation.bytes - offset >= bytes) {
        State::count_as_written(entry, address, bytes);
        return entry.allocation.data + offset;
      }
    }
  }
  throw Error(ErrorKind::device_fault, "out-of-bounds",
              fmt::format("{} bytes at {:#x}: {}", bytes, address,
                          describe_nearest(allocations(), released(), address)),
              "use addresses within what allocate() or map() returned");
}

std::vector<Memory::Allocation> Memory::allocations() const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<Allocation> all;
  for (const auto& [address, entry] : state_->live) all.push_back(entry.allocation);
  return all;
}

std::vector<Memory::Allocation> Memory::released() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->released;
}

Turns& Memory::turns() const { return state_->turns; }

std::byte* Memory::undefined_bits(std::uint64_t address, bool may_discard) const {
  const std::scoped_lock lock(state_->mutex);
  const auto entry = state_->live.find(address);
  return entry == state_->live.end() ? nullptr : State::undefined_bits(entry->second, may_discard);
}

void Memory::count_as_written() const {
  const std::scoped_lock lock(state_->mutex);
  for (auto& [address, entry] : state_->live) {
    entry.unwritten = false;
    entry.undefined.reset();
  }
}

}  // namespace ptxloom::exec
