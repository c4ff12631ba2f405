// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/epilogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/kit/packed.hpp"
#include "ptxloom/kit/vector_access.hpp"

namespace ptxloom::kit {
namespace {

/// Where a thread's element lies in comparison to thread 0's: each bit of the thread's number moves it by
/// some rows and columns.
class ThreadPlace {
 public:
  explicit ThreadPlace(const Layout& map) {
    for (int bit = 1; bit < map.lanes; bit *= 2) {
      const LayoutElement &there = map.at(bit, 0), &first = map.at(0, 0);
      rows_.push_back(there.row - first.row);
      columns_.push_back(there.col - first.col);
    }
    for (int lane = 0; lane < map.lanes; ++lane)
      for (int reg = 0; reg < map.registers; ++reg) {
        const LayoutElement &there = map.at(lane, reg), &first = map.at(0, reg);
        const bool linear =
            there.row - first.row == of(rows_, lane) && there.col - first.col == of(columns_, lane);
        const bool paired =
            reg % 2 == 0 ? first.col % 2 == 0
                         : first.row == map.at(0, reg - 1).row && first.col == map.at(0, reg - 1).col + 1;
        if (!linear || !paired || map.registers % 2 != 0 || map.bits != map.register_bits)
          throw Error(
              ErrorKind::usage, "fragment-layout",
              "an epilogue: the instruction's D is not held in pairs of adjacent columns",
              "use an instruction whose `ptxloom layout` shows such pairs, as mma.sync of 16 rows has");
      }
  }

  Reg row(KernelBuilder& k, Reg thread) const { return moved(k, thread, rows_); }
  Reg column(KernelBuilder& k, Reg thread) const { return moved(k, thread, columns_); }

 private:
  static int of(const std::vector<int>& moves, int thread) {
    int sum = 0;
    for (std::size_t bit = 0; bit < moves.size(); ++bit)
      if ((thread >> bit & 1) != 0) sum += moves[bit];
    return sum;
  }

  // Bits whose moves double from one to the next count together: (thread >> first & mask) * move.
  static Reg moved(KernelBuilder& k, Reg thread, const std::vector<int>& moves) {
    std::optional<Reg> sum;
    for (std::size_t first = 0; first < moves.size();) {
      std::size_t last = first + 1;
      while (last < moves.size() && moves[last] == 2 * moves[last - 1]) ++last;
      if (moves[first] != 0) {
        const Reg bits = k.and_(first == 0 ? thread : k.shr(thread, first), (1 << (last - first)) - 1);
        const Reg move = k.mul(bits, moves[first]);
        sum = sum ? k.add(*sum, move) : move;
      }
      first = last;
    }
    return sum ? *sum : k.mov(u32, 0);
  }

  std::vector<int> rows_, columns_;  // by bit
};

[[noreturn]] void refuse_type(const std::string& what, const std::string& hint) {
  throw Error(ErrorKind::usage, "epilogue-type", "an epilogue: " + what, hint);
}

/// Two adjacent accumulators of a row; the place is thread 0's in the part.
struct Pair {
  int row = 0, column = 0;
  std::array<Reg, 2> values;
};

Reg typed(Reg accumulator) {
  return accumulator.type == b32 ? KernelBuilder::as(s32, accumulator) : accumulator;
}

std::vector<Pair> pairs_of(const EpiloguePart& part, const Layout& map) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < part.accumulators.size(); ++i)
    for (std::size_t j = 0; j < part.accumulators[i].size(); ++j) {
      const std::vector<Reg>& registers = part.accumulators[i][j];
      for (std::size_t r = 0; r + 1 < registers.size(); r += 2) {
        const LayoutElement& place = map.at(0, static_cast<int>(r));
        pairs.push_back({static_cast<int>(i) * map.rows + place.row,
                         static_cast<int>(j) * map.cols + place.col,
                         {typed(registers[r]), typed(registers[r + 1])}});
      }
    }
  std::ranges::stable_sort(pairs, {}, [](const Pair& pair) { return std::pair(pair.row, pair.column); });
  return pairs;
}

