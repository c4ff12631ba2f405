// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/hash.hpp"
#include "base/parts.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom {
namespace {

/// splitmix64 of a counter: an element's random bits do not depend on those before it.
std::uint64_t random_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Uniform in [-1, 1], on a grid of 2^-bits.
double uniform(std::uint64_t random, int bits) {
  const std::uint64_t steps = std::uint64_t{1} << (bits + 1);
  return std::ldexp(static_cast<double>(random % (steps + 1)), -bits) - 1.0;
}

/// Elements of type Word, by index.
template <typename Word, typename Value>
void fill(std::vector<std::byte>& bytes, std::uint64_t key, const Value& value) {
  base::in_parts(bytes.size() / sizeof(Word), std::size_t{1} << 22, [&](base::Part part) {
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const Word word = value(random_bits(key, i));
      std::memcpy(bytes.data() + i * sizeof(Word), &word, sizeof word);
    }
  });
}

/// Floats of up to 16 bits are drawn from a table of rounded grid values: encoding each element would take
/// longer than running the kernel.
std::vector<std::uint16_t> sample_table(Type type) {
  constexpr int kGridBits = 12;
  std::vector<std::uint16_t> table(std::size_t{1} << (kGridBits + 1));
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint16_t>(encode(type, uniform(i, kGridBits)));
  }
  return table;
}

/// Elements of less than 8 bits, by index: `value` gives the bits of one.
template <typename Value>
void fill_packed(HostTensor& tensor, std::uint64_t key, const Value& value) {
  constexpr std::uint64_t kGroup = 8;  // elements that end with a byte, so that threads share none
  const std::uint64_t count = tensor.plan.elements();
  base::in_parts((count + kGroup - 1) / kGroup, std::size_t{1} << 19, [&](base::Part part) {
    for (std::uint64_t i = part.begin * kGroup; i < std::min(part.end * kGroup, count); ++i)
      store_element(tensor.plan.type, tensor.bytes, i, value(random_bits(key, i)));
  });
}

void fill_floats(HostTensor& tensor, std::uint64_t key) {
  const Type type = tensor.plan.type;
  if (type == f64) {
    fill<double>(tensor.bytes, key, [](std::uint64_t random) { return uniform(random, 52); });
  } else if (type.bits == 32) {
    // tf32 is an f32 with at most 11 significant bits.
    const int bits = type == tf32 ? 10 : 23;
    fill<float>(tensor.bytes, key,
                [bits](std::uint64_t random) { return static_cast<float>(uniform(random, bits)); });
  } else {
    const std::vector<std::uint16_t> table = sample_table(type);
    const auto value = [&](std::uint64_t random) { return table[random % table.size()]; };
    if (type.bits == 16) fill<std::uint16_t>(tensor.bytes, key, value);
    if (type.bits == 8)
      fill<std::uint8_t>(tensor.bytes, key, [&](auto r) { return static_cast<std::uint8_t>(value(r)); });
    if (type.bits < 8) fill_packed(tensor, key, value);
  }
}

}  // namespace

std::uint64_t TensorPlan::elements() const {
  constexpr std::uint64_t kMost = std::uint64_t{1}
                                  << 56;  // so that their bytes, and sums of those, are numbers
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && count > kMost / extent) {
      throw Error(ErrorKind::usage, "too-large", fmt::format("tensor {} has more than 2^56 elements", name),
                  "use smaller sizes");
    }
    count *= extent;
  }
  return count;
}

HostTensor random_tensor(const TensorPlan& plan, std::uint64_t seed) {
  HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
  const std::uint64_t key = hash128(fmt::format("{}:{}", seed, plan.name)).low;
  if (plan.type.is_float()) {
    fill_floats(tensor, key);
  } else if (plan.type.bits < 8) {
    fill_packed(tensor, key,
                [&](std::uint64_t random) { return plan.below > 0 ? random % plan.below : random; });
  } else if (plan.below > 0) {
    fill<std::uint32_t>(tensor.bytes, key, [&](std::uint64_t random) {
      return static_cast<std::uint32_t>(random % plan.below);
    });
  } else {
    fill<std::uint8_t>(tensor.bytes, key,
                       [](std::uint64_t random) { return static_cast<std::uint8_t>(random); });
  }
  return tensor;
}

std::vector<HostTensor> random_inputs(std::span<const TensorPlan> tensors, std::uint64_t seed) {
  std::vector<HostTensor> all;
  for (const TensorPlan& plan : tensors)
    if (plan.role != TensorPlan::Role::out) all.push_back(random_tensor(plan, seed));
  return all;
}

HostTensor poisoned_tensor(const TensorPlan& plan, std::byte poison) {
  return {plan, std::vector<std::byte>(plan.bytes(), poison)};
}

}  // namespace ptxloom
