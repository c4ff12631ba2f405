// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

// A target is a set, not a number: `sm_100a` is that chip alone, `sm_100f` its family from there on (suffix a
// or f), `sm_90` everything later. All facts come from specs/targets.json.
namespace [[gnu::visibility("default")]] ptxloom {

/// A PTX ISA version.
struct Version {
  int major = 0;
  int minor = 0;
  friend constexpr auto operator<=>(const Version&, const Version&) = default;
};
std::string to_string(Version version);
/// "8.6"; throws Error(usage) for anything else.
Version parse_version(std::string_view text);

/// One row of specs/targets.json, joined with its chip.
struct TargetInfo {
  std::string_view name;  ///< "sm_90a"
  int number = 0;         ///< 90
  char suffix = '\0';     ///< '\0', 'a' or 'f'
  int family = 0;         ///< chips of one family number are one family (100 and 103)
  Version since;          ///< the PTX version that introduced it
  // What a kernel can use on the chip.
  int shared_per_block = 0;  ///< bytes, with the opt-in
  int shared_static = 0;     ///< bytes of .shared that an entry may declare; the rest is dynamic
  int shared_per_sm = 0;     ///< bytes
  int threads_per_sm = 0;
  int blocks_per_sm = 0;
  int registers_per_sm = 0;   ///< of 32 bits
  int cluster_blocks = 0;     ///< of the largest cluster; 0 = the chip has none
  int mma_fraction_bits = 0;  ///< fraction bits that mma.sync keeps when it sums f16 / bf16 / tf32 products
  bool mma_halves = false;    ///< the k of 32-byte rows (k16 f16, k8 tf32, k32 fp8) is summed in two halves
};

class Target {
 public:
  /// By name; throws Error(usage, "unknown-target") that lists the known ones.
  explicit Target(std::string_view name);
  /// `info` must live as long as the Target and its copies, or as `owner`, which they keep alive.
  explicit Target(const TargetInfo& info, std::shared_ptr<const void> owner = nullptr)
      : info_(&info), owner_(std::move(owner)) {}

  std::string_view name() const { return info_->name; }
  int number() const { return info_->number; }
  char suffix() const { return info_->suffix; }
  Version since() const { return info_->since; }
  const TargetInfo& info() const { return *info_; }
  /// True where code that needs `wanted` may run: sm_90a satisfies sm_90a and sm_80, not sm_100.
  bool satisfies(const TargetInfo& wanted) const;

  friend bool operator==(const Target& a, const Target& b) { return a.info_->name == b.info_->name; }

 private:
  const TargetInfo* info_;
  std::shared_ptr<const void> owner_;  // of a target that an overlay added; the others are static
};

/// All targets compiled in, in the order of specs/targets.json.
std::span<const TargetInfo> targets();
/// All PTX versions known, ascending.
std::span<const Version> ptx_versions();
/// The most specific target of a chip's compute capability: (9, 0) gives sm_90a. Throws for an unknown one.
Target target_of_device(int major, int minor);

}  // namespace ptxloom
