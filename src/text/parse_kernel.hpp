// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ptxloom/ir.hpp"
#include "text/lexer.hpp"
#include "text/token_stream.hpp"

namespace ptxloom::text {

/// Collects diagnostics; after too many of them reading ends.
class Report {
 public:
  void add(Diagnostic diagnostic) { diagnostics_.push_back(std::move(diagnostic)); }
  bool full() const { return diagnostics_.size() >= kMost; }
  std::vector<Diagnostic> take() { return std::move(diagnostics_); }

 private:
  static constexpr std::size_t kMost = 200;
  std::vector<Diagnostic> diagnostics_;
};

/// What the statements of a kernel are read against.
struct Surroundings {
  const Specs& specs;
  std::optional<Target> target;  ///< none if the module's is unknown
  const std::unordered_set<std::string_view>& globals;
  const std::vector<Comment>& comments;
};

/// Reads an entry from its name to its closing brace. A statement that does not read is reported and left
/// out; a header that does not read throws SyntaxError.
void parse_kernel(TokenStream& in, const Surroundings& around, ir::Kernel& kernel, Report& report);

/// Skips a directive that carries no meaning for code: `.file`, `.loc`, `.section`, a `.pragma` outside of a
/// kernel. False for any other.
bool skip_debug(TokenStream& in);

/// Goes on after the statement that began at `start` and does not read: past its `;`, or past the block it
/// has, or to the `}` that closes what is around it.
void recover(TokenStream& in, std::size_t start);

}  // namespace ptxloom::text
