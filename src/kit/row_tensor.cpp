// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "ptxloom/error.hpp"
#include "ptxloom/kit/rows.hpp"
#include "ptxloom/kit/vector_access.hpp"

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
      pitch_(pitch),
      width_(access_width(window.shape(), base.element, pitch)) {
  first_ = k.add(base.base, k.mul_wide(window.position(), base.element.bytes()));
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

std::string RowTensor::load_opcode() const {
  std::string opcode = "ld.global";
  if (read_only_) opcode += ".nc";
  if (caching_ == RowCaching::streamed) opcode += ".L1::no_allocate";
  return opcode;
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

bool RowTensor::realigns() const {
  constexpr int kSmallAccess = 4;
  const RowShape& shape = window_.shape();
  return pitch_ != 0 && !shape.shifted() && shape.team.in_warp() && shape.team.lanes == kWarpThreads &&
         width_ < shape.vector && width_ * type().bytes() <= kSmallAccess &&
         shape.vector * type().bytes() <= kWidestAccess;
}

Realigned RowTensor::realigned() const {
  const RowShape& shape = window_.shape();
  const auto vector = static_cast<std::uint64_t>(shape.vector);
  const Reg row = KernelBuilder::as(u32, window_.row_);
  return {k_,
          {.element = type().bytes() == 4 ? b32 : b16,
           .vector = shape.vector,
           .slots = window_.slots(),
           .length = shape.length,
           .position = window_.position(),
           .offset = k_.and_(k_.mul(row, pitch_ % vector), vector - 1),
           .first = first_,
           .present = window_.present_ ? *window_.present_ : k_.eq(row, row)}};
}

std::vector<std::vector<Reg>> RowTensor::load_realigned() const {
  std::vector<std::vector<Reg>> slots = realigned().load_all();
  if (type() == f32)
    for (std::vector<Reg>& words : slots)
      for (Reg& word : words) word = KernelBuilder::as(f32, word);
  return slots;
}

void RowTensor::store_realigned(std::span<const std::vector<Reg>> packed) const {
  std::vector<std::vector<Reg>> slots(packed.begin(), packed.end());
  for (std::vector<Reg>& words : slots)
    for (Reg& word : words) word = KernelBuilder::as(b32, word);
  realigned().store_all(slots);
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
    load_vector(k_, load_opcode(), b32, from, std::span(words).subspan(half * count, count));
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
  // Each register has a value in any case: ptxas 13.0 merges guarded loads of one address (narrow_rows.cpp).
  std::vector<Reg> elements;
  for (int element = 0; !as_packed && element < vector; element += width_)
    elements.push_back(packed_constant(k_, type(), width_, 0));
  window_.whole(slot, [&] {
    const std::span<const Reg> all = as_packed ? packed : std::span<const Reg>(elements);
    for (int element = 0; element < vector; element += width_)
      load_vector(k_, load_opcode(), packed_type(type(), width_), address(slot, element),
                  all.subspan(static_cast<std::size_t>(element / width_) * each, each));
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
          const auto load_element = [&] {
            load_vector(k_, load_opcode(), packed_type(type(), 1), address(slot, i),
                        std::span(elements).subspan(static_cast<std::size_t>(i), 1));
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
  if (std::cmp_not_equal(values.size(), window_.shape().vector))
    throw Error(ErrorKind::usage, "operand-count",
                fmt::format("{} values for a chunk of {}", values.size(), window_.shape().vector),
                "give all values of a chunk");
  const std::vector<Reg> packed = pack_values(k_, type(), values);
  store_whole(slot, packed);
  window_.ends(slot, [&] {
    const int vector = window_.shape().vector;
    const std::vector<Reg> elements = split_packed(k_, type(), vector, packed);
    for (int i = 0; i < vector; ++i)
      k_.guarded(*window_.inside(slot, i), [&] {
        store_vector(k_, "st.global", packed_type(type(), 1), address(slot, i),
                     std::span(elements).subspan(static_cast<std::size_t>(i), 1));
      });
  });
}

void RowTensor::store_whole(int slot, std::span<const Reg> packed) const {
  const int vector = window_.shape().vector;
  const bool as_packed = packed_type(type(), width_) == packed_type(type(), vector);
  const auto each = static_cast<std::size_t>(packed_registers(type(), width_));
  const std::vector<Reg> elements = as_packed ? std::vector<Reg>{} : split_packed(k_, type(), vector, packed);
  window_.whole(slot, [&] {
    const std::span<const Reg> all = as_packed ? packed : std::span<const Reg>(elements);
    for (int element = 0; element < vector; element += width_)
      store_vector(k_, "st.global", packed_type(type(), width_), address(slot, element),
                   all.subspan(static_cast<std::size_t>(element / width_) * each, each));
  });
}

}  // namespace ptxloom::kit
