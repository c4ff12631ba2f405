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
  std::string what;  ///< "latency fma.rn.f32 from A", "throughput add.f32 of 32 warps"
  double first = 0, second = 0;

  /// The larger less the smaller, as a part of the smaller.
  double difference() const;
};

/// Figures by kind: "latency", "throughput", "probe". Records are lines of docs/json/insn_record.json; rows
/// are the same if form, opcode and data are.
std::map<std::string, std::vector<Repeated>> repeated(std::span<const std::string> first,
                                                      std::span<const std::string> second);

/// A table: for each kind how many figures there are, how many agree within 1 %, the median difference and
/// the 95th percentile; then those that differ most.
std::string comparison_text(const std::map<std::string, std::vector<Repeated>>& figures);

/// How far the repeats of single figures lie apart, as the records say: a line; empty if none says it.
std::string spread_text(std::span<const std::string> records);

}  // namespace ptxloom::insn
