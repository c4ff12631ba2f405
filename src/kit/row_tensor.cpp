// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "ptxloom/kit/rows.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kWidestAccess = 16;  // bytes

// Chunks begin where the leading tensor's address is a multiple of a chunk. The rows of the other tensor lie
// a multiple of the difference of the pitches from there.
int access_width(const RowShape& shape, Type element, std::uint64_t pitch) {
  const std::uint64_t apart = pitch > shape.pitch ? pitch - shape.pitch : shape.pitch - pitch;
  const int common = static_cast<int>(std::gcd(apart, static_cast<std::uint64_t>(shape.vector)));
  return std::min(common, kWidestAccess / element.bytes());
}

}  // namespace

RowTensor::RowTensor(KernelBuilder& k, const RowWindow& window, Pointer base, std::uint64_t pitch,
                     RowCaching caching, bool read_only)
    : k_(k),
      window_(window),
      base_(base),
      caching_(caching),
      read_only_(read_only),
      width_(access_width(window.shape(), base.element, pitch)) {
  const Reg offset = k.convert(s64, k.mul(window.position(), base.element.bytes()));
  first_ = k.add(base.base, offset);
  if (pitch == 0) {
    const int vector = window.shape().vector;
    // Not in a part: each of its slots may be at an end, and code for both kinds of access takes too many
    // registers.
    if (!window.dynamic_ && width_ < vector && vector * base.element.bytes() <= kWidestAccess)
      shift_ = shift();
    return;
  }
  const auto row_bytes = static_cast<std::int64_t>(pitch) * base.element.bytes();
  first_ = row_bytes <= 0xffff'ffff ? k.mad_wide(window.row_, row_bytes, first_)
                                    : k.fma(k.convert(u64, window.row_), row_bytes, first_);
}

Address RowTensor::address(int slot, int element) const {
  const std::int64_t elements = std::int64_t{slot} * window_.stride() + element;
  return KernelBuilder::at(first_, elements * base_.element.bytes());
}

std::string RowTensor::opcode(std::string_view mnemonic, int registers, Type type) const {
  std::string opcode = fmt::format("{}.global", mnemonic);
  if (mnemonic == "ld" && read_only_) opcode += ".nc";
  if (mnemonic == "ld" && caching_ == RowCaching::streamed) opcode += ".L1::no_allocate";
  if (registers > 1) opcode += fmt::format(".v{}", registers);
  return opcode + "." + std::string(type.name);
}

std::vector<Reg> RowTensor::filled(double fill) const {
  const int vector = window_.shape().vector;
  std::vector<Reg> packed;
  for (int i = 0; i < packed_registers(type(), vector); ++i)
    packed.push_back(packed_constant(k_, type(), vector, fill));
  return packed;
}

std::vector<Reg> RowTensor::load(int slot, double fill) const {
  const std::vector<Reg> packed = filled(fill);
  load_whole(slot, packed);
  load_ends(slot, packed);
  return packed;
}

std::vector<std::vector<Reg>> RowTensor::load_all(double fill) const {
  std::vector<std::vector<Reg>> slots;
  for (int slot = 0; slot < window_.slots(); ++slot) slots.push_back(filled(fill));
  for (int slot = 0; slot < window_.slots(); ++slot) load_whole(slot, slots[static_cast<std::size_t>(slot)]);
  for (int slot = 0; slot < window_.slots(); ++slot) load_ends(slot, slots[static_cast<std::size_t>(slot)]);
  return slots;
}

RowTensor::Shift RowTensor::shift() const {
  const int vector = window_.shape().vector, bytes = type().bytes(), per_word = 4 / bytes;
  const Reg elements = KernelBuilder::as(u32, k_.and_(window_.position(), vector - 1));
  Shift shift{.first = k_.sub(first_, k_.convert(u64, k_.mul(elements, bytes))), .moves = {}, .rest = {}};
  for (int half = vector / 2; half >= per_word; half /= 2)
    shift.moves.push_back(k_.ne(k_.and_(elements, half), 0));
  shift.rest = k_.mul(k_.and_(elements, per_word - 1), 8 * bytes);
  return shift;
}

// The second vector has elements after the chunk, and is not read where the row may end before them.
int RowTensor::beyond() const { return shift_ ? window_.shape().vector : 0; }

