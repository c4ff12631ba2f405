// SPDX-License-Identifier: Apache-2.0
// Finds errors in an output. A tuner checks every element of every candidate while the device waits, hence
// the threads.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/parts.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/plan.hpp"

namespace ptxloom {
namespace {

/// Elements of less than 8 bits need not begin at a byte: eight of them repeat the same positions.
bool is_packed_poison(const HostTensor& tensor, std::uint64_t index, std::byte poison) {
  constexpr std::size_t kPeriod = 8;
  std::array<std::byte, kPeriod> bytes;
  bytes.fill(poison);
  const Type type = tensor.plan.type;
  return load_element(type, tensor.bytes, index) == load_element(type, bytes, index % kPeriod);
}

bool is_poison(const HostTensor& tensor, std::uint64_t index, std::byte poison) {
  if (tensor.plan.type.bits < 8) return is_packed_poison(tensor, index, poison);
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

bool takes_anything(const Expectation::Point& point) { return std::isinf(point.tolerance); }

void check_point(const Expectation::Point& point, const HostTensor& output, Verdict& verdict) {
  const double got = decode(output.plan.type, load_element(output.plan.type, output.bytes, point.index));
  const double distance = std::abs(got - point.value);
  const bool same = got == point.value || (std::isnan(got) && std::isnan(point.value));
  const bool ok = same || distance <= point.tolerance || takes_anything(point);
  ++verdict.checked;
  if (!same)
    verdict.worst = std::fmax(verdict.worst, point.tolerance > 0 ? distance / point.tolerance : HUGE_VAL);
  if (ok) return;
  if (std::isnan(distance)) verdict.worst = HUGE_VAL;
  if (verdict.wrong++ == 0) {
    verdict.first = fmt::format("{} is {}, but {} is expected, within {}",
                                element_name(output.plan, point.index), got, point.value, point.tolerance);
  }
}

void check_untouched(const Expectation& expected, const HostTensor& output, std::byte poison,
                     Verdict& verdict) {
  for (const std::uint64_t index : expected.untouched) {
    if (is_poison(output, index, poison)) continue;
    if (verdict.wrong++ == 0) {
      verdict.first =
          fmt::format("{} was written, but is outside the result", element_name(output.plan, index));
    }
  }
}

Verdict check_points(const Expectation& expected, const HostTensor& output) {
  constexpr std::size_t kEnough = 4096;
  const auto& points = expected.points;
  std::vector<Verdict> verdicts(base::count_parts(points.size(), kEnough));
  base::in_parts(points.size(), kEnough, [&](base::Part part) {
    for (std::size_t i = part.begin; i < part.end; ++i) check_point(points[i], output, verdicts[part.number]);
  });
  Verdict all;
  for (Verdict& one : verdicts) {
    if (all.wrong == 0) all.first = std::move(one.first);
    all.checked += one.checked;
    all.wrong += one.wrong;
    all.worst = std::fmax(all.worst, one.worst);
  }
  return all;
}

/// Elements [begin, end) whose bytes are all poison: scanned as words, many at once, and individually only if
/// there are some.
template <typename Word>
std::vector<std::uint64_t> find_poison(const std::vector<std::byte>& bytes, std::byte poison,
                                       base::Part part) {
  constexpr std::size_t kBlock = 2048;
  Word wanted{};
  std::memset(&wanted, std::to_integer<int>(poison), sizeof wanted);
  std::vector<std::uint64_t> found;
  std::array<Word, kBlock> words;
  for (std::size_t begin = part.begin; begin < part.end; begin += kBlock) {
    const std::size_t some = std::min(kBlock, part.end - begin);
    std::memcpy(words.data(), bytes.data() + begin * sizeof(Word), some * sizeof(Word));
    std::uint32_t hits = 0;
    for (std::size_t i = 0; i < some; ++i) hits += words[i] == wanted ? 1U : 0U;
    for (std::size_t i = 0; hits != 0 && i < some; ++i) {
      if (words[i] == wanted) found.push_back(begin + i);
    }
  }
  return found;
}

template <typename Word>
std::vector<std::uint64_t> find_poison(const std::vector<std::byte>& bytes, std::byte poison) {
  constexpr std::size_t kEnough = std::size_t{1} << 18;
  const std::size_t count = bytes.size() / sizeof(Word);
  std::vector<std::vector<std::uint64_t>> found(base::count_parts(count, kEnough));
  base::in_parts(count, kEnough,
                 [&](base::Part part) { found[part.number] = find_poison<Word>(bytes, poison, part); });
  std::vector<std::uint64_t> all;
  for (const auto& some : found) all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::vector<std::uint64_t> find_packed_poison(const HostTensor& tensor, std::byte poison) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t i = 0; i < tensor.plan.elements(); ++i)
    if (is_packed_poison(tensor, i, poison)) found.push_back(i);
  return found;
}

/// Whether poison at this point shows that nobody has written it: any value is right there. A byte may be
/// equal to the poison by chance.
bool shows_poison(const Expectation::Point& point, const HostTensor& output) {
  return takes_anything(point) && output.plan.type.bits > 8;
}

std::vector<std::uint64_t> unwritten_points(const Expectation& expected, const HostTensor& output,
                                            std::byte poison) {
  std::vector<std::uint64_t> unwritten;
  for (const auto& point : expected.points)
    if (shows_poison(point, output) && is_poison(output, point.index, poison))
      unwritten.push_back(point.index);
  return unwritten;
}

/// Elements that still hold the poison; sampled points are judged by their value, if they have one.
std::vector<std::uint64_t> find_unwritten(const Expectation& expected, const HostTensor& output,
                                          std::byte poison) {
  if (output.plan.role == TensorPlan::Role::inout) return {};
  if (expected.complete) return unwritten_points(expected, output, poison);
  std::vector<std::uint64_t> unwritten;
  switch (output.plan.type.bits) {
    case 1:
    case 4:
    case 6:
      unwritten = find_packed_poison(output, poison);
      break;
    case 8:
      unwritten = find_poison<std::uint8_t>(output.bytes, poison);
      break;
    case 16:
      unwritten = find_poison<std::uint16_t>(output.bytes, poison);
      break;
    case 32:
      unwritten = find_poison<std::uint32_t>(output.bytes, poison);
      break;
    default:
      unwritten = find_poison<std::uint64_t>(output.bytes, poison);
  }
  if (unwritten.empty()) return unwritten;
  std::vector<std::uint64_t> known = expected.untouched;
  for (const auto& point : expected.points)
    if (!shows_poison(point, output)) known.push_back(point.index);
  std::ranges::sort(known);
  std::erase_if(unwritten, [&](std::uint64_t index) { return std::ranges::binary_search(known, index); });
  return unwritten;
}

}  // namespace

Verdict verify(const Expectation& expected, const HostTensor& output, std::byte poison) {
  Verdict verdict = check_points(expected, output);
  check_untouched(expected, output, poison, verdict);
  verdict.unwritten = find_unwritten(expected, output, poison);
  return verdict;
}

}  // namespace ptxloom
