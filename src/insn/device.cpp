// SPDX-License-Identifier: Apache-2.0
#include "insn/device.hpp"

#include <algorithm>
#include <array>

#include "insn/operands.hpp"

namespace ptxloom::insn {
namespace {

constexpr std::uint64_t kMargin = 1 << 16;        // behind the slots: matrices may reach beyond their own
constexpr std::uint64_t kOutRoom = 256ULL << 14;  // results of a thread are 16 KiB apart
constexpr std::uint64_t kMostWarps = 1 << 15;
constexpr int kMostStreams = 4;
constexpr std::uint64_t kClearBytes = 256;

struct WarpTime {
  std::uint64_t start = 0, end = 0, sm = 0;
};

/// From the first start to the last end.
struct SmTime {
  std::uint64_t start = UINT64_MAX, end = 0;
  int warps = 0;
};

double median_cycles(std::span<const WarpTime> warps, int expected, int& sms) {
  std::map<std::uint64_t, SmTime> by_sm;
  for (const WarpTime& warp : warps) {
    SmTime& sm = by_sm[warp.sm];
    sm.start = std::min(sm.start, warp.start);
    sm.end = std::max(sm.end, warp.end);
    ++sm.warps;
  }
  std::vector<double> cycles;
  for (const auto& [number, sm] : by_sm) {
    if (expected == 0 || sm.warps == expected) cycles.push_back(static_cast<double>(sm.end - sm.start));
  }
  sms = static_cast<int>(cycles.size());
  if (cycles.empty()) return 0;
  std::ranges::nth_element(cycles, cycles.begin() + sms / 2);
  return cycles[static_cast<std::size_t>(sms / 2)];
}

}  // namespace

KernelSignature signature_of(std::string name) {
  KernelSignature made{.name = std::move(name), .parameters = {}};
  for (const char* parameter : {"in", "out", "slots", "times"})
    made.append({.name = parameter, .type = u64, .pointer = true});
  made.append({.name = "rounds", .type = u32});
  made.append({.name = "zero", .type = u32});
  return made;
}

Device::Device(const DeviceContext& context)
    : context_(context),
      stream_(context),
      begin_(context),
      end_(context),
      in_(context, 1 << 20),
      out_(context, kOutRoom + (kLanes * kLanes + 1) * 16),
      slots_(context, kOutBytes + kMargin),
      times_(context, kMostWarps * kTimeBytes) {
  out_.fill(std::byte{0});
}

void Device::prepare(const Row& row, Data data) {
  const Frame frame = frame_of(row);
  in_.upload(operands(row, frame, kMostStreams, data));
  slots_.upload(memory(row, frame, slots_.address(), slots_.size(), data));
}

std::uint64_t Device::memory_for(const LaunchShape& shape) const {
  const std::uint64_t memory = shape.memory != 0 ? shape.memory : slots_.address();
  if (shape.clear) fill_memory(context_, memory, kClearBytes, std::byte{0}, stream_);
  if (shape.ring_bytes == 0) return memory;
  constexpr std::uint64_t kPrime = 0x9E3779B1;
  return memory + ++launches_ * kPrime % (shape.ring_bytes / shape.ring_stride) * shape.ring_stride;
}

Clocks Device::run(const Function& function, const LaunchShape& shape, int warps_per_sm) const {
  const auto threads = static_cast<std::uint32_t>(shape.warps * shape.lanes);
  const std::uint64_t memory = memory_for(shape);
  const Arguments arguments(function.signature(),
                            {Argument::pointer(in_.address()), Argument::pointer(out_.address()),
                             Argument::pointer(memory), Argument::pointer(times_.address()),
                             Argument(static_cast<std::uint32_t>(shape.rounds)), Argument(std::uint32_t{0})});
  begin_.record(stream_);
  function.launch(stream_, {.grid = {static_cast<std::uint32_t>(shape.blocks)}, .block = {threads}},
                  arguments);
  end_.record(stream_);
  stream_.synchronize();
  std::vector<WarpTime> warps(static_cast<std::size_t>(shape.blocks * shape.warps));
  times_.download(std::as_writable_bytes(std::span(warps)));
  Clocks clocks{.nanoseconds = 1e6 * static_cast<double>(end_.elapsed_ms(begin_))};
  clocks.cycles = median_cycles(warps, warps_per_sm, clocks.sms);
  return clocks;
}

}  // namespace ptxloom::insn
