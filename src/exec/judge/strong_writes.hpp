// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "exec/judge/horizon.hpp"

// The rules of strong writes, which hold for shared and for global memory. Judge is Races or GlobalRaces.
namespace ptxloom::exec {

/// What is kept of the writes before the last one, if that is strong.
template <class Touch>
struct EarlierWrites {
  Touch weak;   ///< the last weak one
  Touch other;  ///< a strong one that nothing orders before the last one
};

/// Whether `now` comes after `write` because of one of these reads, all since that write. Who comes after a
/// strong read of a strong write comes after the write itself, without any fence (PTX ISA 8.9.2, 8.9.5:
/// observation order, then base causality order). Not so if what is read decides nothing: in another run it
/// may be an older value.
template <class Judge, class Touch>
bool observed(const Judge& judge, const Touch& now, const Touch& write,
              std::initializer_list<const Touch*> reads) {
  for (const Touch* read : reads)
    if (read->time != 0 && judge.decides(*read) && judge.meet(*read, write) && judge.is_before(*read, now))
      return true;
  return false;
}

/// What is kept after a strong write. In place of the last of two strong writes, neither of which is before
/// the other, is one in flight. An atomic operation (`updates`) whose result decides something has read the
/// last write: who comes after it comes after both.
template <class Judge, class Touch>
EarlierWrites<Touch> before_strong(const Judge& judge, const Touch& now, bool updates, const Touch& last,
                                   EarlierWrites<Touch> kept) {
  if (!last.kind.strong) return {.weak = last, .other = {}};
  const bool has_read = updates && last.time != kInFlight && judge.decides(now) && judge.meet(now, last);
  if (has_read || judge.is_before(last, now)) {
    if (judge.is_before(kept.other, now)) kept.other = {};
  } else if (kept.other.time != kInFlight || last.time == kInFlight) {
    kept.other = last;
  }
  return kept;
}

}  // namespace ptxloom::exec