void RowTensor::load_shifted(int slot, std::span<const Reg> packed) const {
  const int vector = window_.shape().vector;
  const std::size_t count = packed.size();
  std::vector<Reg> words = k_.regs(b32, static_cast<int>(2 * count));
  for (std::size_t half = 0; half < 2; ++half) {
    const std::int64_t elements = std::int64_t{slot} * window_.stride() + static_cast<int>(half) * vector;
    const Address from = KernelBuilder::at(shift_->first, elements * type().bytes());
    const std::string load = opcode("ld", static_cast<int>(count), b32);
    count == 1 ? k_.emit(load, words[half], from)
               : k_.emit(load, Arg(std::span(words).subspan(half * count, count)), from);
  }
  std::size_t step = count;
  for (const Reg& move : shift_->moves) {
    step /= 2;
    for (std::size_t i = 0; i + step < words.size(); ++i)
      words[i] = k_.select(move, words[i + step], words[i]);
    words.resize(count + step);
  }
  for (std::size_t i = 0; i < count; ++i)
    k_.set(packed[i], type() == f32 ? KernelBuilder::as(f32, words[i])
                                    : k_.op("shf.r.wrap.b32", words[i], words[i + 1], shift_->rest));
}

void RowTensor::load_whole(int slot, std::span<const Reg> packed) const {
  if (shift_) return window_.whole(slot, [&] { load_shifted(slot, packed); }, beyond());
  const int vector = window_.shape().vector;
  const bool as_packed = packed_type(type(), width_) == packed_type(type(), vector);
  const auto each = static_cast<std::size_t>(packed_registers(type(), width_));
  window_.whole(slot, [&] {
    std::vector<Reg> elements;
    for (int element = 0; element < vector; element += width_) {
      const Address from = address(slot, element);
      const std::string load = opcode("ld", static_cast<int>(each), packed_type(type(), width_));
      if (!as_packed)
        elements.push_back(k_.op(load, from));
      else if (const auto part = packed.subspan(static_cast<std::size_t>(element / width_) * each, each);
               each == 1)
        k_.emit(load, part[0], from);
      else
        k_.emit(load, Arg(part), from);
    }
    if (as_packed) return;
    const std::vector<Reg> joined = join_packed(k_, type(), elements);
    for (std::size_t i = 0; i < joined.size(); ++i) k_.set(packed[i], joined[i]);
  });
}

void RowTensor::load_ends(int slot, std::span<const Reg> packed) const {
  const int vector = window_.shape().vector;
  window_.ends(
      slot,
      [&] {
        const std::vector<Reg> elements = split_packed(k_, type(), vector, packed);
        for (int i = 0; i < vector; ++i) {
          const std::string load = opcode("ld", 1, packed_type(type(), 1));
          const auto load_element = [&] {
            k_.emit(load, elements[static_cast<std::size_t>(i)], address(slot, i));
          };
          const std::optional<Reg> inside = window_.inside(slot, i);
          inside ? k_.guarded(*inside, load_element) : load_element();
        }
        const std::vector<Reg> joined = join_packed(k_, type(), elements);
        for (std::size_t i = 0; i < joined.size(); ++i)
          if (vector > 1 && type() != f32) k_.set(packed[i], joined[i]);
      },
      beyond());
}

void RowTensor::store(int slot, std::span<const Reg> values) const {
  const std::vector<Reg> packed = pack_values(k_, type(), values);
  store_whole(slot, packed);
  window_.ends(slot, [&] {
    const int vector = window_.shape().vector;
    const std::vector<Reg> elements = split_packed(k_, type(), vector, packed);
    for (int i = 0; i < vector; ++i) {
      const std::string store = opcode("st", 1, packed_type(type(), 1));
      k_.guarded(*window_.inside(slot, i),
                 [&] { k_.emit(store, address(slot, i), elements[static_cast<std::size_t>(i)]); });
    }
  });
}

void RowTensor::store_whole(int slot, std::span<const Reg> packed) const {
  const int vector = window_.shape().vector;
  const bool as_packed = packed_type(type(), width_) == packed_type(type(), vector);
  const auto each = static_cast<std::size_t>(packed_registers(type(), width_));
  const std::vector<Reg> elements = as_packed ? std::vector<Reg>{} : split_packed(k_, type(), vector, packed);
  window_.whole(slot, [&] {
    for (int element = 0; element < vector; element += width_) {
      const Address to = address(slot, element);
      const std::string store = opcode("st", static_cast<int>(each), packed_type(type(), width_));
      const std::size_t access = static_cast<std::size_t>(element / width_);
      if (!as_packed)
        k_.emit(store, to, elements[access]);
      else if (each == 1)
        k_.emit(store, to, packed[access]);
      else
        k_.emit(store, to, Arg(packed.subspan(access * each, each)));
    }
  });
}

}  // namespace ptxloom::kit
