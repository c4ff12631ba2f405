// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "insn/pair.hpp"
#include "insn/probe.hpp"

namespace ptxloom::insn {
namespace {

constexpr std::uint64_t kDense = 4096;  // rings with wider gaps are written element by element
constexpr int kColdRounds = 128;
constexpr std::uint64_t kFlushBytes = 256ULL << 20;

/// A ring of addresses in random order: each element of the memory, `stride` bytes apart, holds the address
/// of the next.
DeviceMemory ring(const DeviceContext& context, std::uint64_t bytes, std::uint64_t stride,
                  std::uint64_t offset) {
  const DeviceMemory memory(context, std::max<std::uint64_t>(offset + bytes, 1 << 16));
  const std::uint64_t base = memory.address() + offset;
  std::vector<std::uint32_t> order(std::max<std::uint64_t>(bytes / stride, 1));
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::shuffle(order, std::mt19937(1));
  const auto next = [&](std::size_t i) { return base + order[(i + 1) % order.size()] * stride; };
  if (stride > kDense) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint64_t value = next(i);
      memory.upload(std::as_bytes(std::span(&value, 1)), offset + order[i] * stride);
    }
    return memory;
  }
  std::vector<std::byte> content(bytes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint64_t value = next(i);
    std::memcpy(content.data() + order[i] * stride, &value, sizeof value);
  }
  memory.upload(content, offset);
  return memory;
}

}  // namespace

ProbeResult measure(Device& device, const Probe& probe, std::span<const std::byte> cubin) {
  if (probe.launches()) return measure_launches(device, probe, cubin);
  const bool has_ring = probe.parameters.contains("stride");
  const std::uint64_t bytes = probe.number("bytes", 0), stride = probe.number("stride", 0),
                      offset = probe.number("offset", 0);
  if (has_ring && device.context().memory().first < offset + bytes + kFlushBytes + (1ULL << 30))
    return {.note = "the device has not enough free memory"};
  DeviceMemory memory =
      has_ring ? ring(device.context(), bytes, stride, offset) : DeviceMemory(device.context(), kProbeMemory);
  if (!has_ring) memory.fill(std::byte{0});
  if (const std::optional<TensorMap> map = probe.map(memory.address()))
    device.set_operands(encode(device.context(), *map).bytes);
  if (probe.cold) DeviceMemory(device.context(), kFlushBytes).fill(std::byte{1});
  const DeviceModule module(device.context(), cubin);
  Pair pair(device, module, {.few = "few", .many = "many", .copies = kProbeCopies});
  LaunchShape shape{.blocks = static_cast<int>(probe.number("blocks", probe.number("cluster", 1))),
                    .warps = static_cast<int>(probe.number("warps", 1)),
                    .lanes = probe.lanes,
                    .memory = memory.address() + offset,
                    .clear = probe.clear};
  // Each launch passes through the ring four times, since L1 is empty when it begins.
  if (has_ring && !probe.cold) shape.rounds = static_cast<int>(4 * bytes / stride / kProbeCopies);
  if (probe.cold) {
    shape.rounds = kColdRounds;
    shape.ring_bytes = bytes;
    shape.ring_stride = stride;
  }
  ProbeResult result;
  result.cycles = pair.cycles(shape, 0);
  result.spread = pair.spread();
  result.clock_mhz = pair.clock_mhz();
  return result;
}

}  // namespace ptxloom::insn
