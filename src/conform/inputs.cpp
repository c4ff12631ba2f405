// SPDX-License-Identifier: Apache-2.0
#include "conform/inputs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>

#include "conform/demand.hpp"
#include "conform/product_draw.hpp"
#include "conform/profile.hpp"
#include "conform/roles.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::conform_kernels {
namespace {

using Random = std::mt19937_64;

std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

double power_of_two(Random& random, int least, int most) {
  return std::ldexp(1.0, least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1)));
}

double signed_fraction(Random& random) {
  const double magnitude = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
  return (random() & 1) != 0 ? magnitude : -magnitude;
}

std::uint64_t special_float(Type type, Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array kValues = {0.0, -0.0,  1.0,    -1.0,      2.0,        0.5,      1.5,       -1.5,
                                  3.0, 1e300, -1e300, kInfinity, -kInfinity, 0x1p-149, -0x1p-149, 0x1p-126};
  const std::uint64_t pick = random() % (kValues.size() + 4);
  if (pick < kValues.size())
    return encode(type, kValues[pick], Rounding::rn,
                  std::isinf(kValues[pick]) ? Saturation::none : Saturation::satfinite);
  if (pick == kValues.size()) return encode(type, std::nan(""));
  // Close to a special value: the smallest numbers, and those around 1.
  return (encode(type, pick % 2 == 0 ? 0.0 : 1.0) + random() % 5 - 2) & low_bits(type.bits);
}

// Sets the bits below a random position to 0, all ones, a half, or next to a half: where rounding changes.
std::uint64_t near_tie(std::uint64_t value, int bits, Random& random) {
  const int place = 1 + static_cast<int>(random() % static_cast<unsigned>(std::max(bits - 1, 1)));
  const std::uint64_t half = std::uint64_t{1} << (place - 1);
  const std::array<std::uint64_t, 5> tails = {0, low_bits(place), half, half - 1, half + 1};
  return (value & ~low_bits(place)) | (tails[random() % tails.size()] & low_bits(place));
}

std::uint64_t float_value(Type type, Make make, Random& random) {
  switch (make) {
    case Make::alike:
      return encode(type, signed_fraction(random) * power_of_two(random, -4, 3));
    case Make::wide:
      return encode(type, signed_fraction(random) * power_of_two(random, -40, 20), Rounding::rn,
                    Saturation::satfinite);
    case Make::special:
      if (random() % 4 == 0) return special_float(type, random);
      return encode(type, signed_fraction(random) * power_of_two(random, -2, 2));
    case Make::ties:
      return near_tie(encode(type, signed_fraction(random) * power_of_two(random, -16, 15), Rounding::rn,
                             Saturation::satfinite),
                      type.bits, random);
    case Make::bits:
    case Make::product:
      break;
  }
  return random() & low_bits(type.bits);
}

std::uint64_t integer_value(int bits, Make make, Random& random) {
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  switch (make) {
    case Make::alike:
      return random() % 64 & low_bits(bits);
    case Make::special: {
      const std::array<std::uint64_t, 8> values = {0, 1, ~std::uint64_t{0}, top, top - 1, top + 1, 2, 31};
      return values[random() % values.size()] & low_bits(bits);
    }
    case Make::ties:
      return near_tie(random(), bits, random) & low_bits(bits);
    case Make::wide:
      return (random() & low_bits(1 + static_cast<int>(random() % static_cast<unsigned>(bits)))) &
             low_bits(bits);
    case Make::bits:
    case Make::product:
      break;
  }
  return random() & low_bits(bits);
}

std::uint64_t field_value(const Field& field, const Type& element, Make make, Random& random) {
  if (field.type == pred) return random() & 1;
  std::uint64_t value = 0;
  for (int at = 0; at < std::min(8 * field.bytes, 64); at += element.bits)
    value |= (element.is_float() ? float_value(element, make, random)
                                 : integer_value(std::min<int>(element.bits, 64), make, random))
             << at;
  return value;
}

// The type that the specs name, else that of the first value operand, results first.
Type memory_type(const Subject& subject) {
  if (const auto named = find_type(subject.variant.conform("memory"))) return *named;
  for (const Record* record : {&subject.out, &subject.in}) {
    for (const Field& field : record->fields) {
      if (field.type != pred) return element_type(subject, field);
    }
  }
  return b32;
}

/// A piece of memory or a register: elements `stride` bits apart, starting at bit `first`.
struct Spacing {
  int stride = 0, first = 0;
};

// 6-bit and 4-bit elements may be stored in bytes: "8+2" in the specs.
Spacing spacing_of(const Subject& subject, const OperandSpec& operand, const Type& element) {
  const std::string bits = subject.variant.fragment(operand.name).bits;
  Spacing spacing{.stride = element.bits};
  const char* const end = bits.data() + bits.size();
  const char* const plus = std::from_chars(bits.data(), end, spacing.stride).ptr;
  if (plus != end) std::from_chars(plus + 1, end, spacing.first);
  return spacing;
}

// If a matrix descriptor determines the layout of factors in memory, only this is known: within 16 bytes, k
// and the position of an element agree.
constexpr int kChunkBits = 128;

