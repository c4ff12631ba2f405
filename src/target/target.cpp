// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/target.hpp"

#include <algorithm>
#include <charconv>

#include "ptxloom/error.hpp"
#include "target/target_table.hpp"

namespace ptxloom {

std::string to_string(Version version) {
  return std::to_string(version.major) + '.' + std::to_string(version.minor);
}

Version parse_version(std::string_view text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto [dot, major_error] = std::from_chars(text.data(), end, version.major);
  if (major_error == std::errc{} && dot != end && *dot == '.') {
    const auto [last, minor_error] = std::from_chars(dot + 1, end, version.minor);
    if (minor_error == std::errc{} && last == end && version.major >= 0 && version.minor >= 0) return version;
  }
  throw Error(ErrorKind::usage, "bad-version", "'" + std::string(text) + "' is not a PTX version",
              "write major.minor, such as 8.6");
}

namespace {

constexpr int kWarpThreads = 32, kPartitions = 4, kRegistersAtOnce = 256;
constexpr int kMostThreadRegisters = 255;

int units_in(int count, int unit) { return (count + unit - 1) / unit; }

}  // namespace

int TargetInfo::resident_blocks(int threads, int registers_per_thread) const {
  if (threads < 1) return 0;
  const int blocks = std::min(blocks_per_sm, threads_per_sm / threads);
  const int warps = units_in(threads, kWarpThreads);
  const int needed = registers_per_thread * kWarpThreads, rest = needed % kRegistersAtOnce;
  const int of_warp = rest == 0 ? needed : needed + kRegistersAtOnce - rest;
  if (of_warp == 0) return blocks;
  return std::min(blocks, registers_per_sm / kPartitions / of_warp * kPartitions / warps);
}

int TargetInfo::resident_blocks(int threads, int registers_per_thread, int shared_bytes) const {
  const int blocks = resident_blocks(threads, registers_per_thread), each = shared_bytes + shared_reserved();
  return shared_bytes == 0 ? blocks : std::min(blocks, shared_per_sm / each);
}

int TargetInfo::registers_with(int blocks, int threads) const {
  constexpr int kAtOnce = kRegistersAtOnce / kWarpThreads;  // of a thread
  const int warps = units_in(std::max(1, blocks) * units_in(std::max(1, threads), kWarpThreads), kPartitions);
  const int registers = registers_per_sm / kPartitions / warps / kWarpThreads / kAtOnce * kAtOnce;
  return std::min(kMostThreadRegisters, registers);
}

std::span<const TargetInfo> targets() { return target::compiled_targets(); }

std::span<const Version> ptx_versions() { return target::compiled_versions(); }

Version default_ptx_version() { return target::compiled_default_version(); }

std::span<const ToolkitInfo> toolkits() { return target::compiled_toolkits(); }

const ToolkitInfo* find_toolkit(Version cuda) {
  const ToolkitInfo* last = nullptr;
  for (const ToolkitInfo& toolkit : toolkits()) {
    if (toolkit.cuda <= cuda) last = &toolkit;
  }
  return last;
}

const ToolkitInfo* toolkit_for_ptx(Version ptx) {
  for (const ToolkitInfo& toolkit : toolkits()) {
    if (toolkit.ptx >= ptx) return &toolkit;
  }
  return nullptr;
}

Requirement requirement_of(const Target& target, Version ptx) {
  Requirement requirement{.ptx = std::max(ptx, target.since()), .cuda = {}};
  const ToolkitInfo* const reads = toolkit_for_ptx(requirement.ptx);
  if (reads == nullptr) return requirement;
  requirement.cuda = reads->cuda;
  // A driver older than the chip does not know it.
  const ToolkitInfo* const chip = toolkit_for_ptx(target.since());
  if (chip != nullptr && chip->driver > 0) requirement.driver = std::max(reads->cubin_driver, chip->driver);
  return requirement;
}

std::string to_string(const Requirement& requirement) {
  if (!requirement.cuda) return "a release of CUDA that is not known";
  return "CUDA " + to_string(*requirement.cuda) +
         (requirement.driver > 0 ? ", driver " + std::to_string(requirement.driver) : "");
}

Target::Target(std::string_view name) : info_(nullptr) {
  std::string known;
  for (const TargetInfo& info : targets()) {
    if (info.name == name) {
      info_ = &info;
      return;
    }
    known += (known.empty() ? "" : " ") + std::string(info.name);
  }
  throw Error(ErrorKind::usage, "unknown-target", "there is no target '" + std::string(name) + "'",
              "known targets: " + known);
}

bool Target::satisfies(const TargetInfo& wanted) const {
  switch (wanted.suffix) {
    case 'a':
      return info_->suffix == 'a' && info_->number == wanted.number;
    case 'f':
      return info_->suffix != '\0' && info_->family == wanted.family && info_->number >= wanted.number;
    default:
      return info_->number >= wanted.number;
  }
}

Target target_of_device(int major, int minor) {
  const int number = major * 10 + minor;
  const TargetInfo* best = nullptr;
  for (const TargetInfo& info : targets()) {
    if (info.number == number && (best == nullptr || info.suffix == 'a')) best = &info;
  }
  if (best != nullptr) return Target(*best);
  throw Error(
      ErrorKind::usage, "unknown-target",
      "there is no target for compute capability " + std::to_string(major) + '.' + std::to_string(minor),
      "targets begin at sm_75; `ptxloom doctor` lists them");
}

}  // namespace ptxloom
