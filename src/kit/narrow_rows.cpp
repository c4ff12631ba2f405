// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/vector_access.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kNarrowWordBytes = 4, kWidestNarrow = 16;
constexpr std::size_t kPaddedWords = 4;  // of 16 elements of 6 bits, the last one empty

/// The type for accesses of this many bytes, of which some have several registers.
Type narrow_access(int bytes) { return bytes == 1 ? b8 : bytes == 2 ? b16 : b32; }

std::uint64_t vector_of(const RowWindow& window) { return static_cast<std::uint64_t>(window.shape().vector); }

}  // namespace

NarrowUnit narrow_unit(Type type, NarrowPacking packing) {
  if (packing == NarrowPacking::padded) return {16, 16};
  const int common = std::gcd(8, int{type.bits});
  return {8 / common, type.bits / common};
}

NarrowRows::NarrowRows(KernelBuilder& k, const RowWindow& window, Reg row, Pointer base, std::uint64_t pitch,
                       Type type, NarrowPacking packing)
    : k_(k),
      window_(window),
      type_(type),
      unit_(narrow_unit(type, packing)),
      row_(row),
      row_bytes_(bytes_of(pitch)),
      bytes_(static_cast<int>(bytes_of(vector_of(window)))),
      width_(kWidestNarrow) {
  const std::uint64_t leading = window.shape().pitch;
  const std::uint64_t apart = bytes_of(std::max(pitch, leading) - std::min(pitch, leading));
  width_ =
      static_cast<int>(std::gcd(std::gcd(apart, std::uint64_t{kWidestNarrow}), bytes_of(vector_of(window))));
  if (window.shape().shifted())  // the first chunk may begin before the row
    first_ = k.add(base.base, k.mul_wide(window.position(), unit_.bytes));
  else
    first_ =
        k.mad_wide(k.div(KernelBuilder::as(u32, window.position()), unit_.elements), unit_.bytes, base.base);
  first_ = row_bytes_ <= 0xffff'ffff ? k.mad_wide(row, row_bytes_, first_)
                                     : k.fma(k.convert(u64, row), row_bytes_, first_);
}

std::uint64_t NarrowRows::bytes_of(std::uint64_t elements) const {
  return elements / static_cast<std::uint64_t>(unit_.elements) * static_cast<std::uint64_t>(unit_.bytes);
}

Address NarrowRows::address(int slot, int byte) const {
  const auto elements = static_cast<std::uint64_t>(slot) * static_cast<std::uint64_t>(window_.stride());
  return KernelBuilder::at(first_, static_cast<std::int64_t>(bytes_of(elements)) + byte);
}

// Whether a byte of a chunk that is not whole belongs to the row. Elements of 8 bits may be before the row,
// too.
Reg NarrowRows::byte_inside(int slot, int byte, Reg count) const {
  if (unit_.elements == 1) return *window_.inside(slot, byte);
  return k_.gt(count, byte / unit_.bytes * unit_.elements);
}

// Elements of a chunk that are in the row; of a whole chunk they may be more than it has, outside the row
// fewer than none.
Reg NarrowRows::elements_inside(int slot) const {
  const std::int64_t after = std::int64_t{slot} * window_.stride();
  return k_.sub(std::int64_t{window_.shape().length} - after, window_.position());
}

// Dense words, with zeros in place of elements outside the row.
std::vector<Reg> NarrowRows::clipped(Reg inside, std::span<const Reg> words) const {
  const Reg bits = k_.mul(inside, int{type_.bits});
  std::vector<Reg> result;
  for (const Reg& word : words) {
    const Reg keep = k_.max(k_.sub(bits, static_cast<int>(result.size()) * 8 * kNarrowWordBytes), 0);
    const Reg outside = k_.shl(k_.mov(b32, 0xffff'ffff), KernelBuilder::as(u32, keep));
    result.push_back(k_.and_(word, k_.not_(outside)));
  }
  return result;
}

// Words as they lie in memory.
std::vector<Reg> NarrowRows::with_gaps(std::vector<Reg> words) const {
  if (!has_gaps()) return words;
  const Reg zero = k_.mov(b32, 0);
  for (std::size_t i = kPaddedWords - 1; i <= words.size(); i += kPaddedWords)
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), zero);
  return words;
}

void NarrowRows::store_whole(int slot, std::span<const Reg> words) const {
  std::vector<Reg> parts(words.begin(), words.end());
  if (width_ < kNarrowWordBytes) {
    parts.clear();
    for (int byte = 0; byte < bytes_; byte += width_) {
      const Reg word = KernelBuilder::as(u32, words[static_cast<std::size_t>(byte / kNarrowWordBytes)]);
      parts.push_back(byte % kNarrowWordBytes == 0 ? word : k_.shr(word, 8 * (byte % kNarrowWordBytes)));
    }
  }
  const auto each = static_cast<std::size_t>(std::max(width_ / kNarrowWordBytes, 1));
  window_.whole(slot, [&] {
    for (std::size_t i = 0; i < parts.size(); i += each) {
      const Address to = address(slot, static_cast<int>(i / each) * width_);
      store_vector(k_, "st.global", narrow_access(width_), to, std::span(parts).subspan(i, each));
    }
  });
}

