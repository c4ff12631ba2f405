// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "insn/device.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/tensor_map.hpp"

// Measurements that no single instruction shows: caches, device memory, bank conflicts, contention, barriers,
// copies, launches. specs/measure/probes.json has them: statements that are repeated, and parameters over
// which they are swept.
namespace ptxloom::insn {

inline constexpr int kProbeCopies = 16;                 ///< of the step in the first kernel
inline constexpr std::uint64_t kProbeMemory = 1 << 20;  ///< bytes, unless it is a ring of addresses

/// One point of a sweep.
struct Probe {
  std::string name, doc;
  std::map<std::string, std::string> parameters;
  std::string before, step, after;  ///< with the parameters filled in
  int lanes = kLanes;
  bool clear = false;      ///< memory begins with zeros in each launch
  bool cold = false;       ///< each launch begins elsewhere in the ring, so that no cache has it
  bool dependent = false;  ///< launches are programmatic dependent ones
  Version ptx{8, 0};       ///< of its instructions, at least

  /// "l2.chase bytes=65536 stride=128"
  std::string label() const;
  std::uint64_t number(const std::string& parameter, std::uint64_t otherwise) const;
  /// Whether launches are measured, and not what kernels do.
  bool launches() const { return parameters.contains("way"); }
  /// The tensor map that its kernels find at `in`, of memory that begins at `address`: rows of `row_bytes`
  /// bytes, and boxes of `rows` of them; nullopt if it has no boxes.
  std::optional<TensorMap> map(std::uint64_t address) const;
};

/// All points of the probes whose name is `selection` or begins with it as with words; empty: all. Throws
/// Error(usage, "spec-measure") for text that is no such file.
std::vector<Probe> probes(std::string_view selection, std::string_view json);
std::vector<Probe> probes(std::string_view selection);

/// A module with the kernels "few" and "many"; of launches, with "step", and "hold", which lasts `rounds`
/// nanoseconds.
std::string probe_text(const Probe& probe, const Target& target);

struct ProbeResult {
  double cycles = 0;       ///< of a step
  double nanoseconds = 0;  ///< of a launch
  double spread = 0;       ///< of the repeats, as a part of it
  double clock_mhz = 0;
  std::string note;  ///< why there is none
};

/// Cubin: of probe_text.
///@{
ProbeResult measure(Device& device, const Probe& probe, std::span<const std::byte> cubin);
ProbeResult measure_launches(const Device& device, const Probe& probe, std::span<const std::byte> cubin);
///@}

}  // namespace ptxloom::insn
