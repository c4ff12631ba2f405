// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

// Two runs of the same measurements, figure by figure.
namespace ptxloom::insn {

/// One figure of a row in both runs.
struct Repeated {
  std::string what;  ///< "fma.rn.f32 from A (fma)", "add.f32 of 32 warps (add)"
  double first = 0, second = 0;

  /// The larger less the smaller, as a part of the smaller.
  double difference() const;
};

/// Figures by kind: "latency", "throughput", "probe". Records are lines of docs/json/insn_record.json; rows
/// are the same if form, opcode and data are. So all of a run must be of one device (require_one_origin).
std::map<std::string, std::vector<Repeated>> repeated(std::span<const std::string> first,
                                                      std::span<const std::string> second);

/// Throws Error(usage, "bad-records") if they are of several devices or drivers.
void require_one_origin(std::span<const std::string> records);

/// A table: for each kind how many figures there are, how many agree within 1 %, the median difference and
/// the 95th percentile; then those that differ most.
std::string comparison_text(const std::map<std::string, std::vector<Repeated>>& figures);

/// How far the repeats of single figures lie apart, of those whose records say it: a line; empty if none
/// does.
std::string spread_text(std::span<const std::string> records);

}  // namespace ptxloom::insn
