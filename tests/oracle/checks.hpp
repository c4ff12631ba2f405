// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "oracle/ptxas.hpp"
#include "ptxloom/specs.hpp"
#include "spec/database.hpp"

// The three questions that ptxas is asked about the specs.
namespace ptxloom::oracle {

struct Options {
  bool all = false;       // every variant, version and neighbour; else a sample of large forms
  unsigned seed = 0;      // of the sample
  std::string form;       // only this one
  std::size_t shown = 8;  // disagreements printed of each form
};

struct Outcome {
  std::size_t cases = 0;
  std::vector<std::string> disagreements;
  std::size_t foreign = 0;  // words that ptxas does not look at, refused by us on purpose

  void add(Outcome other);
};

struct Question {
  const Specs& specs;
  const spec::FormData& form;
  const Options& options;
  Ptxas& ptxas;
  std::mt19937& random;
};

/// Every variant assembles with each target and PTX version that has it, and with no other.
Outcome check_legality(const Question& question);

/// What stands next to a variant (another word of the same class, a word left out, another operand) and is no
/// variant itself, is refused on every target.
Outcome check_neighbours(const Question& question);

/// Modifiers in another order that the specs read are taken by ptxas too.
Outcome check_order(const Question& question);

/// Instructions found in CUDA's headers, with ptxas's verdict on 15 targets: the specs say the same of each
/// opcode.
Outcome check_real_uses(const Specs& specs, const std::filesystem::path& file);

/// Counts of variants by form against the golden file; with `bless` the file is written anew.
Outcome check_counts(const Specs& specs, const std::filesystem::path& golden, bool bless);

Surroundings surroundings(const spec::FormData& form);

}  // namespace ptxloom::oracle
