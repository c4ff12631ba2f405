// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/checks.hpp"
#include "oracle/records.hpp"

// All forms against ptxas, in pieces that threads share.
namespace ptxloom::oracle {

struct FormsOptions {
  Options options;
  std::string form;                       // only this one
  bool tenth = false;                     // a tenth of the forms, drawn by the seed
  bool differing = false;                 // those that are not the same in all releases of CUDA
  std::optional<Version> since = {};      // those that need this PTX version or a later one
  std::optional<Version> assembler = {};  // release of CUDA that ptxas is of
  Memory memory = {};
  unsigned jobs = 1;
  std::filesystem::path foreign, unread, stricter;  // lists of words by form
  std::filesystem::path records;                    // where outcomes are kept; none if empty
};

/// The forms that the options choose, in the order of the specs.
std::vector<const spec::FormData*> chosen_forms(const Specs& specs, const FormsOptions& options);

class FormsCheck {
 public:
  FormsCheck(std::shared_ptr<const Specs> specs, FormsOptions options, std::filesystem::path ptxas);

  Outcome run();

  /// The list of foreign words, with those found by `run` instead of those read.
  void bless() const {
    if (options_.assembler) found_.bless(options_.foreign, *options_.assembler);
  }

 private:
  /// What one thread does at a time: some variants of a form, or its neighbours, or both.
  struct Piece {
    const spec::FormData* form;
    std::size_t begin = 0, end = 0;  // of its variants
    bool neighbours = false;
    bool drawn = false;  // each variant at two places

    std::string name() const;
  };

  std::vector<Piece> pieces() const;
  void work();
  Outcome check(const Piece& piece, const Ours& ours) const;
  void note(const Piece& piece, Outcome outcome);

  std::shared_ptr<const Specs> specs_;
  FormsOptions options_;
  std::filesystem::path ptxas_;
  ForeignWords foreign_, unread_, stricter_, found_;
  Records records_;
  std::vector<Piece> open_;  // nobody has taken them yet; the last is next
  std::mutex mutex_;
  Outcome total_;
};

/// A line on what was checked, and the first disagreements.
void print(std::string_view what, const Outcome& outcome, double seconds, std::size_t shown);

}  // namespace ptxloom::oracle
