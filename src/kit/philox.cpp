// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/philox.hpp"

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kRounds = 10;
constexpr std::array<std::uint32_t, 2> kMultipliers{0xd251'1f53, 0xcd9e'8d57},
    kKeySteps{0x9e37'79b9, 0xbb67'ae85};

}  // namespace

Philox::Philox(KernelBuilder& k, Reg seed) : k_(k) {
  if (seed.type.bits != 64)
    throw Error(ErrorKind::usage, "operand-type", "a seed of type " + std::string(seed.type.name),
                "give a u64");
  const std::vector<Reg> words = k.unpack(u32, seed);
  key_ = {words[0], words[1]};
}

std::array<Reg, 4> Philox::draw(const std::array<Reg, 4>& counter) const {
  std::array<Reg, 4> c = counter;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const auto key = [&](std::size_t i) {
      return round == 0 ? key_[i] : k_.add(key_[i], kKeySteps[i] * round);
    };
    const std::vector<Reg> a = k_.unpack(u32, k_.mul_wide(c[0], kMultipliers[0])),
                           b = k_.unpack(u32, k_.mul_wide(c[2], kMultipliers[1]));
    c = {k_.xor_(k_.xor_(b[1], c[1]), key(0)), b[0], k_.xor_(k_.xor_(a[1], c[3]), key(1)), a[0]};
  }
  return c;
}

}  // namespace ptxloom::kit
