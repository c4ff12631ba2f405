// SPDX-License-Identifier: Apache-2.0
#include "oracle/ptxas.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace ptxloom::oracle {
namespace {

constexpr int kRegisters = 300;  // of each width; lines use fewer

/// The widths of the registers R<bits>_<i> that the lines name.
std::set<int> widths_of(std::span<const std::string> lines, std::span<const std::size_t> live) {
  std::set<int> widths;
  for (std::size_t index : live) {
    const std::string& line = lines[index];
    for (std::size_t at = line.find('R'); at != line.npos; at = line.find('R', at + 1)) {
      const int bits = std::atoi(line.c_str() + at + 1);
      if (bits > 0) widths.insert(bits);
    }
  }
  return widths;
}

/// "ptxas FILE, line 12; error   : message": the line and the message, or line 0.
std::pair<int, std::string> parse_message(const std::string& text) {
  const std::size_t line = text.find(", line ");
  const std::size_t mark = text.find(" : ");
  if (line == text.npos || mark == text.npos) return {};
  if (text.find("error", line) == text.npos && text.find("fatal", line) == text.npos) return {};
  return {std::atoi(text.c_str() + line + 7), text.substr(mark + 3)};
}

}  // namespace

std::optional<std::filesystem::path> find_ptxas() {
  std::vector<std::filesystem::path> places;
  if (const char* given = std::getenv("PTXLOOM_PTXAS")) places.emplace_back(given);
  std::istringstream path(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) places.emplace_back(std::filesystem::path(folder) / "ptxas");
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* folder = std::getenv(home)) places.emplace_back(std::filesystem::path(folder) / "bin/ptxas");
  }
  places.emplace_back(PTXLOOM_FETCHED_PTXAS);  // where ./dev puts it
  places.emplace_back("/usr/local/cuda/bin/ptxas");
  for (const auto& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return std::nullopt;
}

Ptxas::Ptxas(std::filesystem::path program) : program_(std::move(program)) {
  static std::atomic<int> count = 0;
  file_ = std::filesystem::temp_directory_path() /
          ("ptxloom_oracle_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + ".ptx");
}

Ptxas::~Ptxas() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

std::string Ptxas::run(const std::string& source, const Target& target) {
  std::ofstream(file_) << source;
  const std::string command = "'" + program_.string() + "' -arch=" + std::string(target.name()) + " -O0 -w '" +
                              file_.string() + "' -o /dev/null 2>&1; echo rc=$?";
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 65536> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) output.append(buffer.data(), n);
  ::pclose(pipe);
  return output;
}

void Ptxas::judge_part(std::span<const std::string> lines, std::vector<std::size_t> live, const Target& target,
                       Version version, const Surroundings& around, std::vector<Verdict>& verdicts) {
  while (!live.empty()) {
    std::string source = ".version " + to_string(version) + "\n.target " + std::string(target.name()) +
                         "\n.address_size 64\n" + around.module_decls + "\n.visible .entry k(.param .b64 kp) {\n" +
                         ".reg .pred P<" + std::to_string(kRegisters) + ">; ";
    for (int bits : widths_of(lines, live)) {
      const std::string width = std::to_string(bits);
      source += ".reg .b" + width + " R" + width + "_<" + std::to_string(kRegisters) + ">; ";
    }
    source += around.body_decls + "\n";
    const int first = 7;  // the line of the file where ours begin
    for (std::size_t index : live) source += lines[index] + "\n";
    source += "L0: ret;\n}\n";
    const std::string output = run(source, target);
    if (output.ends_with("rc=0\n")) return;

    std::set<std::size_t> refused;
    std::istringstream messages(output);
    std::string elsewhere;
    for (std::string text; std::getline(messages, text);) {
      const auto [number, message] = parse_message(text);
      if (number < first || number >= first + static_cast<int>(live.size())) {
        if (text.find("rc=") == text.npos && elsewhere.empty()) elsewhere = text;
        continue;
      }
      const std::size_t index = live[static_cast<std::size_t>(number - first)];
      refused.insert(index);
      if (verdicts[index].accepted) verdicts[index] = {.accepted = false, .message = message};
    }
    if (!refused.empty()) {  // one error may hide others: judge the rest again
      std::erase_if(live, [&](std::size_t index) { return refused.contains(index); });
      continue;
    }
    if (live.size() == 1) {
      verdicts[live.front()] = {.accepted = false, .message = elsewhere};
      return;
    }
    // Refused without naming a line (at code generation, say): halve.
    const auto middle = live.begin() + static_cast<std::ptrdiff_t>(live.size() / 2);
    judge_part(lines, {live.begin(), middle}, target, version, around, verdicts);
    live.erase(live.begin(), middle);
  }
}

std::vector<Verdict> Ptxas::judge(std::span<const std::string> lines, const Target& target, Version version,
                                  const Surroundings& around) {
  constexpr std::size_t kBatch = 4000;
  std::vector<Verdict> verdicts(lines.size());
  for (std::size_t begin = 0; begin < lines.size(); begin += kBatch) {
    std::vector<std::size_t> live;
    for (std::size_t i = begin; i < std::min(begin + kBatch, lines.size()); ++i) live.push_back(i);
    judge_part(lines, std::move(live), target, version, around, verdicts);
  }
  return verdicts;
}

}  // namespace ptxloom::oracle
