// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ptxloom/kit/narrow.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kNarrowWordBytes = 4, kWidestNarrow = 16;
constexpr std::size_t kPaddedWords = 4;  // of 16 elements of 6 bits, the last one empty

/// "st.global.v2.b32" for 8 bytes.
std::string narrow_access(std::string_view mnemonic, int bytes) {
  if (bytes <= kNarrowWordBytes) return fmt::format("{}.global.b{}", mnemonic, 8 * bytes);
  return fmt::format("{}.global.v{}.b32", mnemonic, bytes / kNarrowWordBytes);
}

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
      bytes_(bytes_of(static_cast<std::uint64_t>(window.shape().vector))),
      width_(kWidestNarrow) {
  const auto elements = static_cast<std::uint64_t>(unit_.elements);
  const std::uint64_t row_bytes = pitch / elements * static_cast<std::uint64_t>(unit_.bytes);
  width_ = static_cast<int>(
      std::gcd(std::gcd(row_bytes, std::uint64_t{kWidestNarrow}), static_cast<std::uint64_t>(bytes_)));
  const Reg units = k.div(KernelBuilder::as(u32, window.position()), unit_.elements);
  first_ = k.mad_wide(units, unit_.bytes, base.base);
  first_ = row_bytes <= 0xffff'ffff ? k.mad_wide(row, row_bytes, first_)
                                    : k.fma(k.convert(u64, row), row_bytes, first_);
}

int NarrowRows::bytes_of(std::uint64_t elements) const {
  return static_cast<int>(elements / static_cast<std::uint64_t>(unit_.elements)) * unit_.bytes;
}

Address NarrowRows::address(int slot, int byte) const {
  const auto elements = static_cast<std::uint64_t>(slot) * static_cast<std::uint64_t>(window_.stride());
  return KernelBuilder::at(first_, bytes_of(elements) + byte);
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
      if (each > 1)
        k_.emit(narrow_access("st", width_), to, Arg(std::span<const Reg>(parts).subspan(i, each)));
      else
        k_.emit(narrow_access("st", width_), to, parts[i]);
    }
  });
}

void NarrowRows::store(int slot, std::span<const Reg> words) const {
  store_whole(slot, with_gaps({words.begin(), words.end()}));
  window_.ends(slot, [&] {
    const Reg count = elements_inside(slot);
    const std::vector<Reg> inside = with_gaps(clipped(count, words));
    for (int byte = 0; byte < bytes_; ++byte) {
      const Reg word = KernelBuilder::as(u32, inside[static_cast<std::size_t>(byte / kNarrowWordBytes)]);
      const Reg shifted = byte % kNarrowWordBytes == 0 ? word : k_.shr(word, 8 * (byte % kNarrowWordBytes));
      k_.guarded(k_.gt(count, byte / unit_.bytes * unit_.elements),
                 [&] { k_.emit("st.global.b8", address(slot, byte), shifted); });
    }
  });
}

// Loads less than a word, into the word at this bit.
void NarrowRows::load_bits(Reg word, const std::string& load, const Address& from, int bit) const {
  const Reg loaded = k_.reg(b32);
  k_.emit(load, loaded, from);
  k_.set(word, k_.or_(word, bit == 0 ? loaded : k_.shl(loaded, bit)));
}

void NarrowRows::load_whole(int slot, std::span<const Reg> words) const {
  const auto each = static_cast<std::size_t>(std::max(width_ / kNarrowWordBytes, 1));
  window_.whole(slot, [&] {
    for (int byte = 0; byte < bytes_; byte += width_) {
      const auto word = static_cast<std::size_t>(byte / kNarrowWordBytes);
      const Address from = address(slot, byte);
      if (each > 1)
        k_.emit(narrow_access("ld", width_), Arg(words.subspan(word, each)), from);
      else if (width_ == kNarrowWordBytes)
        k_.emit(narrow_access("ld", width_), words[word], from);
      else
        load_bits(words[word], narrow_access("ld", width_), from, 8 * (byte % kNarrowWordBytes));
    }
  });
}

std::vector<Reg> NarrowRows::load(int slot) const {
  std::vector<Reg> words;
  for (int byte = 0; byte < bytes_; byte += kNarrowWordBytes) words.push_back(k_.mov(b32, 0));
  load_whole(slot, words);
  window_.ends(slot, [&] {
    const Reg count = elements_inside(slot);
    for (int byte = 0; byte < bytes_; ++byte) {
      k_.guarded(k_.gt(count, byte / unit_.bytes * unit_.elements), [&] {
        load_bits(words[static_cast<std::size_t>(byte / kNarrowWordBytes)], "ld.global.b8",
                  address(slot, byte), 8 * (byte % kNarrowWordBytes));
      });
    }
  });
  if (has_gaps())
    for (std::size_t i = words.size() / kPaddedWords; i > 0; --i)
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i * kPaddedWords - 1));
  // What is behind the row in its last unit is no data.
  window_.ends(slot, [&] {
    const std::vector<Reg> inside = clipped(elements_inside(slot), words);
    for (std::size_t i = 0; i < words.size(); ++i) k_.set(words[i], inside[i]);
  });
  return words;
}

}  // namespace ptxloom::kit
