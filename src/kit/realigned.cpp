// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/realigned.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxloom/error.hpp"
#include "ptxloom/kit/vector_access.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kLanes = 32, kWordBytes = 4;

const RealignedChunks& checked(const RealignedChunks& chunks) {
  const int element = chunks.element.bits, chunk = chunks.vector * element / 8;
  const bool elements = element == 8 || element == 16 || element == 32;
  if (!elements || (chunk != 4 && chunk != 8 && chunk != 16) || chunks.slots < 1)
    throw Error(
        ErrorKind::usage, "bad-chunks",
        fmt::format("{} chunks of {} elements of {}", chunks.slots, chunks.vector, chunks.element.name),
        "a chunk has 4, 8 or 16 bytes of b8, b16 or b32, and a thread has at least one chunk");
  return chunks;
}

}  // namespace

Realigned::Realigned(KernelBuilder& k, const RealignedChunks& chunks)
    : k_(k), chunks_(checked(chunks)), lane_(k.and_(k.special("tid.x"), kLanes - 1)) {}

void Realigned::require_words(std::span<const Words> words) const {
  const bool whole = std::ranges::all_of(words, [&](const Words& slot) { return slot.size() == count(); });
  if (whole && words.size() == static_cast<std::size_t>(chunks_.slots)) return;
  throw Error(ErrorKind::usage, "operand-count",
              fmt::format("words of {} chunks to store, which are not {} chunks of {} words", words.size(),
                          chunks_.slots, count()),
              "give as many words as load_all() returns");
}

Reg Realigned::at(int slot, Reg begin) const {
  return slot == 0 ? begin : k_.add(begin, std::int64_t{slot} * stride());
}

Address Realigned::address(Reg first, int slot, int element) const {
  return KernelBuilder::at(first, (std::int64_t{slot} * stride() + element) * bytes());
}

// Of two vectors the one that begins this many elements after the first: words move by half of a vector, by a
// quarter and so on, and then all bits by less than a word.
Realigned::Words Realigned::shifted(Words words, Reg elements) const {
  const int in_word = kWordBytes / bytes();
  std::size_t left = count();
  for (int half = chunks_.vector / 2; half >= in_word; half /= 2) {
    left /= 2;
    const Reg moves = k_.ne(k_.and_(elements, half), 0);
    for (std::size_t i = 0; i < count() + left; ++i) words[i] = k_.select(moves, words[i + left], words[i]);
  }
  if (in_word > 1) {
    const Reg bits = k_.mul(k_.and_(elements, in_word - 1), 8 * bytes());
    for (std::size_t i = 0; i < count(); ++i)
      words[i] = k_.op("shf.r.wrap.b32", words[i], words[i + 1], bits);
  }
  words.resize(count());
  return words;
}

// The second vector may end a vector after the chunk: chunks at the end of the row are loaded by elements.
void Realigned::load_vectors(int slot, const Words& words) const {
  const Reg aligned = k_.sub(chunks_.first, k_.convert(u64, k_.mul(chunks_.offset, bytes())));
  Words both = k_.regs(b32, static_cast<int>(2 * count()));
  for (std::size_t half = 0; half < 2; ++half) {
    const Address from = address(aligned, slot, static_cast<int>(half) * chunks_.vector);
    load_vector(k_, "ld.global", b32, from, std::span(both).subspan(half * count(), count()));
  }
  both = shifted(both, chunks_.offset);
  for (std::size_t i = 0; i < count(); ++i) k_.set(words[i], both[i]);
}

void Realigned::load_elements(int slot, const Words& words) const {
  const int in_word = kWordBytes / bytes();
  const Reg position = at(slot, chunks_.position);
  for (int i = 0; i < chunks_.vector; ++i) {
    const Reg word = words[static_cast<std::size_t>(i / in_word)], loaded = k_.mov(b32, 0);
    k_.guarded(k_.lt(position, std::int64_t{chunks_.length} - i), [&] {
      k_.emit(fmt::format("ld.global.b{}", 8 * bytes()), loaded, address(chunks_.first, slot, i));
    });
    const int bit = i % in_word * 8 * bytes();
    k_.set(word, k_.or_(word, bit == 0 ? loaded : k_.shl(loaded, bit)));
  }
}

