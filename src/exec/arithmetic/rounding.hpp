// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "exec/machine/decoder.hpp"
#include "ptxloom/numeric.hpp"

// The modifiers of an instruction that say how its result is rounded.
namespace ptxloom::exec {

/// "rn", "rzi" and so on; an absent modifier rounds to nearest.
inline Rounding rounding_of(std::string_view word) {
  if (word == "rna") return Rounding::rna;
  if (word.starts_with("rz")) return Rounding::rz;
  if (word.starts_with("rm")) return Rounding::rm;
  if (word.starts_with("rp")) return Rounding::rp;
  return Rounding::rn;
}

inline Modifiers modifiers_of(const Decoder& decoder) {
  const std::string_view sat = decoder.word("sat");
  return {.rounding = rounding_of(decoder.word("rnd")),
          .saturation = sat.empty()    ? Saturation::none
                        : sat == "sat" ? Saturation::sat
                                       : Saturation::satfinite,
          .ftz = decoder.has("ftz"),
          .relu = decoder.has("relu"),
          .pzo = decoder.has("pzo")};
}

}  // namespace ptxloom::exec