/// Stores results by their place in D.
class Stores {
 public:
  Stores(KernelBuilder& k, const EpilogueMatrix& d, Reg row, Reg column, bool reads_places)
      : k_(k), d_(d), row_(row), column_(column), reads_places_(reads_places) {}

  /// The position of an element at this distance from the thread's first one, and whether it is inside.
  struct Place {
    Reg position;
    Reg inside;
    Reg clamped;  // inside in any case; only for a callback
  };
  const Place& row(int distance) { return place(rows_, row_, distance, d_.rows); }
  const Place& column(int distance) { return place(columns_, column_, distance, d_.columns); }

  /// Stores one result or two adjacent ones.
  void store(int row, int column, const std::vector<Reg>& results) {
    const Reg inside = k_.and_(this->row(row).inside, this->column(column).inside);
    const Address to = k_.at(k_.mad_wide(this->column(column).position, d_.d.element.bytes(), address(row)));
    const std::vector<Reg> packed = converted(results);
    const Type type = stored_type(d_.d.element, static_cast<int>(results.size()));
    k_.guarded(inside, [&] { store_vector(k_, "st.global", type, to, packed); });
  }

 private:
  const Place& place(std::map<int, Place>& known, Reg first, int distance, Reg end) {
    const auto [found, is_new] = known.try_emplace(distance);
    Place& made = found->second;
    if (!is_new) return made;
    made.position = distance == 0 ? first : k_.add(first, distance);
    made.inside = k_.lt(made.position, end);
    if (reads_places_) made.clamped = k_.min(made.position, k_.sub(end, 1));
    return made;
  }

  Reg address(int row) {
    const auto [found, is_new] = addresses_.try_emplace(row);
    if (!is_new) return found->second;
    const Reg before = k_.mul(k_.convert(u64, this->row(row).position), k_.convert(u64, d_.pitch));
    return found->second = k_.fma(before, d_.d.element.bytes(), d_.d.base);
  }

  std::vector<Reg> converted(const std::vector<Reg>& results) {
    return result_type(d_.d.element) == f32 ? pack_values(k_, d_.d.element, results) : results;
  }
  static Type stored_type(Type element, int count) {
    return result_type(element) == f32 ? packed_type(element, count) : element;
  }

  KernelBuilder& k_;
  const EpilogueMatrix& d_;
  Reg row_, column_;
  bool reads_places_;
  std::map<int, Place> rows_, columns_;
  std::map<int, Reg> addresses_;
};

/// The result of a callback, which must be of the result's type.
Reg checked(Type d, Reg result) {
  const Type type = result_type(d);
  if (result.builder == 0)
    refuse_type("the callback returns no register",
                fmt::format("return the result in a register of type {}", type.name));
  if (result.type == type) return result;
  refuse_type(
      fmt::format("the callback returns {}, and a D of {} needs {}", result.type.name, d.name, type.name),
      fmt::format("return k.convert({}, result)", type.name));
}

Reg without_callback(KernelBuilder& k, Type d, Reg accumulator) {
  const Type from = accumulator.type, to = result_type(d);
  if (from == to) return accumulator;
  if (to == f32 && from == s32) return k.convert(f32, accumulator);
  refuse_type(fmt::format("accumulators of {} for a D of {}", from.name, d.name),
              "give a callback that converts them");
}

void require_layout(const EpiloguePart& part, const EpilogueMatrix& d) {
  if (part.row_order.interleaved || part.column_order.interleaved)
    throw Error(ErrorKind::usage, "fragment-layout",
                fmt::format("an epilogue: the fragments of {} are interleaved",
                            part.row_order.interleaved ? "A" : "B"),
                "load operands of 8 bits from tiles that are contiguous along k");
  if (d.vector != 1 && d.vector != 2)
    throw Error(ErrorKind::usage, "bad-epilogue", fmt::format("an epilogue: stores of {} elements", d.vector),
                "set EpilogueMatrix::vector to vector_of(pitch, columns)");
}

}  // namespace