std::vector<std::vector<Reg>> Realigned::load_all() const {
  std::vector<Words> all;
  for (int slot = 0; slot < chunks_.slots; ++slot) {
    Words& words = all.emplace_back();
    for (std::size_t i = 0; i < count(); ++i) words.push_back(k_.mov(b32, 0));
  }
  for (int slot = 0; slot < chunks_.slots; ++slot) {
    const Reg position = at(slot, chunks_.position);
    const Reg begins = k_.and_(chunks_.present, k_.lt(position, std::int64_t{chunks_.length}));
    const Reg whole = k_.and_(
        chunks_.present, k_.le(position, std::int64_t{chunks_.length} - 2 * std::int64_t{chunks_.vector}));
    const Words& words = all[static_cast<std::size_t>(slot)];
    k_.if_(whole, [&] { load_vectors(slot, words); });
    k_.if_(k_.and_(begins, k_.not_(whole)), [&] { load_elements(slot, words); });
  }
  return all;
}

/// Those of the chunk after this thread's. The last lane's next chunk is the first lane's in the next slot.
Realigned::Words Realigned::next_words(std::span<const Words> words, std::size_t slot) const {
  Words next;
  const Reg from = k_.and_(k_.add(lane_, 1), kLanes - 1);
  for (std::size_t i = 0; i < count(); ++i) {
    const Reg own = words[slot][i];
    const Reg given = slot + 1 < words.size() ? k_.select(k_.eq(lane_, 0), words[slot + 1][i], own) : own;
    next.push_back(k_.shuffle(given, from));
  }
  return next;
}

void Realigned::store_elements(Reg position, Reg first, int slot, Reg limit, const Words& words) const {
  const int in_word = kWordBytes / bytes();
  for (int i = 0; i < chunks_.vector; ++i) {
    const Reg word = KernelBuilder::as(u32, words[static_cast<std::size_t>(i / in_word)]);
    const int bit = i % in_word * 8 * bytes();
    const Reg value = bit == 0 ? word : k_.shr(word, bit);
    k_.guarded(k_.lt(k_.add(position, i), limit), [&] {
      bytes() == 2 ? k_.store("global", u16, address(first, slot, i), value)
                   : k_.emit(fmt::format("st.global.b{}", 8 * bytes()), address(first, slot, i), value);
    });
  }
}

void Realigned::store_vector(int slot, Reg begin, Reg first, Reg limit, const Words& words) const {
  const Reg position = at(slot, begin), end = k_.add(position, chunks_.vector);
  const Reg whole = k_.and_(chunks_.present, k_.le(end, limit));
  const Reg begins = k_.and_(chunks_.present, k_.lt(position, limit));
  const Address to = address(first, slot, 0);
  k_.guarded(whole, [&] { kit::store_vector(k_, "st.global", b32, to, std::span(words).first(count())); });
  k_.if_(k_.and_(begins, k_.not_(whole)), [&] { store_elements(position, first, slot, limit, words); });
}

void Realigned::store_all(std::span<const std::vector<Reg>> words) const {
  require_words(words);
  // Elements before the first vector that begins in a chunk.
  const Reg before = k_.and_(k_.sub(k_.mov(u32, 0), chunks_.offset), chunks_.vector - 1);
  const Reg begin = k_.add(chunks_.position, KernelBuilder::as(s32, before));
  const Reg first = k_.add(chunks_.first, k_.convert(u64, k_.mul(before, bytes())));
  // The end of the warp's chunks or of the row.
  const Reg own_end = k_.sub(chunks_.position, KernelBuilder::as(s32, k_.mul(lane_, chunks_.vector)));
  const Reg limit =
      k_.min(k_.add(own_end, chunks_.slots * stride()), static_cast<std::int64_t>(chunks_.length));
  for (std::size_t slot = 0; slot < words.size(); ++slot) {
    Words both = words[slot];
    for (const Reg& word : next_words(words, slot)) both.push_back(word);
    store_vector(static_cast<int>(slot), begin, first, limit, shifted(both, before));
  }
  // Nobody else has what is before the first lane's first vector.
  const Reg head = k_.and_(k_.and_(chunks_.present, k_.eq(lane_, 0)), k_.ne(before, 0));
  k_.if_(head, [&] { store_elements(chunks_.position, chunks_.first, 0, k_.min(begin, limit), words[0]); });
}

}  // namespace ptxloom::kit
