// SPDX-License-Identifier: Apache-2.0
#include "shuffle_weights/kernel.hpp"

#include <array>
#include <utility>

#include "ptxloom/builder.hpp"
#include "ptxloom/kit/params.hpp"

namespace ptxloom::shuffle_weights {
namespace {

constexpr const char* kName = "shuffle_weights";
constexpr std::uint32_t kAlignment = 16;   // bytes of the widest store
constexpr int kRowDistance = 8;            // a thread has the elements of two rows, r and r + 8
constexpr int kWords = 4, kWordBytes = 8;  // of a thread; bytes of a plain row that a word comes of
constexpr std::int64_t kNibble = 0xf;
constexpr int kSix = 6, kWholeElements = 4;     // bits, and elements that are whole bytes
constexpr int kUnitPairs = 4, kUnitDepth = 32;  // of each row in a unit of three words

kit::Params params_of(const Problem& p) {
  const auto aligned = static_cast<std::uint32_t>(p.scale.bytes());
  kit::Params params;
  params.pointer("x", b8).pointer("scale", b8).aligned(aligned);
  if (p.zero_points()) params.pointer("zero", b8);
  params.pointer("b", b8).aligned(kAlignment).pointer("scale_b", b8).aligned(kAlignment);
  if (p.zero_points()) params.pointer("zero_b", b8).aligned(kAlignment);
  return params;
}

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c)
      : k_(std::move(specs), kName, target), p_(p), c_(c), layout_(p.layout()) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(c_.threads));
    in_ = params_of(p_).declare(k_);
    thread_ = k_.special("tid.x");
    const Reg block = k_.special("ctaid.x");
    const auto first = static_cast<std::int64_t>(c_.tile_blocks(p_));
    k_.if_(k_.lt(block, first), [&] { tiles(block); }, [&] { groups(k_.sub(block, first)); });
    k_.ret();
    return k_.finish();
  }

 private:
  /// A place along the rows of all batches, and which one of the units of that tile row.
  struct Place {
    Reg row;       // of its batch, where the tile row begins
    Reg first;     // rows of the batches before
    Reg position;  // of the unit in the tile row
  };
  Place place_of(Reg unit, std::uint64_t units_of_row) {
    const auto row_tiles = static_cast<std::int64_t>(layout_.row_tiles());
    const Reg of_all = k_.div(unit, static_cast<std::int64_t>(units_of_row));
    return {.row = k_.mul(k_.rem(of_all, row_tiles), kit::WeightLayout::kTileRows),
            .first = k_.mul(k_.div(of_all, row_tiles), static_cast<std::int64_t>(p_.n)),
            .position = k_.rem(unit, static_cast<std::int64_t>(units_of_row))};
  }

  void tiles(Reg block) {
    const Reg tile = k_.fma(block, c_.tiles(), k_.div(thread_, kTileThreads));
    k_.if_(k_.lt(tile, static_cast<std::int64_t>(p_.tiles())), [&] { write_tile(tile); });
  }

  void write_tile(Reg tile) {
    const Reg thread = k_.rem(thread_, kTileThreads), lane = k_.rem(thread, 32);
    const Place place = place_of(tile, layout_.depth_tiles());
    const Reg own = k_.fma(k_.div(thread, 32), 2 * kRowDistance, k_.div(lane, 4));
    const Reg byte = k_.fma(place.position, tile_row_bytes(), first_byte(k_.rem(lane, 4)));
    std::array<Row, 2> rows;
    for (int i = 0; i < 2; ++i) {
      const Reg row = k_.add(k_.add(place.row, own), i * kRowDistance);
      const Reg begin =
          k_.mad_wide(k_.add(place.first, row), std::int64_t{p_.pitch} * p_.element.bits / 8, in_["x"]);
      rows[static_cast<std::size_t>(i)] = {.inside = k_.lt(row, std::int64_t{p_.n}),
                                           .bytes = k_.add(begin, k_.convert(u64, byte))};
    }
    const Reg into = k_.mad_wide(tile, static_cast<std::int64_t>(layout_.tile_bytes()), in_["b"]);
    const Reg own_words = k_.mad_wide(thread, layout_.thread_bytes(), into);
    if (of_six()) return write_units(rows, k_.rem(lane, 4), byte, own_words);
    std::vector<Reg> words;
    for (int i = 0; i < kWords; ++i) words.push_back(word(rows, byte, i * kWordBytes));
    k_.emit("st.global.v4.b32", k_.at(own_words), words);
  }

  struct Row {
    Reg inside;  // whether it exists
    Reg bytes;   // address of the thread's first byte in the tile, u64
  };

  /// Units of 6-bit elements: four pairs of each of two rows. A pair begins at a byte, or in the middle of
  /// one.
  void write_units(const std::array<Row, 2>& rows, Reg lane, Reg byte, Reg into) {
    const Reg middle = beside_bytes() ? k_.mov(u32, 0) : k_.mul(k_.and_(lane, 1), 4);
    std::vector<Reg> words;
    for (int first = 0; first < layout_.tile_depth(); first += kUnitDepth) {
      const std::vector<Reg> made = k_.regs(b32, layout_.unit_words());
      for (const Reg& word : made) k_.emit("mov.b32", word, 0);
      for (int half = 0; half < 2; ++half)
        for (int i = 0; i < kUnitPairs; ++i) {
          // Beside 16 bits a pair of every eight elements, beside 8 two of every sixteen.
          const int bit = kSix * (first + (beside_bytes() ? i / 2 * 16 + i % 2 * 2 : i * 8));
          const int index = i / 2 * 8 + (beside_bytes() ? 4 * half + i % 2 * 2 : half + i % 2 * 2);
          const Reg pair = pair_of_six(rows[static_cast<std::size_t>(half)], byte, middle, bit);
          insert(made, pair, 0, index);
          insert(made, pair, kSix, index + (beside_bytes() ? 1 : 4));
        }
      words.insert(words.end(), made.begin(), made.end());
    }
    for (std::size_t i = 0; i < words.size(); i += 2)
      k_.emit("st.global.v2.b32", k_.at(into, static_cast<int>(i) * 4),
              std::span<const Reg>(words).subspan(i, 2));
  }

  /// The pair `bit` bits, and `middle` more, after `byte`. Elements behind the end of the row are 0.
  Reg pair_of_six(const Row& row, Reg byte, Reg middle, int bit) {
    const Reg low = load(row, byte, bit / 8), high = load(row, byte, bit / 8 + 1);
    const Reg from = k_.add(middle, bit % 8);
    const Reg pair = k_.and_(k_.shr(k_.or_(low, k_.shl(high, 8)), from), (1 << 2 * kSix) - 1);
    if (p_.k % kWholeElements == 0) return pair;
    const Reg begin = k_.fma(k_.add(byte, bit / 8), 8, from);
    const Reg inside = k_.sub(k_.max(begin, std::int64_t{kSix} * p_.k), begin);  // bits
    return k_.and_(pair, k_.sub(k_.shl(k_.mov(u32, 1), k_.min(inside, 2 * kSix)), 1));
  }

  bool of_six() const { return layout_.element().bits == kSix; }
  bool beside_bytes() const { return layout_.activations().bits == 8; }
  bool of_bytes() const { return layout_.element().bits == 8; }
  /// Of 4 bits beside 16 each of four lanes has every fourth byte of a row, otherwise two bytes of eight.
  bool two_bytes() const { return beside_bytes() || of_bytes(); }
  int tile_row_bytes() const { return layout_.tile_depth() * p_.element.bits / 8; }
  /// For the elements that the first lane has in a row of a tile.
  Reg first_byte(Reg lane) {
    if (of_six()) return beside_bytes() ? k_.mul(lane, 3) : k_.shr(k_.mul(lane, 3), 1);
    return k_.mul(lane, two_bytes() ? 2 : 1);
  }

  /// A word of the layout, from bytes of two rows: those at `first` and a few after it.
  Reg word(const std::array<Row, 2>& rows, Reg byte, int first) {
    const std::vector<Reg> made{k_.mov(b32, 0)};
    for (int half = 0; half < 2; ++half)
      for (int i = 0; i < 2; ++i) {
        const int offset = first + (two_bytes() ? i : 4 * i);
        const Reg pair = load(rows[static_cast<std::size_t>(half)], byte, offset);
        if (of_bytes()) {
          insert(made, pair, 0, 2 * half + i);
          continue;
        }
        const int index = beside_bytes() ? 4 * half + 2 * i : half + 2 * i;
        insert(made, pair, 0, index);
        insert(made, pair, 4, index + (beside_bytes() ? 1 : 4));
      }
    return made.front();
  }

  /// A byte of a row. Bytes behind its end are 0, and so is a second element of 4 bits.
  Reg load(const Row& row, Reg byte, int offset) {
    const Reg pair = k_.mov(u32, 0), place = k_.add(byte, offset);
    const std::int64_t row_bytes = (std::int64_t{p_.k} * p_.element.bits + 7) / 8;
    k_.guarded(k_.and_(row.inside, k_.lt(place, row_bytes)),
               [&] { k_.emit("ld.global.u8", pair, k_.at(row.bytes, offset)); });
    if (p_.element.bits != 4 || p_.k % 2 == 0) return pair;
    return k_.select(k_.eq(place, std::int64_t{p_.k} / 2), k_.and_(pair, kNibble), pair);
  }

  /// Element `index` of the unit is the one at bit `from` of the pair: bits that stay together move together.
  void insert(const std::vector<Reg>& unit, Reg pair, int from, int index) {
    const int bits = p_.element.bits;
    for (int begin = 0; begin < bits;) {
      const int to = layout_.bit_of_word(index, begin);
      int end = begin + 1;
      while (end < bits && layout_.bit_of_word(index, end) == to + end - begin) ++end;
      const std::int64_t mask = ((std::int64_t{1} << (end - begin)) - 1) << (from + begin);
      const Reg moved = k_.and_(pair, mask), word = unit[static_cast<std::size_t>(to / 32)];
      const int shift = to % 32 - from - begin;
      k_.set(word, k_.or_(word, shift >= 0 ? k_.shl(moved, shift) : k_.shr(moved, -shift)));
      begin = end;
    }
  }

  void groups(Reg block) {
    const Reg group = k_.fma(block, c_.groups(), k_.div(thread_, kGroupThreads));
    k_.if_(k_.lt(group, static_cast<std::int64_t>(p_.scale_groups())), [&] { write_group(group); });
  }

  // Position p of a group has row p / 16 * 16 + p % 2 * 8 + p % 16 / 2.
  void write_group(Reg group) {
    const Reg position = k_.rem(thread_, kGroupThreads);
    const Place place = place_of(group, layout_.groups(p_.group));
    const Reg in_sixteen = k_.fma(k_.rem(position, 2), kRowDistance, k_.div(k_.rem(position, 16), 2));
    const Reg row = k_.add(place.row, k_.fma(k_.div(position, 16), 16, in_sixteen));
    const Reg inside =
        k_.and_(k_.lt(row, std::int64_t{p_.n}), k_.lt(place.position, std::int64_t{p_.scales()}));
    const Reg from =
        k_.mad_wide(k_.add(place.first, row), std::int64_t{p_.scales()}, k_.convert(u64, place.position));
    const Reg to = k_.mad_wide(group, kGroupThreads, k_.convert(u64, position));
    copy("scale", p_.scale.bytes(), from, to, inside);
    if (p_.zero_points()) copy("zero", 1, from, to, inside);
  }

  /// What is filled up becomes zero.
  void copy(const std::string& name, int bytes, Reg from, Reg to, Reg inside) {
    const std::string type = bytes == 1 ? ".u8" : bytes == 2 ? ".u16" : ".u32";
    const Reg value = k_.mov(u32, 0);
    const auto address = [&](Reg index, const std::string& tensor) {
      return k_.at(k_.fma(index, bytes, in_[tensor]));
    };
    k_.guarded(inside, [&] { k_.emit("ld.global" + type, value, address(from, name)); });
    k_.emit("st.global" + type, address(to, name + "_b"), value);
  }

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  kit::WeightLayout layout_;
  kit::ParamRegs in_;
  Reg thread_;
};

}  // namespace

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  LaunchPlan launch{.entry = kName,
                    .grid = {static_cast<std::uint32_t>(c.grid(p)), 1, 1},
                    .block = {static_cast<std::uint32_t>(c.threads), 1, 1},
                    .arguments = params_of(p).arguments()};
  return {.module = Generator(std::move(specs), target, p, c).run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::shuffle_weights
