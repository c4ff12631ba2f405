// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oracle/source.hpp"
#include "ptxloom/specs.hpp"

// Our own verdict on single lines: what `ptxloom check` says of them, read from the text that ptxas reads.
namespace ptxloom::oracle {

class Ours {
 public:
  explicit Ours(std::shared_ptr<const Specs> specs) : specs_(std::move(specs)) {}

  /// One verdict a line; throws std::runtime_error where the declarations around the lines are not read.
  std::vector<Verdict> judge(std::span<const std::string> lines, const Place& place) const;

 private:
  /// Notes the lines that reading and checking refuse; false if there is none.
  bool refuse(std::span<const std::string> lines, std::span<const std::size_t> live, const Place& place,
              std::vector<Verdict>& verdicts) const;

  std::shared_ptr<const Specs> specs_;
};

}  // namespace ptxloom::oracle
