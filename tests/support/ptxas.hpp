// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptxloom/target.hpp"
#include "support/temporary_folder.hpp"

// NVIDIA's compilers as independent judges of PTX. Tests that need one are skipped without it.

struct CommandResult {
  int status = 0;
  std::string output;  ///< stdout and stderr
};

inline CommandResult run_command(const std::string& command) {
  std::FILE* const pipe = ::popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell for: " + command);
  CommandResult result;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    result.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

/// The path of "ptxas" or "nvcc": from the toolkit that ./dev chose, from PATH, or from the usual locations
/// of toolkits.
inline std::optional<std::string> find_cuda_tool(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::filesystem::path(home) / "bin");
  std::istringstream search(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(search, folder, ':');) folders.emplace_back(folder);
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::filesystem::path& folder : folders)
    if (std::filesystem::exists(folder / name)) return (folder / name).string();
  return std::nullopt;
}

/// The release of CUDA that ptxas is of; the oldest one that is known if it does not say it.
inline ptxloom::Version release_of_ptxas(const std::string& path) {
  static const std::regex kRelease(R"(release (\d+\.\d+))");
  const std::string output = run_command("'" + path + "' --version").output;
  std::smatch found;
  return std::regex_search(output, found, kRelease) ? ptxloom::parse_version(found[1].str())
                                                    : ptxloom::toolkits().front().cuda;
}

/// The targets that this ptxas has.
inline std::vector<ptxloom::TargetInfo> targets_of_ptxas(const std::string& path) {
  const ptxloom::ToolkitInfo* const toolkit = ptxloom::find_toolkit(release_of_ptxas(path));
  std::vector<ptxloom::TargetInfo> known(ptxloom::targets().begin(), ptxloom::targets().end());
  std::erase_if(known, [&](const ptxloom::TargetInfo& target) {
    return toolkit == nullptr || target.since > toolkit->ptx;
  });
  return known;
}

class Ptxas {
 public:
  explicit Ptxas(std::string path) : path_(std::move(path)) {}

  /// Assembles a module; `cubin` receives the result, if given.
  CommandResult assemble(const std::string& ptx, const std::string& target,
                         const std::filesystem::path& cubin = "/dev/null") const {
    const std::filesystem::path file = folder_ / "module.ptx";
    std::ofstream(file) << ptx;
    return run_command("ulimit -v 4000000; " + path_ + " -arch=" + target + " " + file.string() + " -o " +
                       cubin.string());
  }

  /// Which of these statements it refuses, each on its own line between `before` and `after`. ptxas stops at
  /// the first syntax error, so refused lines are removed and it runs again; if it names no line (it crashes
  /// on some), each half is tried separately.
  std::set<std::size_t> refused(const std::string& before, const std::vector<std::string>& lines,
                                const std::string& after, const std::string& target) const {
    std::vector<std::size_t> all(lines.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::set<std::size_t> bad;
    judge({before, lines, after, target}, std::move(all), bad);
    return bad;
  }

 private:
  struct Question {
    const std::string& before;
    const std::vector<std::string>& lines;
    const std::string &after, &target;
  };

  void judge(const Question& question, std::vector<std::size_t> live, std::set<std::size_t>& bad) const {
    while (!live.empty()) {
      std::string ptx = question.before;
      for (const std::size_t i : live) ptx += question.lines[i] + "\n";
      const CommandResult result = assemble(ptx + question.after, question.target);
      if (result.status == 0) return;
      const std::size_t known = bad.size();
      const auto first =
          static_cast<std::size_t>(std::count(question.before.begin(), question.before.end(), '\n')) + 1;
      static const std::regex kLine(R"(line (\d+); (?:error|fatal))");
      for (std::sregex_iterator at(result.output.begin(), result.output.end(), kLine), end; at != end; ++at)
        if (const std::size_t line = std::stoul((*at)[1]); line >= first && line - first < live.size())
          bad.insert(live[line - first]);
      if (bad.size() == known) return bisect(question, live, bad);
      std::erase_if(live, [&](std::size_t i) { return bad.contains(i); });
    }
  }

  void bisect(const Question& question, const std::vector<std::size_t>& live,
              std::set<std::size_t>& bad) const {
    if (live.size() == 1) {
      bad.insert(live[0]);
      return;
    }
    const auto middle = live.begin() + static_cast<std::ptrdiff_t>(live.size() / 2);
    judge(question, {live.begin(), middle}, bad);
    judge(question, {middle, live.end()}, bad);
  }

  std::string path_;
  TemporaryFolder folder_;
};
