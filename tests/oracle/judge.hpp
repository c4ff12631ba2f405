// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "oracle/ptxas.hpp"
#include "oracle/verdicts.hpp"

// ptxas, and what is known of its verdicts. A question is some lines at a place. What is known is not asked
// again, but for one question in ten, drawn with a seed that follows from specs/: there ptxas must repeat
// itself.
namespace ptxloom::oracle {

struct Memory {
  const Verdicts* known = nullptr;    // of the very ptxas that is asked; none: everything is asked
  VerdictsWriter* learned = nullptr;  // takes every verdict that is used
  unsigned seed = 0;                  // of the questions that are asked again
  unsigned proven = 10;               // of so many questions one
};

/// Where verdicts came from, and what ptxas says otherwise now.
struct Recalled {
  std::size_t known = 0, asked = 0;
  std::size_t proven = 0;    // of the known ones
  std::size_t unproven = 0;  // ptxas crashed on it, and did not when it was learned
  std::vector<std::string> wrong = {};

  void add(Recalled other);
};

class Judge {
 public:
  Judge(std::filesystem::path ptxas, const Memory& memory) : ptxas_(std::move(ptxas)), memory_(memory) {}

  /// One verdict a line, as Ptxas::judge.
  std::vector<Verdict> judge(std::span<const std::string> lines, const Place& place,
                             Depth depth = Depth::check);

  /// What ptxas says now. What it is known to have said otherwise is noted as wrong.
  std::vector<Verdict> ask_again(std::span<const std::string> lines, const Place& place, Depth depth);

  const Recalled& recalled() const { return recalled_; }

 private:
  std::vector<Verdict> known(std::span<const std::string> lines, const Place& place, Depth depth) const;
  bool is_drawn(std::span<const std::string> lines, const Place& place, Depth depth) const;
  void prove(std::span<const std::string> lines, std::span<Verdict> verdicts, const Place& place,
             Depth depth);

  Ptxas ptxas_;
  Memory memory_;
  Recalled recalled_;
};

}  // namespace ptxloom::oracle
