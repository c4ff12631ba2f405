// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/kit/rows.hpp"

/// \file
/// Elements of 8 bits and less (s8, s4, e4m3, e5m2, e2m3, e3m2, e2m1) in registers and in memory. They are
/// packed without gaps, the first in the lowest bits: in words of 32 bits, of which the last one is filled up
/// with zeros.
///
///     e2m1    | 7 6 5 4 3 2 1 0 |                     eight elements in a word
///     e2m3    | 5 4 3 2 1 0 | . . 9 8 7 6 5 |  ...    sixteen elements in three words
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// Whether the target converts values in f32 to elements of the type, and whether it converts back: by its
/// own instructions or by fallbacks (lower.hpp), which all targets have.
///@{
bool can_narrow(const Specs& specs, const Target& target, Type type);
bool can_widen(const Specs& specs, const Target& target, Type type);
///@}

/// Words that hold `count` elements.
int narrow_words(Type type, int count);
/// Values in f32, rounded to nearest even. Those beyond the range become the largest value of their sign. NaN
/// becomes NaN, the largest value of a type without NaN, and 0 of integers. A minus sign is kept where the
/// type has one. Throws Error(usage, "operand-type") if the target cannot.
std::vector<Reg> narrow_values(KernelBuilder& k, Type type, std::span<const Reg> values);
/// The values of `count` elements in f32, exactly. Throws as narrow_values().
std::vector<Reg> widen_values(KernelBuilder& k, Type type, int count, std::span<const Reg> words);

/// How elements lie in memory.
enum class NarrowPacking {
  dense,   ///< without gaps
  padded,  ///< elements of 6 bits only: 16 of them in 16 bytes, of which the last four are zero
};

/// The fewest elements that are whole bytes in memory, and those bytes.
struct NarrowUnit {
  int elements = 1, bytes = 1;
};
/// One or two elements in a byte, or four elements of 6 bits in three; padded 16 in 16.
NarrowUnit narrow_unit(Type type, NarrowPacking packing = NarrowPacking::dense);

/// Rows of narrow elements, seen through the window of a leading tensor. Rows and chunks are whole units;
/// units of several elements need chunks that begin with the row.
class NarrowRows {
 public:
  /// `row`: its number, a u32. `pitch`: elements from one row to the next.
  NarrowRows(KernelBuilder& k, const RowWindow& window, Reg row, Pointer base, std::uint64_t pitch, Type type,
             NarrowPacking packing = NarrowPacking::dense);

  /// The words of a chunk. Elements outside the row are zero.
  std::vector<Reg> load(int slot) const;
  /// Stores the words of a chunk. Of the unit in which the row ends, the bits behind the row become zero;
  /// units behind it are not written.
  void store(int slot, std::span<const Reg> words) const;
  /// As in RowTensor: whether chunks can go through aligned vectors, and all slots that way.
  ///@{
  bool realigns() const;
  std::vector<std::vector<Reg>> load_realigned() const;
  void store_realigned(std::span<const std::vector<Reg>> words) const;
  ///@}

 private:
  Address address(int slot, int byte) const;
  Realigned realigned() const;
  void clip_last(std::vector<std::vector<Reg>>& slots) const;
  std::uint64_t bytes_of(std::uint64_t elements) const;
  bool has_gaps() const { return unit_.bytes == 16; }
  std::vector<Reg> clipped(Reg inside, std::span<const Reg> words) const;
  std::vector<Reg> with_gaps(std::vector<Reg> words) const;
  Reg elements_inside(int slot) const;
  Reg byte_inside(int slot, int byte, Reg count) const;
  void store_whole(int slot, std::span<const Reg> words) const;
  void load_whole(int slot, std::span<const Reg> words) const;
  using Guard = std::function<void(const std::function<void()>& body)>;
  void load_bits(Reg word, const std::string& load, const Address& from, int bit, const Guard& guard) const;

  KernelBuilder& k_;
  RowWindow window_;
  Type type_;
  NarrowUnit unit_;
  Reg row_;
  std::uint64_t row_bytes_;
  int bytes_;  // of a chunk
  int width_;  // bytes of an access
  Reg first_;  // address of slot 0
};

}  // namespace kit
}  // namespace ptxloom
