// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/rows.hpp"

#include <fmt/format.h>

#include <numeric>

#include "kit/integers.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::uint32_t kLongest = std::uint32_t{1} << 30;

const RowShape& checked(const RowShape& shape) {
  if (shape.length == 0 || shape.length > kLongest || !power_of_two(shape.vector))
    throw Error(ErrorKind::usage, "bad-rows",
                fmt::format("rows of {} elements in chunks of {}", shape.length, shape.vector),
                "a row has 1 to 2^30 elements, and a chunk a power of two of them");
  return shape;
}

}  // namespace

// A row begins at most `vector` elements after an aligned address, less what its pitch and a chunk have in
// common.
int RowShape::slots() const {
  const auto chunk = static_cast<std::uint64_t>(vector), shared = std::gcd(pitch, chunk);
  const std::uint64_t covered = length + (shifted() ? chunk - shared : 0);
  const std::uint64_t each = chunk * static_cast<std::uint64_t>(team.threads());
  return static_cast<int>((covered + each - 1) / each);
}

RowWindow::RowWindow(KernelBuilder& k, const RowShape& shape, Reg row, std::optional<Reg> present)
    : k_(&k), shape_(checked(shape)), slots_(shape.slots()), row_(row), present_(present) {
  const Reg chunk = thread_in_team(k, shape.team);
  position_ = KernelBuilder::as(s32, k.mul(chunk, shape.vector));
  if (shape.shifted()) {
    const auto step = static_cast<std::int64_t>(shape.pitch % static_cast<std::uint64_t>(shape.vector));
    const Reg shift = k.and_(k.mul(row, step), shape.vector - 1);
    position_ = k.sub(position_, KernelBuilder::as(s32, shift));
  }
}

RowWindow RowWindow::part(Reg part, int slots) const {
  if (slots < 1)
    throw Error(ErrorKind::usage, "bad-rows", fmt::format("a part of {} slots", slots),
                "a part has at least one");
  RowWindow window = *this;
  window.slots_ = slots;
  window.dynamic_ = true;
  window.position_ = k_->fma(KernelBuilder::as(s32, part), slots * stride(), position_);
  return window;
}

// Only slot 0 of the first part has chunk 0.
bool RowWindow::has_begin(int slot) const { return shape_.shifted() && slot == 0; }

bool RowWindow::has_end(int slot, int beyond) const {
  return dynamic_ || std::int64_t{slot + 1} * stride() + beyond > std::int64_t{shape_.length};
}

bool RowWindow::splits_chunks() const {
  return shape_.shifted() || shape_.length % static_cast<std::uint32_t>(shape_.vector) != 0;
}

Reg RowWindow::if_present(Reg predicate) const {
  return present_ ? k_->and_(*present_, predicate) : predicate;
}

Reg RowWindow::at(int slot, int element) const {
  const std::int64_t after = std::int64_t{slot} * stride() + element;
  return after == 0 ? position_ : k_->add(position_, after);
}

Reg RowWindow::is_inner(int slot, int beyond) const {
  const Reg first = at(slot, 0);
  if (!has_end(slot, beyond)) return if_present(k_->ge(first, 0));
  const Reg ends_inside = if_present(k_->le(first, std::int64_t{shape_.length} - shape_.vector - beyond));
  return has_begin(slot) ? k_->and_(k_->ge(first, 0), ends_inside) : ends_inside;
}

Reg RowWindow::is_partial(int slot, int beyond) const {
  if (!has_end(slot, beyond)) return if_present(k_->lt(at(slot, 0), 0));
  return if_present(k_->and_(k_->lt(at(slot, 0), shape_.length), k_->not_(is_inner(slot, beyond))));
}

std::optional<Reg> RowWindow::inside(int slot, int element) const {
  if (!has_begin(slot) && !has_end(slot)) return present_;
  if (!splits_chunks()) return is_inner(slot);
  // As unsigned integers, positions before the row are large.
  return if_present(k_->lt(KernelBuilder::as(u32, at(slot, element)), shape_.length));
}

void RowWindow::whole(int slot, const std::function<void()>& body, int beyond) const {
  if (has_begin(slot) || has_end(slot, beyond)) return k_->guarded(is_inner(slot, beyond), body);
  present_ ? k_->guarded(*present_, body) : body();
}

void RowWindow::ends(int slot, const std::function<void()>& body, int beyond) const {
  if (splits_chunks() && (has_begin(slot) || has_end(slot, beyond))) k_->if_(is_partial(slot, beyond), body);
}

}  // namespace ptxloom::kit
