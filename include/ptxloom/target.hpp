// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Targets. A target stands for a set of chips: `sm_100a` is that chip alone, `sm_100f` is its family from
/// that chip on, and `sm_90` is that chip and all later ones. All facts come from specs/targets.json.
namespace [[gnu::visibility("default")]] ptxloom {

/// A PTX ISA version.
struct Version {
  int major = 0;  ///< the number before the dot
  int minor = 0;  ///< the number after the dot
  friend constexpr auto operator<=>(const Version&, const Version&) = default;
};
/// "8.6"
std::string to_string(Version version);
/// The version in a text such as "8.6". Throws Error(usage, "bad-version").
Version parse_version(std::string_view text);

/// One row of specs/targets.json, joined with its chip.
struct TargetInfo {
  std::string_view name;      ///< "sm_90a"
  int number = 0;             ///< 90
  char suffix = '\0';         ///< '\0', 'a' or 'f'
  int family = 0;             ///< chips of one family number are one family (100 and 103)
  Version since;              ///< the PTX version that introduced it
  int sms = 0;                ///< SMs of the largest product of the chip
  int shared_per_block = 0;   ///< bytes of shared memory that a thread block can have, with the opt-in
  int shared_static = 0;      ///< bytes of .shared that an entry may declare; the rest is dynamic
  int shared_per_sm = 0;      ///< bytes of shared memory of an SM
  int threads_per_sm = 0;     ///< resident threads of an SM
  int blocks_per_sm = 0;      ///< resident thread blocks of an SM
  int registers_per_sm = 0;   ///< 32-bit registers of an SM
  int cluster_blocks = 0;     ///< thread blocks of the largest cluster; 0: the chip has no clusters
  int mma_fraction_bits = 0;  ///< fraction bits that mma.sync keeps when it adds f16, bf16 or tf32 products
  bool mma_halves = false;  ///< whether k of 32-byte rows (k16 f16, k8 tf32, k32 fp8) is added in two halves

  /// Bytes of shared memory of an SM that the system reserves for each thread block: what a thread block of
  /// the largest size leaves.
  int shared_reserved() const { return shared_per_sm - shared_per_block; }
  /// Thread blocks that threads and registers let an SM have at once, by the formula of NVIDIA's occupancy
  /// calculator: registers are given to warps 256 at a time, and each of the SM's 4 partitions has a quarter
  /// of the registers and of the warps. 0: not even one.
  int resident_blocks(int threads, int registers_per_thread) const;
  /// The same, limited by the shared memory of each thread block, too.
  int resident_blocks(int threads, int registers_per_thread, int shared_bytes) const;
  /// The inverse: registers that a thread can have if an SM has so many thread blocks of so many threads at
  /// once; no target gives a thread more than 255.
  int registers_with(int blocks, int threads) const;
};

/// A target: a handle to its TargetInfo. One that Specs return may outlive them.
class Target {
 public:
  /// A target that is compiled in, by its name. Throws Error(usage, "unknown-target"), with the known ones.
  /// Specs::target also knows those of overlays.
  explicit Target(std::string_view name);
  /// `info` must live as long as the Target and its copies, or as `owner`, which they keep alive.
  explicit Target(const TargetInfo& info, std::shared_ptr<const void> owner = nullptr)
      : info_(&info), owner_(std::move(owner)) {}

  /// Members of info().
  ///@{
  std::string_view name() const { return info_->name; }
  int number() const { return info_->number; }
  char suffix() const { return info_->suffix; }
  Version since() const { return info_->since; }
  ///@}
  const TargetInfo& info() const { return *info_; }  ///< its row; it lives as long as this Target or a copy
  /// Whether code for `wanted` runs on it: sm_90a satisfies sm_90a and sm_80, but not sm_100.
  bool satisfies(const TargetInfo& wanted) const;

  friend bool operator==(const Target& a, const Target& b) { return a.info_->name == b.info_->name; }

 private:
  const TargetInfo* info_;
  std::shared_ptr<const void> owner_;  // of a target that an overlay added; the others are static
};

/// All targets that are compiled in, in the order of specs/targets.json.
std::span<const TargetInfo> targets();
/// All known PTX versions, in ascending order.
std::span<const Version> ptx_versions();
/// The PTX version of a module or statement that names none (9.0; "default_ptx" of specs/targets.json).
Version default_ptx_version();

/// A release of CUDA: one row of "toolkits" in specs/targets.json.
struct ToolkitInfo {
  Version cuda;          ///< of the release: 13.1
  Version ptx;           ///< the newest that its assembler and its linker read
  int driver = 0;        ///< branch of the driver that comes with it, and compiles its PTX; 0: unknown
  int cubin_driver = 0;  ///< oldest branch that loads its cubins, for chips that this driver knows
};
/// All known releases, in ascending order.
std::span<const ToolkitInfo> toolkits();
/// The release, or the last known one before it; null if it is older than all of them.
const ToolkitInfo* find_toolkit(Version cuda);
/// The first release that reads this PTX version; null if none is known.
const ToolkitInfo* toolkit_for_ptx(Version ptx);

/// What using a PTX version on a target takes.
struct Requirement {
  Version ptx;                  ///< that of the target if it is later
  std::optional<Version> cuda;  ///< the first release whose ptxas and nvJitLink read it; none: not known
  int driver = 0;               ///< oldest branch that loads the machine code on such a chip; 0: not known
  friend bool operator==(const Requirement&, const Requirement&) = default;
};
/// The requirement for PTX of this version on the target.
Requirement requirement_of(const Target& target, Version ptx);
/// "CUDA 13.1, driver 580", what is not known left out.
std::string to_string(const Requirement& requirement);

/// The most specific target for a compute capability: sm_90a for 9, 0. Throws Error(usage, "unknown-target").
Target target_of_device(int major, int minor);

}  // namespace ptxloom
