// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include "base/hash.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom {
namespace {

/// splitmix64 of a counter: any element's random bits without those before it.
std::uint64_t random_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Uniform in [-1, 1] on a grid of 2^-bits.
double uniform(std::uint64_t random, int bits) {
  const std::uint64_t steps = std::uint64_t{1} << (bits + 1);
  return std::ldexp(static_cast<double>(random % (steps + 1)), -bits) - 1.0;
}

/// Elements of type Word by their index, on several threads where there are many.
template <typename Word, typename Value>
void fill(std::vector<std::byte>& bytes, std::uint64_t key, const Value& value) {
  constexpr std::size_t kEnough = std::size_t{1} << 22;
  const std::size_t count = bytes.size() / sizeof(Word);
  const std::size_t parts =
      std::clamp<std::size_t>(count / kEnough, 1, std::max(1U, std::thread::hardware_concurrency()));
  const auto fill_part = [&](std::size_t part) {
    for (std::size_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      const Word word = value(random_bits(key, i));
      std::memcpy(bytes.data() + i * sizeof(Word), &word, sizeof word);
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t part = 1; part < parts; ++part) threads.emplace_back(fill_part, part);
  fill_part(0);
}

/// Floats of up to 16 bits are drawn from the rounded values of a grid: encoding each element would take
/// longer than running the kernel.
std::vector<std::uint16_t> sample_table(Type type) {
  constexpr int kGridBits = 12;
  std::vector<std::uint16_t> table(std::size_t{1} << (kGridBits + 1));
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint16_t>(encode(type, uniform(i, kGridBits)));
  }
  return table;
}

void fill_floats(HostTensor& tensor, std::uint64_t key) {
  const Type type = tensor.plan.type;
  if (type == f64) {
    fill<double>(tensor.bytes, key, [](std::uint64_t random) { return uniform(random, 52); });
  } else if (type.bits == 32) {
    // tf32 is an f32 whose value needs no more than 11 significant bits.
    const int bits = type == tf32 ? 10 : 23;
    fill<float>(tensor.bytes, key,
                [bits](std::uint64_t random) { return static_cast<float>(uniform(random, bits)); });
  } else {
    const std::vector<std::uint16_t> table = sample_table(type);
    const auto value = [&](std::uint64_t random) { return table[random % table.size()]; };
    if (type.bits == 16) fill<std::uint16_t>(tensor.bytes, key, value);
    if (type.bits == 8)
      fill<std::uint8_t>(tensor.bytes, key, [&](auto r) { return static_cast<std::uint8_t>(value(r)); });
  }
}

bool is_poison(const HostTensor& tensor, std::uint64_t index, std::byte poison) {
  const auto size = static_cast<std::size_t>(tensor.plan.type.bytes());
  const std::byte* element = tensor.bytes.data() + index * size;
  return std::all_of(element, element + size, [poison](std::byte b) { return b == poison; });
}

/// "d[3, 17]"
std::string element_name(const TensorPlan& plan, std::uint64_t index) {
  std::string place;
  for (auto extent = plan.shape.rbegin(); extent != plan.shape.rend(); ++extent) {
    place = fmt::format("{}{}{}", index % *extent, place.empty() ? "" : ", ", place);
    index /= *extent;
  }
  return fmt::format("{}[{}]", plan.name, place);
}

void check_point(const Expectation::Point& point, const HostTensor& output, Verdict& verdict) {
  const double got = decode(output.plan.type, load_element(output.plan.type, output.bytes, point.index));
  const double distance = std::abs(got - point.value);
  const bool same = got == point.value || (std::isnan(got) && std::isnan(point.value));
  const bool ok = same || distance <= point.tolerance;
  ++verdict.checked;
  if (!same)
    verdict.worst = std::fmax(verdict.worst, point.tolerance > 0 ? distance / point.tolerance : HUGE_VAL);
  if (ok) return;
  if (std::isnan(distance)) verdict.worst = HUGE_VAL;
  if (verdict.wrong++ == 0) {
    verdict.first = fmt::format("{} is {}, expected {} within {}", element_name(output.plan, point.index),
                                got, point.value, point.tolerance);
  }
}

void check_untouched(const Expectation& expected, const HostTensor& output, std::byte poison,
                     Verdict& verdict) {
  for (const std::uint64_t index : expected.untouched) {
    if (is_poison(output, index, poison)) continue;
    if (verdict.wrong++ == 0) {
      verdict.first =
          fmt::format("{} lies outside the result and was written to", element_name(output.plan, index));
    }
  }
}

/// Elements whose bytes are all poison. A tuner looks at every element of every candidate: they are counted
/// as words, many at once, and looked at one by one only where there are some.
template <typename Word>
void find_poison(const std::vector<std::byte>& bytes, std::byte poison, std::vector<std::uint64_t>& found) {
  constexpr std::size_t kBlock = 2048;
  Word wanted{};
  std::memset(&wanted, std::to_integer<int>(poison), sizeof wanted);
  const std::size_t count = bytes.size() / sizeof(Word);
  std::array<Word, kBlock> words;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t some = std::min(kBlock, count - begin);
    std::memcpy(words.data(), bytes.data() + begin * sizeof(Word), some * sizeof(Word));
    std::uint32_t hits = 0;
    for (std::size_t i = 0; i < some; ++i) hits += words[i] == wanted ? 1U : 0U;
    for (std::size_t i = 0; hits != 0 && i < some; ++i) {
      if (words[i] == wanted) found.push_back(begin + i);
    }
  }
}

