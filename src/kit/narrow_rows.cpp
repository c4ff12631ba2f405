// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ptxloom/kit/narrow.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kNarrowWordBytes = 4, kWidestNarrow = 16;

int narrow_bytes(std::uint64_t elements, Type type) { return static_cast<int>(elements * type.bits / 8); }

/// Where the unit of whole elements and bytes begins that has this byte of a chunk.
int first_bit_of_unit(Type type, int byte) {
  const int unit = type.bits / std::gcd(8, int{type.bits});
  return byte / unit * unit * 8;
}

/// "st.global.v2.b32" for 8 bytes.
std::string narrow_access(std::string_view mnemonic, int bytes) {
  if (bytes <= kNarrowWordBytes) return fmt::format("{}.global.b{}", mnemonic, 8 * bytes);
  return fmt::format("{}.global.v{}.b32", mnemonic, bytes / kNarrowWordBytes);
}

}  // namespace

NarrowRows::NarrowRows(KernelBuilder& k, const RowWindow& window, Reg row, Pointer base, std::uint64_t pitch,
                       Type type)
    : k_(k),
      window_(window),
      type_(type),
      bytes_(narrow_bytes(static_cast<std::uint64_t>(window.shape().vector), type)),
      width_(kWidestNarrow) {
  const std::uint64_t row_bytes = pitch * type.bits / 8;
  width_ = static_cast<int>(
      std::gcd(std::gcd(row_bytes, std::uint64_t{kWidestNarrow}), static_cast<std::uint64_t>(bytes_)));
  const Reg bits = k.mul(window.position(), int{type.bits});
  first_ = k.add(base.base, k.convert(s64, k.shr(bits, 3)));
  first_ = row_bytes <= 0xffff'ffff ? k.mad_wide(row, row_bytes, first_)
                                    : k.fma(k.convert(u64, row), row_bytes, first_);
}

Address NarrowRows::address(int slot, int byte) const {
  return KernelBuilder::at(first_, std::int64_t{slot} * window_.stride() * type_.bits / 8 + byte);
}

// Bits of a chunk that are in the row; of a whole chunk they may be more than it has, outside the row fewer
// than none.
Reg NarrowRows::bits_inside(int slot) const {
  const std::int64_t after = std::int64_t{slot} * window_.stride();
  return k_.mul(k_.sub(std::int64_t{window_.shape().length} - after, window_.position()), int{type_.bits});
}

std::vector<Reg> NarrowRows::clipped(Reg bits, std::span<const Reg> words) const {
  std::vector<Reg> inside;
  for (const Reg& word : words) {
    const Reg keep = k_.max(k_.sub(bits, static_cast<int>(inside.size()) * 8 * kNarrowWordBytes), 0);
    const Reg outside = k_.shl(k_.mov(b32, 0xffff'ffff), KernelBuilder::as(u32, keep));
    inside.push_back(k_.and_(word, k_.not_(outside)));
  }
  return inside;
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
  store_whole(slot, words);
  window_.ends(slot, [&] {
    const Reg bits = bits_inside(slot);
    const std::vector<Reg> inside = clipped(bits, words);
    for (int byte = 0; byte < bytes_; ++byte) {
      const Reg word = KernelBuilder::as(u32, inside[static_cast<std::size_t>(byte / kNarrowWordBytes)]);
      const Reg shifted = byte % kNarrowWordBytes == 0 ? word : k_.shr(word, 8 * (byte % kNarrowWordBytes));
      k_.guarded(k_.gt(bits, first_bit_of_unit(type_, byte)),
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
  for (int i = 0; i < narrow_words(type_, window_.shape().vector); ++i) words.push_back(k_.mov(b32, 0));
  load_whole(slot, words);
  window_.ends(slot, [&] {
    const Reg bits = bits_inside(slot);
    for (int byte = 0; byte < bytes_; ++byte) {
      k_.guarded(k_.gt(bits, first_bit_of_unit(type_, byte)), [&] {
        load_bits(words[static_cast<std::size_t>(byte / kNarrowWordBytes)], "ld.global.b8",
                  address(slot, byte), 8 * (byte % kNarrowWordBytes));
      });
    }
    const std::vector<Reg> inside = clipped(bits, words);
    for (std::size_t i = 0; i < words.size(); ++i) k_.set(words[i], inside[i]);
  });
  return words;
}

}  // namespace ptxloom::kit
