// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ptxloom/builder.hpp"

/// \file
/// Chunks of a row that begins anywhere in memory, through aligned vectors. A warp has adjacent chunks of
/// `vector` elements, and the chunks of a thread are a whole warp's apart. A chunk begins `offset` elements
/// after an aligned address, the same for all chunks of a row:
///
///     aligned vectors   |   .   .   .   .   |   .   .   .   .   |   .   .   .   .   |
///     chunks                        | lane 0            | lane 1            |
///
/// A chunk is loaded as the two vectors that it lies in, and its words are shifted. For a store each lane has
/// the vector that begins in its chunk, with the elements that the next lane hands over. Single elements are
/// only loaded and stored at both ends. Errors: the constructor throws Error(usage, "bad-chunks"), and
/// store_all() Error(usage, "operand-count"); neither emits anything before.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// Where chunks are. All numbers are in elements.
struct RealignedChunks {
  Type element;              ///< b8, b16 or b32
  int vector = 1;            ///< of a chunk: 4, 8 or 16 bytes
  int slots = 1;             ///< chunks of a thread
  std::uint32_t length = 0;  ///< of the row
  Reg position;              ///< s32: where the thread's first chunk is in the row
  Reg offset;                ///< u32: of the chunks from an aligned address; the same in all lanes
  Reg first;                 ///< u64: address of the thread's first chunk
  Reg present;               ///< pred: whether there is such a row
};

/// Loads and stores of such chunks. All lanes of the warp take part, also those outside the row.
class Realigned {
 public:
  /// Emits nothing that touches memory. Throws Error(usage, "bad-chunks") for elements of other sizes, chunks
  /// of other sizes, or no slots.
  Realigned(KernelBuilder& k, const RealignedChunks& chunks);

  /// Words of all slots, the first element in the lowest bits. Elements outside the row are zero.
  std::vector<std::vector<Reg>> load_all() const;
  /// Stores the words of all slots. Nothing outside the row is written. Throws Error(usage, "operand-count")
  /// for another number of slots or of words than load_all() returns.
  void store_all(std::span<const std::vector<Reg>> words) const;

 private:
  using Words = std::vector<Reg>;
  int bytes() const { return chunks_.element.bytes(); }
  int stride() const { return 32 * chunks_.vector; }
  std::size_t count() const { return static_cast<std::size_t>(chunks_.vector * bytes() / 4); }
  void require_words(std::span<const Words> words) const;
  Reg at(int slot, Reg begin) const;
  Address address(Reg first, int slot, int element) const;
  Words shifted(Words words, Reg elements) const;
  void load_vectors(int slot, const Words& words) const;
  void load_elements(int slot, const Words& words) const;
  void store_vector(int slot, Reg begin, Reg first, Reg limit, const Words& words) const;
  void store_elements(Reg position, Reg first, int slot, Reg limit, const Words& words) const;
  Words next_words(std::span<const Words> words, std::size_t slot) const;

  KernelBuilder& k_;
  RealignedChunks chunks_;
  Reg lane_;
};

}  // namespace kit
}  // namespace ptxloom