/// Elements that still hold the poison; points are judged by their value.
std::vector<std::uint64_t> find_unwritten(const Expectation& expected, const HostTensor& output,
                                          std::byte poison) {
  std::vector<std::uint64_t> unwritten;
  if (expected.complete || output.plan.role == TensorPlan::Role::inout) return unwritten;
  switch (output.plan.type.bytes()) {
    case 1:
      find_poison<std::uint8_t>(output.bytes, poison, unwritten);
      break;
    case 2:
      find_poison<std::uint16_t>(output.bytes, poison, unwritten);
      break;
    case 4:
      find_poison<std::uint32_t>(output.bytes, poison, unwritten);
      break;
    default:
      find_poison<std::uint64_t>(output.bytes, poison, unwritten);
  }
  if (unwritten.empty()) return unwritten;
  std::vector<std::uint64_t> known = expected.untouched;
  for (const auto& point : expected.points) known.push_back(point.index);
  std::ranges::sort(known);
  std::erase_if(unwritten, [&](std::uint64_t index) { return std::ranges::binary_search(known, index); });
  return unwritten;
}

}  // namespace

std::uint64_t TensorPlan::elements() const {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && count > std::numeric_limits<std::uint64_t>::max() / extent) {
      throw Error(ErrorKind::usage, "too-large", fmt::format("tensor {} has more than 2^64 elements", name),
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
  } else {
    fill<std::uint8_t>(tensor.bytes, key,
                       [](std::uint64_t random) { return static_cast<std::uint8_t>(random); });
  }
  return tensor;
}

HostTensor poisoned_tensor(const TensorPlan& plan, std::byte poison) {
  return {plan, std::vector<std::byte>(plan.bytes(), poison)};
}

Verdict verify(const Expectation& expected, const HostTensor& output, std::byte poison) {
  Verdict verdict;
  for (const Expectation::Point& point : expected.points) check_point(point, output, verdict);
  check_untouched(expected, output, poison, verdict);
  verdict.unwritten = find_unwritten(expected, output, poison);
  return verdict;
}

Verdict verify_run(const Expectation& expected,
                   const std::function<const HostTensor&(std::byte poison)>& run) {
  Verdict verdict = verify(expected, run(kPoison));
  if (verdict.unwritten.empty()) return verdict;
  constexpr std::byte kOther = ~kPoison;
  const Verdict second = verify(expected, run(kOther), kOther);
  std::vector<std::uint64_t> both;
  std::ranges::set_intersection(verdict.unwritten, second.unwritten, std::back_inserter(both));
  verdict.unwritten = std::move(both);
  return verdict;
}

}  // namespace ptxloom