int EpilogueMatrix::vector_of(std::uint64_t pitch, std::uint64_t columns) {
  return pitch % 2 == 0 && columns % 2 == 0 ? 2 : 1;
}

Type result_type(Type d) {
  if (d == f32 || d == f16 || d == bf16 || d == e4m3 || d == e5m2) return f32;
  if (d == s32 || d == f64) return d;
  throw Error(ErrorKind::usage, "operand-type", fmt::format("an epilogue: a D of {}", d.name),
              "a D is f32, f16, bf16, e4m3, e5m2, s32 or f64");
}

void store_tile(KernelBuilder& k, const EpiloguePart& part, const EpilogueMatrix& d,
                const Epilogue& epilogue) {
  require_layout(part, d);
  const Layout map = layout(part.mma, "D");
  const ThreadPlace thread(map);
  Stores stores(k, d, k.add(part.row, thread.row(k, part.thread)),
                k.add(part.column, thread.column(k, part.thread)), static_cast<bool>(epilogue));
  const auto result = [&](Reg accumulator, int row, int column) {
    if (!epilogue) return without_callback(k, d.d.element, accumulator);
    const Reg of_row = stores.row(row).clamped, of_column = stores.column(column).clamped;
    Reg made;
    k.without_barriers([&] { made = epilogue(k, accumulator, of_row, of_column); });
    return checked(d.d.element, made);
  };
  for (const Pair& pair : pairs_of(part, map)) {
    const Reg first = result(pair.values[0], pair.row, pair.column),
              second = result(pair.values[1], pair.row, pair.column + 1);
    if (d.vector == 2) {
      stores.store(pair.row, pair.column, {first, second});
    } else {
      stores.store(pair.row, pair.column, {first});
      stores.store(pair.row, pair.column + 1, {second});
    }
  }
}

void store_pairs(KernelBuilder& k, const EpiloguePart& part, const EpilogueMatrix& d,
                 const PairEpilogue& epilogue) {
  if (!epilogue)
    throw Error(ErrorKind::usage, "bad-epilogue", "an epilogue: pairs without a callback",
                "give one that makes one result of two accumulators, or use store_tile");
  require_layout(part, d);
  const Layout map = layout(part.mma, "D");
  const ThreadPlace thread(map);
  const Reg column = k.shr(k.add(part.column, thread.column(k, part.thread)), 1);
  Stores stores(k, d, k.add(part.row, thread.row(k, part.thread)), column, true);
  for (const Pair& pair : pairs_of(part, map)) {
    const Reg of_row = stores.row(pair.row).clamped, of_column = stores.column(pair.column / 2).clamped;
    Reg made;
    k.without_barriers([&] { made = epilogue(k, pair.values[0], pair.values[1], of_row, of_column); });
    stores.store(pair.row, pair.column / 2, {checked(d.d.element, made)});
  }
}

namespace {

Reg load_value(KernelBuilder& k, Pointer from, Reg address) {
  const Type stored = packed_type(from.element, 1);
  const Reg value = k.reg(stored);
  k.emit("ld.global." + std::string(stored.name), value, k.at(address));
  return unpack_values(k, from.element, 1, std::array{value}).front();
}

}  // namespace

Reg add_bias(KernelBuilder& k, Reg value, Pointer bias, Reg column) {
  return k.add(value, load_value(k, bias, k.mad_wide(column, bias.element.bytes(), bias.base)));
}

Reg scale_by(KernelBuilder& k, Reg value, Pointer factors, Reg index) {
  return k.mul(value, load_value(k, factors, k.mad_wide(index, factors.element.bytes(), factors.base)));
}

Reg add_residual(KernelBuilder& k, Reg value, Pointer c, Reg pitch, Reg row, Reg column, Arg beta) {
  const Reg at = k.add(k.mul(k.convert(u64, row), k.convert(u64, pitch)), k.convert(u64, column));
  return k.fma(load_value(k, c, k.fma(at, c.element.bytes(), c.base)), beta, value);
}

}  // namespace ptxloom::kit
