// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/undefined_elements.hpp"

#include <algorithm>

namespace ptxloom::exec {
namespace {

template <class Bits>
std::vector<Bits> bits_of(const std::vector<bool>& flags, int width) {
  const auto all = static_cast<Bits>(low_bits(width));
  std::vector<Bits> bits(flags.size());
  std::transform(flags.begin(), flags.end(), bits.begin(), [&](bool flag) { return flag ? all : Bits{0}; });
  return bits;
}

bool any_of(const std::vector<bool>& flags) { return std::ranges::find(flags, true) != flags.end(); }

}  // namespace

bool UndefinedElements::any(std::span<const Slot> slots) const {
  return std::ranges::any_of(warps_, [&](const Warp* warp) {
    const RegisterShadow& shadow = judge_->registers_of(*warp);
    return !std::ranges::all_of(slots, [&](const Slot& slot) { return shadow.is_defined(slot); });
  });
}

void UndefinedElements::define(std::span<const Slot> slots) const {
  for (const Warp* warp : warps_) {
    for (const Slot& slot : slots) judge_->registers_of(*warp).define(slot, kAllLanes, kAllLanes);
  }
}

UndefinedElements::Opened UndefinedElements::open(std::span<const Slot> slots) const {
  Opened opened;
  for (const Warp* warp : warps_) opened.all[opened.count++] = judge_->registers_of(*warp).open(slots);
  return opened;
}

void UndefinedElements::close(std::span<const Slot> slots) const {
  for (const Warp* warp : warps_) judge_->registers_of(*warp).close(slots);
}

std::vector<bool> UndefinedElements::flags(const Fragment& fragment, std::span<const Slot> slots) const {
  return slots[0].bytes == 4 ? flags_of(gather<std::uint32_t>(fragment, slots))
                             : flags_of(gather<std::uint64_t>(fragment, slots));
}

void UndefinedElements::set_flags(const Fragment& fragment, std::span<const Slot> slots,
                                  const std::vector<bool>& flags) const {
  if (!any_of(flags)) return define(slots.first(fragment.registers()));
  const int width = fragment.type().bits;
  slots[0].bytes == 4 ? scatter<std::uint32_t>(fragment, slots, bits_of<std::uint32_t>(flags, width))
                      : scatter<std::uint64_t>(fragment, slots, bits_of<std::uint64_t>(flags, width));
}

std::optional<UndefinedLines> undefined_lines(Judge& judge, std::span<std::byte* const> lines,
                                              std::uint32_t bytes) {
  const auto first_of = [](std::span<const std::byte> bits) {
    return std::ranges::find_if(bits, [](std::byte each) { return each != std::byte{0}; }) - bits.begin();
  };
  const auto is_undefined = [&](const std::byte* line) {
    const std::span<const std::byte> bits = judge.undefined_bits(line, bytes);
    return static_cast<std::size_t>(first_of(bits)) != bits.size();
  };
  const auto found = std::ranges::find_if(lines, is_undefined);
  if (found == lines.end()) return std::nullopt;
  UndefinedLines undefined{.bits = std::vector<std::byte>(lines.size() * bytes), .lines = {}};
  for (const std::byte* line : lines) {
    std::byte* const to = undefined.bits.data() + undefined.lines.size() * bytes;
    std::ranges::copy(judge.undefined_bits(line, bytes), to);
    undefined.lines.push_back(to);
  }
  if (judge.undefined_bits(*found) == nullptr)
    undefined.global = *found + first_of(judge.undefined_bits(*found, bytes));
  return undefined;
}

void mark_lines(std::vector<bool>& elements, std::size_t depth, const std::vector<bool>& flags) {
  if (!any_of(flags)) return;
  const std::size_t each = flags.size() * depth / elements.size();  // flags per line
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t line = i / depth, place = i % depth;
    if (flags[line * each + place * each / depth]) elements[i] = true;
  }
}

void multiply_undefined(const Product& product, std::span<const std::uint16_t> picked,
                        UndefinedFactors& factors) {
  if (!any_of(factors.a) && !any_of(factors.b)) return;
  for (std::size_t row = 0; row < product.matrices * product.m; ++row) {
    const std::size_t matrix = row / product.m, a = row * product.k;
    for (std::size_t column = 0; column < product.n; ++column) {
      const std::size_t b = (matrix * product.n + column) * product.depth;
      bool undefined = false;
      for (std::size_t k = 0; k < product.k && !undefined; ++k)
        undefined = factors.a[a + k] || factors.b[b + (picked.empty() ? k : picked[a + k])];
      if (undefined) factors.sums[row * product.n + column] = true;
    }
  }
}

}  // namespace ptxloom::exec
