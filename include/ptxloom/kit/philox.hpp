// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "ptxloom/builder.hpp"

/// \file
/// Random numbers by the counter-based generator Philox 4x32-10 (Salmon et al., "Parallel random numbers: as
/// easy as 1, 2, 3", 2011). Each counter of 128 bits gives four independent words, and a seed of 64 bits
/// another sequence. Nothing is stored: whoever needs the numbers of an element computes them from its
/// position, so they do not depend on how the work is divided.
///
/// Errors: Error(usage, "operand-type") for a seed that has not 64 bits. Otherwise the functions throw as
/// those of KernelBuilder do.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The generator of a kernel.
class Philox {
 public:
  /// `seed`: a u64.
  Philox(KernelBuilder& k, Reg seed);

  /// The four words (u32) of a counter, whose words are u32, the lowest one first.
  std::array<Reg, 4> draw(const std::array<Reg, 4>& counter) const;

 private:
  KernelBuilder& k_;
  std::array<Reg, 2> key_;
};

}  // namespace kit
}  // namespace ptxloom
