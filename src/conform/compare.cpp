// SPDX-License-Identifier: Apache-2.0
#include "conform/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "conform/tolerance.hpp"

namespace ptxloom::conform_kernels {
namespace {

const OperandSpec& operand_of(const Subject& subject, const Field& field) {
  return subject.variant.operands()[static_cast<std::size_t>(field.operand)];
}

bool same(const Tolerance& tolerance, const Subject& subject, const Field& field, const std::byte* device,
          const std::byte* executor) {
  const auto bytes = static_cast<std::size_t>(field.bytes);
  if (std::memcmp(device, executor, bytes) == 0) return true;
  if (bytes > sizeof(std::uint64_t)) return false;
  std::uint64_t x = 0, y = 0;
  std::memcpy(&x, device, bytes);
  std::memcpy(&y, executor, bytes);
  return tolerance.allows(element_type(subject, field), field.bytes, x, y);
}

std::string hex(const std::byte* at, int bytes) {
  std::string text = "0x";
  for (int i = bytes; i-- > 0;) text += fmt::format("{:02x}", static_cast<unsigned>(at[i]));
  return text;
}

std::string values_text(const Subject& subject, const Record& record, const std::byte* at) {
  std::string text;
  for (const Field& field : record.fields) {
    const OperandSpec& operand = operand_of(subject, field);
    text += fmt::format("{}{}{}={}", text.empty() ? "" : " ", operand.name,
                        operand.count == 0 ? "" : fmt::format("[{}]", field.element),
                        hex(at + field.offset, field.bytes));
  }
  return text;
}

}  // namespace

std::size_t threads_for(const Subject& subject, std::uint64_t elements) {
  std::size_t per_thread = subject.around.global || subject.around.shared ? 1 : 0;
  for (const Field& field : subject.out.fields) per_thread += field.type.lanes;
  const std::size_t warps = elements / (kWarpThreads * std::max<std::size_t>(per_thread, 1)) + 1;
  const std::size_t threads = std::max(warps * kWarpThreads, Turns(subject, 0).fewest_threads());
  const LaunchShape& shape = subject.around.shape;
  const std::size_t together = std::size_t{kBlockThreads} * shape.cluster[0] * shape.grid[0] * shape.grid[1];
  return (threads + together - 1) / together * together;
}

namespace {

/// Counts the elements of one thread; true for the first difference.
bool count(ConformResult& result, const Turns& turns, std::size_t thread, std::uint64_t elements,
           bool differs) {
  ConformResult::OfProfile& profile = result.profiles[turns.profile_of(thread)];
  profile.elements += elements;
  result.elements += elements;
  if (!differs) return false;
  ++profile.differing;
  return result.differing++ == 0;
}

void compare_records(const Subject& subject, const Turns& turns, std::span<const std::byte> inputs,
                     const Outcome& device, const Outcome& executor, ConformResult& result) {
  const auto record = static_cast<std::size_t>(subject.out.bytes),
             in = static_cast<std::size_t>(subject.in.bytes);
  const Tolerance tolerance(subject.variant.slot("error").value_or(""));
  for (std::size_t at = 0, thread = 0; at < device.records.size(); at += record, ++thread) {
    const std::byte *x = device.records.data() + at, *y = executor.records.data() + at;
    for (const Field& field : subject.out.fields) {
      const bool differs = !same(tolerance, subject, field, x + field.offset, y + field.offset);
      if (!count(result, turns, thread, field.type.lanes, differs)) continue;
      result.note = fmt::format("lane {} of warp {}, {}: device {}, executor {}; operands of the lane: {}",
                                thread % kWarpThreads, thread / kWarpThreads, operand_of(subject, field).name,
                                values_text(subject, subject.out, x), values_text(subject, subject.out, y),
                                values_text(subject, subject.in, inputs.data() + thread * in));
    }
  }
}

// A thread's slot counts as one element.
void compare_slots(const Subject& subject, const Turns& turns, std::span<const std::byte> inputs,
                   std::string_view memory, std::span<const std::byte> device,
                   std::span<const std::byte> executor, ConformResult& result) {
  const auto in = static_cast<std::size_t>(subject.in.bytes);
  for (std::size_t at = 0, thread = 0; at < device.size(); at += kSlotBytes, ++thread) {
    const std::byte *x = device.data() + at, *y = executor.data() + at;
    if (!count(result, turns, thread, 1, std::memcmp(x, y, kSlotBytes) != 0)) continue;
    const auto first = static_cast<int>(std::mismatch(x, x + kSlotBytes, y).first - x) / 8 * 8;
    result.note =
        fmt::format("lane {} of warp {}, {} at byte {}: device {}, executor {}; operands of the lane: {}",
                    thread % kWarpThreads, thread / kWarpThreads, memory, first, hex(x + first, 8),
                    hex(y + first, 8), values_text(subject, subject.in, inputs.data() + thread * in));
  }
}

}  // namespace

void compare(const Subject& subject, const Turns& turns, std::span<const std::byte> inputs,
             const Outcome& device, const Outcome& executor, ConformResult& result) {
  for (const Profile& profile : profiles())
    result.profiles.push_back({.profile = std::string(profile.name), .elements = 0, .differing = 0});
  if (subject.out.bytes != 0) compare_records(subject, turns, inputs, device, executor, result);
  compare_slots(subject, turns, inputs, "memory", device.slots, executor.slots, result);
  compare_slots(subject, turns, inputs, "shared memory", device.tiles, executor.tiles, result);
  std::erase_if(result.profiles,
                [](const ConformResult::OfProfile& profile) { return profile.elements == 0; });
  const auto of = [](std::size_t bytes, int record) {
    return bytes / static_cast<std::size_t>(std::max(record, 1));
  };
  const std::size_t threads =
      std::max({of(inputs.size(), subject.in.bytes), of(device.records.size(), subject.out.bytes),
                of(device.slots.size(), kSlotBytes)});
  result.operand_sets = std::max(result.operand_sets, threads / kWarpThreads);
  result.state = result.differing == 0 ? ConformResult::State::agrees : ConformResult::State::differs;
  if (result.elements != 0) return;
  result.state = ConformResult::State::failed;
  result.note = "nothing was compared";
}

}  // namespace ptxloom::conform_kernels
