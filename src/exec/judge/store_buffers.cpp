// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/store_buffers.hpp"

#include <algorithm>

namespace ptxloom::exec {
namespace {

using Thread = StoreBuffers::Thread;

Scope distance(const Thread& one, const Thread& other) {
  if (one.cluster != other.cluster) return Scope::gpu;
  return one.block == other.block ? Scope::cta : Scope::cluster;
}

}  // namespace

void StoreBuffers::fence(const Thread& thread, Scope scope, bool sc) {
  const auto own = threads_.find(thread);
  if (own == threads_.end()) return;
  for (Written& written : own->second.written) {
    written.fenced = true;
    if (sc) written.sc = std::max(written.sc.value_or(scope), scope);
  }
}

void StoreBuffers::write(const Thread& thread, const void* word) {
  std::vector<Written>& written = threads_[thread].written;
  std::erase_if(written, [&](const Written& each) { return each.word == word; });
  if (written.size() == kMostKept) written.erase(written.begin());
  written.push_back({.word = word});
  Word& at = words_[word];
  for (const Look& look : at.looks) {
    if (look.side.thread == thread) continue;
    if (missed_.size() == kMostMissed) missed_.erase(missed_.begin());
    missed_.push_back({.look = look, .word = word, .by = thread});
  }
  at.looks.clear();
  at.writer = thread;
}

bool StoreBuffers::is_pair(const Missed& missed, const Thread& later, const void* word) {
  const Look& look = missed.look;
  if (missed.by != later || look.written.word != word || words_[word].writer != look.side.thread)
    return false;
  const Scope least = distance(later, look.side.thread);
  const std::vector<Written>& written = threads_[later].written;
  const auto own = std::ranges::find(written, missed.word, &Written::word);
  if (own == written.end() || !own->fenced) return false;
  const auto is_enough = [&](const Written& each) { return each.sc && *each.sc >= least; };
  return !is_enough(*own) || !is_enough(look.written);
}

std::optional<StoreBuffers::Side> StoreBuffers::read(const Thread& thread, const void* word,
                                                     std::uint32_t operation) {
  std::erase_if(missed_, [&](const Missed& each) {
    return each.word == word && each.look.side.thread == thread;  // it sees the write now
  });
  const Side side{.thread = thread, .reads = operation};
  std::optional<Side> found;
  for (Missed& missed : missed_) {
    if (!is_pair(missed, thread, word)) continue;
    missed.later = side;
    if (threads_[missed.look.side.thread].exited) found = missed.look.side;
  }
  std::vector<Look>& looks = words_[word].looks;
  std::erase_if(looks, [&](const Look& each) { return each.side.thread == thread; });
  if (const auto own = threads_.find(thread); own != threads_.end())
    for (const Written& written : own->second.written)
      if (written.fenced && written.word != word) looks.push_back({.side = side, .written = written});
  return found;
}

std::optional<StoreBuffers::Pair> StoreBuffers::exit(const Thread& thread) {
  const auto own = threads_.find(thread);
  if (own == threads_.end()) return std::nullopt;
  own->second.exited = true;
  for (const Missed& missed : missed_)
    if (missed.look.side.thread == thread && missed.later)
      return Pair{.earlier = missed.look.side, .later = *missed.later};
  return std::nullopt;
}

}  // namespace ptxloom::exec