void NarrowRows::store(int slot, std::span<const Reg> words) const {
  store_whole(slot, with_gaps({words.begin(), words.end()}));
  window_.ends(slot, [&] {
    const Reg count = elements_inside(slot);
    const std::vector<Reg> inside =
        unit_.elements == 1 ? std::vector<Reg>(words.begin(), words.end()) : with_gaps(clipped(count, words));
    for (int byte = 0; byte < bytes_; ++byte) {
      const Reg word = KernelBuilder::as(u32, inside[static_cast<std::size_t>(byte / kNarrowWordBytes)]);
      const Reg shifted = byte % kNarrowWordBytes == 0 ? word : k_.shr(word, 8 * (byte % kNarrowWordBytes));
      k_.guarded(byte_inside(slot, byte, count),
                 [&] { k_.emit("st.global.b8", address(slot, byte), shifted); });
    }
  });
}

// Loads less than a word where the predicate holds, into the word at this bit. The loaded register has a
// value in any case: else ptxas 13.0 takes what another guarded load has read from the same address, even
// where that one's guard did not hold.
void NarrowRows::load_bits(Reg word, const std::string& load, const Address& from, int bit,
                           const Guard& guard) const {
  const Reg loaded = k_.mov(b32, 0);
  guard([&] { k_.emit(load, loaded, from); });
  k_.set(word, k_.or_(word, bit == 0 ? loaded : k_.shl(loaded, bit)));
}

void NarrowRows::load_whole(int slot, std::span<const Reg> words) const {
  const auto each = static_cast<std::size_t>(std::max(width_ / kNarrowWordBytes, 1));
  const Guard whole = [&](const std::function<void()>& body) { window_.whole(slot, body); };
  for (int byte = 0; byte < bytes_; byte += width_) {
    const auto word = static_cast<std::size_t>(byte / kNarrowWordBytes);
    const Address from = address(slot, byte);
    const Type type = narrow_access(width_);
    if (width_ < kNarrowWordBytes)
      load_bits(words[word], vector_opcode("ld.global", type, 1), from, 8 * (byte % kNarrowWordBytes), whole);
    else
      whole([&] { load_vector(k_, "ld.global", type, from, words.subspan(word, each)); });
  }
}

std::vector<Reg> NarrowRows::load(int slot) const {
  std::vector<Reg> words;
  for (int byte = 0; byte < bytes_; byte += kNarrowWordBytes) words.push_back(k_.mov(b32, 0));
  load_whole(slot, words);
  window_.ends(slot, [&] {
    const Reg count = elements_inside(slot);
    for (int byte = 0; byte < bytes_; ++byte) {
      const Guard inside = [&](const std::function<void()>& body) {
        k_.guarded(byte_inside(slot, byte, count), body);
      };
      load_bits(words[static_cast<std::size_t>(byte / kNarrowWordBytes)], "ld.global.b8", address(slot, byte),
                8 * (byte % kNarrowWordBytes), inside);
    }
  });
  if (has_gaps())
    for (std::size_t i = words.size() / kPaddedWords; i > 0; --i)
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i * kPaddedWords - 1));
  // What is behind the row in its last unit is no data.
  if (unit_.elements == 1) return words;
  window_.ends(slot, [&] {
    const std::vector<Reg> inside = clipped(elements_inside(slot), words);
    for (std::size_t i = 0; i < words.size(); ++i) k_.set(words[i], inside[i]);
  });
  return words;
}

bool NarrowRows::realigns() const {
  const RowShape& shape = window_.shape();
  const bool in_vectors =
      bytes_ == kNarrowWordBytes || bytes_ == 2 * kNarrowWordBytes || bytes_ == kWidestNarrow;
  return !shape.shifted() && shape.team.in_warp() && shape.team.lanes == kWarpThreads && !has_gaps() &&
         in_vectors && width_ < kNarrowWordBytes;
}

// In bytes. The row ends with its last unit.
Realigned NarrowRows::realigned() const {
  const RowShape& shape = window_.shape();
  const auto units = static_cast<std::uint64_t>(unit_.elements);
  const Reg position =
      k_.mul(k_.div(KernelBuilder::as(u32, window_.position()), unit_.elements), unit_.bytes);
  const Reg row = KernelBuilder::as(u32, row_);
  const auto chunk = static_cast<std::uint64_t>(bytes_);
  return {k_,
          {.element = b8,
           .vector = bytes_,
           .slots = window_.slots(),
           .length = static_cast<std::uint32_t>(bytes_of((shape.length + units - 1) / units * units)),
           .position = KernelBuilder::as(s32, position),
           .offset = k_.and_(k_.mul(row, row_bytes_ % chunk), chunk - 1),
           .first = first_,
           .present = window_.present_ ? *window_.present_ : k_.eq(row, row)}};
}

std::vector<std::vector<Reg>> NarrowRows::load_realigned() const {
  std::vector<std::vector<Reg>> slots = realigned().load_all();
  clip_last(slots);
  return slots;
}

void NarrowRows::store_realigned(std::span<const std::vector<Reg>> words) const {
  std::vector<std::vector<Reg>> slots(words.begin(), words.end());
  clip_last(slots);
  realigned().store_all(slots);
}

// What is behind the row in its last unit becomes zero.
void NarrowRows::clip_last(std::vector<std::vector<Reg>>& slots) const {
  if (window_.shape().length % static_cast<std::uint32_t>(unit_.elements) == 0) return;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    for (Reg& word : slots[slot]) {
      const Reg own = k_.reg(b32);
      k_.set(own, word);
      word = own;
    }
    const Reg count = elements_inside(static_cast<int>(slot));
    k_.if_(k_.lt(count, window_.shape().vector), [&] {
      const std::vector<Reg> inside = clipped(count, slots[slot]);
      for (std::size_t i = 0; i < inside.size(); ++i) k_.set(slots[slot][i], inside[i]);
    });
  }
}

}  // namespace ptxloom::kit
