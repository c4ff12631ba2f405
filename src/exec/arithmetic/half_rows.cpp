// SPDX-License-Identifier: Apache-2.0
#include "exec/arithmetic/half_rows.hpp"

#include "exec/arithmetic/directed.hpp"

namespace ptxloom::exec {
namespace {

using Word [[gnu::may_alias]] = std::uint32_t;
using Short [[gnu::may_alias]] = std::uint16_t;

// Portable.

template <Rounding rounding>
std::uint32_t narrow(float value) {
  const std::uint32_t nearest = Half::round(value);
  const float back = Half::widen(nearest);
  return step<rounding>(static_cast<std::uint16_t>(nearest), value<back, value> back);
}

void widen_row(const std::byte* registers, std::span<float> row) {
  if (row.size() == kLanes) {
    const auto* words = reinterpret_cast<const Word*>(registers);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = Half::widen(words[i] & 0xffff);
  } else {
    const auto* halves = reinterpret_cast<const Short*>(registers);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = Half::widen(halves[i]);
  }
}

template <Rounding rounding>
void narrow_row(std::span<const float> row, std::byte* registers) {
  if (row.size() == kLanes) {
    auto* words = reinterpret_cast<Word*>(registers);
    for (std::size_t i = 0; i < row.size(); ++i) words[i] = narrow<rounding>(row[i]);
  } else {
    auto* halves = reinterpret_cast<Short*>(registers);
    for (std::size_t i = 0; i < row.size(); ++i) halves[i] = static_cast<Short>(narrow<rounding>(row[i]));
  }
}

// With the processor's instructions; false if it has none.

#ifdef PTXLOOM_F16C

template <bool pair>
[[PTXLOOM_F16C]] void widen_row_f16c(const std::byte* registers, std::span<float> row) {
  for (std::size_t i = 0; i < row.size(); i += 8)
    _mm256_storeu_ps(row.data() + i, widen_eight<pair>(registers, i));
}
template <bool pair, int direction>
[[PTXLOOM_F16C]] void narrow_row_f16c(std::span<const float> row, std::byte* registers) {
  for (std::size_t i = 0; i < row.size(); i += 8)
    narrow_eight<pair, direction>(_mm256_loadu_ps(row.data() + i), registers, i);
}
template <int direction>
void narrow_row_f16c(std::span<const float> row, std::byte* registers) {
  return row.size() == kLanes ? narrow_row_f16c<false, direction>(row, registers)
                              : narrow_row_f16c<true, direction>(row, registers);
}

bool processor_widens(const std::byte* registers, std::span<float> row) {
  if (!has_f16c()) return false;
  row.size() == kLanes ? widen_row_f16c<false>(registers, row) : widen_row_f16c<true>(registers, row);
  return true;
}

bool processor_narrows(std::span<const float> row, Rounding rounding, std::byte* registers) {
  if (!has_f16c()) return false;
  if (rounding == Rounding::rz) {
    narrow_row_f16c<_MM_FROUND_TO_ZERO>(row, registers);
  } else if (rounding == Rounding::rm) {
    narrow_row_f16c<_MM_FROUND_TO_NEG_INF>(row, registers);
  } else if (rounding == Rounding::rp) {
    narrow_row_f16c<_MM_FROUND_TO_POS_INF>(row, registers);
  } else {
    narrow_row_f16c<_MM_FROUND_TO_NEAREST_INT>(row, registers);
  }
  return true;
}

#else

bool processor_widens(const std::byte*, std::span<float>) { return false; }
bool processor_narrows(std::span<const float>, Rounding, std::byte*) { return false; }

#endif

}  // namespace

#ifdef PTXLOOM_F16C
bool has_f16c() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}
#endif

void widen_halves(const std::byte* registers, std::span<float> row) {
  if (!processor_widens(registers, row)) widen_row(registers, row);
}

void narrow_halves(std::span<const float> row, Rounding rounding, std::byte* registers) {
  if (processor_narrows(row, rounding, registers)) return;
  with_rounding(rounding, [&]<Rounding r>() { narrow_row<r>(row, registers); });
}

}  // namespace ptxloom::exec
