// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sass/instruction/operands.hpp"

namespace ptxloom::sass {

/// One register of an operand, and the class of the instruction that it belongs to.
struct Access {
  std::string_view type;
  RegisterUse use;
};

/// Cycles from an instruction with fixed latency to one that reads its result: specs/sass/latencies.json for
/// one chip.
class LatencyTable {
 public:
  explicit LatencyTable(int chip);

  /// How many cycles after the writer the reader may be issued; nothing if it is not known.
  std::optional<int> cycles(const Access& writer, const Access& reader) const;
  /// Whether the chip has this result at a known time: some reader's cycles are known.
  bool has(const Access& writer) const;
  /// How many cycles after the writer any reader may be issued; 0 if that is not known.
  int longest(const Access& writer) const;
  /// The greatest of all.
  int longest() const { return longest_; }

 private:
  using Rows = std::map<std::pair<std::string, std::string>, int>;  ///< by writer and reader
  std::map<RegisterFile, Rows> files_;
  int longest_ = 0;
};

}  // namespace ptxloom::sass
