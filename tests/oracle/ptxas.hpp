// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/target.hpp"

// ptxas as a judge of single lines: thousands of lines go into one file, and its messages name those it
// refuses.
namespace ptxloom::oracle {

/// PTXLOOM_PTXAS, else the one on PATH or in an installed toolkit; nullopt if there is none.
std::optional<std::filesystem::path> find_ptxas();

/// What the lines need around them.
struct Surroundings {
  std::string module_decls, body_decls;
};

/// How far ptxas goes with a line.
enum class Depth {
  check,  // reads and checks it
  code,   // generates code too, which refuses a little more
};

struct Verdict {
  bool accepted = true;
  std::string message;  // the first that names the line
};

class Ptxas {
 public:
  explicit Ptxas(std::filesystem::path program);
  ~Ptxas();
  Ptxas(const Ptxas&) = delete;
  Ptxas& operator=(const Ptxas&) = delete;

  struct Setting {
    const Target& target;
    Version version;
    const Surroundings& around;
    Depth depth = Depth::check;
  };
  /// One verdict a line; `lines` use registers P<i> and R<bits>_<i> and the label L0. Where it crashes
  /// while it generates code, the lines count as accepted.
  std::vector<Verdict> judge(std::span<const std::string> lines, const Setting& setting);

 private:
  std::string run(const std::string& source, const Setting& setting);
  void judge_part(std::span<const std::string> lines, std::vector<std::size_t> live, const Setting& setting,
                  std::vector<Verdict>& verdicts);

  std::filesystem::path program_, file_;
};

}  // namespace ptxloom::oracle