/// The k of the elements of a factor in registers, by the fragment map of the specs.
class Along {
 public:
  Along(const Subject& subject, const Field& field, Role role, const Spacing& spacing, bool chunks) {
    const OperandSpec& operand = subject.variant.operands()[static_cast<std::size_t>(field.operand)];
    const bool factor = role == Role::left || role == Role::right;
    if (!factor || !has_layout(subject.variant, operand.name)) return;
    const Layout map = layout(subject.variant, operand.name);
    lanes_ = static_cast<std::size_t>(map.lanes);
    of_lane_.resize(lanes_);
    for (const LayoutElement& element : map.elements()) {
      if (element.reg != field.element) continue;
      std::vector<std::size_t>& all = of_lane_[static_cast<std::size_t>(element.lane)];
      const auto place = static_cast<std::size_t>((element.bit - spacing.first) / spacing.stride);
      const auto k = static_cast<std::size_t>(map.col_axis == 'k' ? element.col : element.row);
      all.resize(std::max(all.size(), place + 1));
      all[place] = chunks ? k % static_cast<std::size_t>(kChunkBits / spacing.stride) : k;
    }
  }

  std::size_t k(std::size_t thread, std::size_t place) const {
    if (of_lane_.empty()) return place;
    const std::vector<std::size_t>& all = of_lane_[thread % lanes_];
    return place < all.size() ? all[place] : 0;
  }

 private:
  std::size_t lanes_ = 1;
  std::vector<std::vector<std::size_t>> of_lane_;
};

/// The draws for all sets.
class Draws {
 public:
  Draws(const Subject& subject, std::size_t threads, std::uint64_t seed) : turns_(subject, seed) {
    const Roles roles(subject);
    if (!roles.any()) return;
    const ProductTypes types(roles);
    Random seeds(seed ^ 0xA24BAED4963EE407);
    for (std::size_t set = 0; set <= turns_.set_of(threads); ++set)
      products_.emplace_back(profiles()[turns_.profile_of_set(set)], types, seeds());
  }

  Make make(std::size_t thread) const { return profiles()[turns_.profile_of(thread)].make; }

  /// Up to 8 bytes of elements; `k` returns the k of each.
  template <class K>
  std::uint64_t value(std::size_t thread, Role role, const Type& type, int bytes, Spacing spacing, K k,
                      Random& random) const {
    const ProductDraw& draw = products_[turns_.set_of(thread)];
    std::uint64_t value = 0;
    std::size_t place = 0;
    for (int at = spacing.first; at < std::min(8 * bytes, 64); at += spacing.stride)
      value |= draw.value(role, type, k(place++), random) << at;
    return value;
  }

 private:
  Turns turns_;
  std::vector<ProductDraw> products_;
};

}  // namespace

std::vector<std::byte> inputs(const Subject& subject, std::size_t threads, std::uint64_t seed) {
  const auto record = static_cast<std::size_t>(subject.in.bytes);
  std::vector<std::byte> bytes(threads * record);
  const Draws draws(subject, threads, seed);
  const Roles roles(subject);
  for (const Field& field : subject.in.fields) {
    const Type element = element_type(subject, field);
    const OperandSpec& operand = subject.variant.operands()[static_cast<std::size_t>(field.operand)];
    const Demand demand(subject.variant.conform(operand.name), element);
    const Role role = roles.of(operand.name);
    const Spacing spacing = spacing_of(subject, operand, element);
    const Along along(subject, field, role, spacing, !roles.regions().empty());
    Random random(seed + static_cast<std::uint64_t>(field.offset));
    for (std::size_t thread = 0; thread < threads; ++thread) {
      const Make make = draws.make(thread);
      std::byte* const at = bytes.data() + thread * record + static_cast<std::size_t>(field.offset);
      if (demand.is_of_warp() && thread % kWarpThreads != 0) {
        std::memcpy(at, at - record, static_cast<std::size_t>(field.bytes));
        continue;
      }
      for (int done = 0; done < field.bytes; done += 8) {
        const std::uint64_t drawn =
            make == Make::product && role != Role::none
                ? draws.value(
                      thread, role, element, field.bytes - done, spacing,
                      [&](std::size_t place) { return along.k(thread, place); }, random)
                : field_value(field, element, make, random);
        const std::uint64_t value = demand.meet(drawn, thread / kBlockThreads, random);
        std::memcpy(at + done, &value, static_cast<std::size_t>(std::min(8, field.bytes - done)));
      }
    }
  }
  return bytes;
}

std::vector<std::byte> slots(const Subject& subject, std::size_t threads, std::uint64_t seed) {
  if (!subject.around.global && !subject.around.shared) return {};
  const Draws draws(subject, threads, seed);
  std::vector<Roles::Region> regions = Roles(subject).regions();
  if (regions.empty()) regions.push_back({.from = 0, .role = Role::none, .type = memory_type(subject)});
  std::vector<std::byte> bytes(threads * kSlotBytes);
  Random random(seed ^ 0x9E3779B97F4A7C15);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::size_t thread = at / kSlotBytes, in_warp = at % (kSlotBytes * kWarpThreads);
    const Roles::Region& region = *(std::ranges::upper_bound(regions, in_warp, {}, &Roles::Region::from) - 1);
    const Make make = draws.make(thread);
    const auto chunk_place =
        static_cast<std::size_t>(8 * (at % (kChunkBits / 8)) / static_cast<std::size_t>(region.type.bits));
    const std::uint64_t value =
        make == Make::product && region.role != Role::none
            ? draws.value(
                  thread, region.role, region.type, 8, {.stride = region.type.bits},
                  [&](std::size_t place) { return chunk_place + place; }, random)
            : field_value({.type = region.type, .bytes = 8}, region.type, make, random);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  return bytes;
}

}  // namespace ptxloom::conform_kernels
