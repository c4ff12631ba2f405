// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "oracle/checks.hpp"

// What pieces of a long run came to, kept in a file of JSON lines, so that the run may be stopped and taken
// up again. A file belongs to one revision of specs/ and src/, and may have records of several assemblers.
namespace ptxloom::oracle {

class Records {
 public:
  /// Records without a file, which keep nothing.
  Records() = default;
  /// Reads what the file has of this assembler, if there is one; the last record of a piece counts, and a
  /// line cut off is none.
  Records(const std::filesystem::path& file, std::string assembler);

  /// The outcome of a piece that agreed, or null: a piece that did not is tried again.
  const Outcome* find(std::string_view piece) const;
  void add(std::string_view piece, unsigned seed, const Outcome& outcome);

 private:
  std::ofstream out_;
  std::string assembler_;
  std::map<std::string, Outcome, std::less<>> outcomes_;
};

}  // namespace ptxloom::oracle
