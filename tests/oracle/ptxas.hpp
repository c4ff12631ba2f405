// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "oracle/source.hpp"

// ptxas as a judge of single lines: thousands of lines go into one file, and its messages name those it
// refuses.
namespace ptxloom::oracle {

/// PTXLOOM_PTXAS, else the one on PATH or in an installed toolkit; nullopt if there is none. With `toolkit`,
/// that which `./dev oracle --toolkit` put into build/toolkits: of a release, "13.5", or of the "newest" that
/// is there. Where that is missing, the installed one counts if it is of this release, or if any will do.
std::optional<std::filesystem::path> find_ptxas(const std::string& toolkit = {});

/// What `ptxas --version` prints.
std::string version_of(const std::filesystem::path& ptxas);

/// The release of CUDA in it; nullopt if it names none.
std::optional<Version> release_of(const std::string& version);

/// How far ptxas goes with a line.
enum class Depth {
  check,  // reads and checks it
  code,   // generates code too, which refuses a little more
};

class Ptxas {
 public:
  explicit Ptxas(std::filesystem::path program);
  ~Ptxas();
  Ptxas(const Ptxas&) = delete;
  Ptxas& operator=(const Ptxas&) = delete;

  /// One verdict a line. Lines that make it crash are found by halving, and are not judged, nor given to it
  /// again; lines whose opcodes end as theirs (`.v8.b8`) are set apart as soon as one crashes it.
  std::vector<Verdict> judge(std::span<const std::string> lines, const Place& place,
                             Depth depth = Depth::check);

 private:
  std::string run(const Source& source, const Place& place, Depth depth);
  bool is_suspicious(const std::string& line) const;
  void judge_part(std::span<const std::string> lines, std::vector<std::size_t> live, const Place& place,
                  Depth depth, std::vector<Verdict>& verdicts);

  std::filesystem::path program_, file_;
  std::unordered_set<std::string> crashing_;    // lines
  std::unordered_set<std::string> suspicious_;  // ends of their opcodes
};

}  // namespace ptxloom::oracle
