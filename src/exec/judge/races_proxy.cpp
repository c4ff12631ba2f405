// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>

#include "exec/judge/races.hpp"
#include "exec/judge/touches.hpp"
#include "exec/machine/cluster.hpp"

// What a copy through the async proxy, or wgmma, finds in shared memory that threads accessed through the
// generic proxy: a fence.proxy.async has to come between.
namespace ptxloom::exec {
namespace {

// Whether threads may have written it: mostly only copies have.
bool has_generic_write(const SharedCell& cell) {
  return cell.write.time != 0 && (cell.write.kind.strong || !cell.write.kind.by_proxy);
}

}  // namespace

bool Races::is_unfenced(const Here& here, const Touch& touch) const {
  const bool is_generic = touch.time != 0 && !touch.kind.by_proxy && touch.party != order_.copies();
  return is_generic && !order_.fenced(order_.space_of(touch.party, here.rank), here.touch.party,
                                      here.touch.lane, touch.party, touch.lane, touch.time);
}

// A strong write hides neither the weak one before it nor those that nothing orders before it.
std::optional<Touch> Races::unfenced_write(const Here& here, const SharedCell& cell) const {
  const auto is_fenced = [&](const Touch& each) { return !is_unfenced(here, each); };
  const auto find_weak = [&](const Touch& weak) {
    const bool fenced =
        weak.lane == kSeveralLanes ? all_lanes(weak, cell.writing_lanes, is_fenced) : is_fenced(weak);
    return fenced ? std::nullopt : std::optional(weak);
  };
  const Touch& write = cell.write;
  if (!write.kind.strong) return find_weak(write);
  if (!is_fenced(write) || !all_lanes(write, cell.strong_lanes, is_fenced)) return write;
  if (!is_fenced(cell.other_write)) return cell.other_write;
  if (const auto other = unfenced_warp(here, cell.strong_writers, write, cell.first_writer)) return other;
  return find_weak(cell.weak);
}

// One of these warps, which accessed it like `touch`, not before `first`.
std::optional<Touch> Races::unfenced_warp(const Here& here, std::uint64_t warps, Touch touch,
                                          Time first) const {
  touch.time = first;
  touch.lane = kSeveralLanes;
  for (; warps != 0; warps &= warps - 1) {
    touch.party = static_cast<Party>(std::countr_zero(warps));
    if (is_unfenced(here, touch)) return touch;
  }
  return std::nullopt;
}

// Which readers are kept: races.cpp, note_read and check_readers.
std::optional<Touch> Races::unfenced_read(const Here& here, const SharedCell& cell) const {
  for (const Touch* read : {&cell.read, &cell.other_read})
    if (is_unfenced(here, *read)) return *read;
  if (const auto strong = unfenced_warp(here, cell.strong_readers, cell.other_read, cell.first_strong))
    return strong;
  if (cell.read_by_proxy) return std::nullopt;  // some of the others may have read so
  Touch other = cell.read;
  const auto is_fenced = [&](const Touch& each) {
    other = each;
    return !is_unfenced(here, each);
  };
  other.time = cell.first_read;
  if (!all_lanes(other, cell.reading_lanes, is_fenced)) return other;
  return unfenced_warp(here, cell.readers, cell.read, cell.first_read);
}

void Races::check_proxy(const Here& here, const SharedCell& cell) {
  if (!has_generic_write(cell)) return;
  const std::optional<Touch> write = unfenced_write(here, cell);
  if (!write) return;
  find(here, "proxy-fence", &*write,
       "use fence.proxy.async after the writes, then a barrier, before the read through the other proxy",
       [&] {
         return fmt::format(
             "it reads byte {:#x} of shared memory, which {} writes, without a fence.proxy.async between",
             here.offset, describe(*write));
       });
}

// What threads did through the generic proxy has to be over before a copy writes through the async proxy.
void Races::check_refill(const Here& here, const SharedCell& cell) {
  const bool has_reads = cell.read.time != 0 && !cell.overwritten;
  if (!has_reads && !has_generic_write(cell)) return;
  const std::optional<Touch> read = has_reads ? unfenced_read(here, cell) : std::nullopt;
  const std::optional<Touch> touch = read ? read : unfenced_write(here, cell);
  if (!touch) return;
  find(here, "proxy-fence-before-refill", &*touch,
       "use fence.proxy.async after the accesses, then a barrier, before the copy", [&] {
         return fmt::format(
             "it writes byte {:#x} of shared memory through the async proxy, which {} {}, without a "
             "fence.proxy.async between",
             here.offset, describe(*touch), read ? "reads" : "writes");
       });
}

}  // namespace ptxloom::exec
