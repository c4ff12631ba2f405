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

constexpr int kFirstWidth = 7;  // the line of the file where register declarations begin

std::string source_of(std::span<const std::string> lines, std::span<const std::size_t> live,
                      const std::set<int>& widths, const Ptxas::Setting& setting) {
  const std::string count = "<" + std::to_string(kRegisters) + ">;\n";
  std::string source = ".version " + to_string(setting.version) + "\n.target " +
                       std::string(setting.target.name()) + "\n.address_size 64\n" +
                       setting.around.module_decls + "\n.visible .entry k(.param .b64 kp) {\n.reg .pred P" +
                       count;
  for (int bits : widths)
    source += ".reg .b" + std::to_string(bits) + " R" + std::to_string(bits) + "_" + count;
  source += setting.around.body_decls + "\n";
  for (std::size_t index : live) source += lines[index] + "\n";
  return source + "L0: ret;\n}\n";
}

/// What ptxas refused: positions among the lines, the position of a register width, or something else.
struct Refusals {
  std::vector<std::pair<int, std::string>> lines;
  int width = -1;
  std::string elsewhere;
};

Refusals read_refusals(const std::string& output, int widths, int lines) {
  Refusals refusals;
  const int first_line = kFirstWidth + widths + 1;
  std::istringstream messages(output);
  for (std::string text; std::getline(messages, text);) {
    auto [number, message] = parse_message(text);
    if (number >= first_line && number < first_line + lines) {
      refusals.lines.emplace_back(number - first_line, std::move(message));
    } else if (!text.starts_with("rc=") && refusals.elsewhere.empty()) {
      refusals.elsewhere = text;
      if (number >= kFirstWidth && number < kFirstWidth + widths) refusals.width = number - kFirstWidth;
    }
  }
  return refusals;
}

}  // namespace

std::optional<std::filesystem::path> find_ptxas() {
  std::vector<std::filesystem::path> places;
  if (const char* given = std::getenv("PTXLOOM_PTXAS")) places.emplace_back(given);
  std::istringstream path(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    places.emplace_back(std::filesystem::path(folder) / "ptxas");
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* folder = std::getenv(home))
      places.emplace_back(std::filesystem::path(folder) / "bin/ptxas");
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

std::string Ptxas::run(const std::string& source, const Setting& setting) {
  std::ofstream(file_) << source;
  // For a compute_ architecture ptxas stops before code generation.
  const std::string arch = setting.depth == Depth::code
                               ? std::string(setting.target.name())
                               : "compute_" + std::string(setting.target.name().substr(3));
  const std::string command = "'" + program_.string() + "' -arch=" + arch + " -w '" + file_.string() +
                              "' -o /dev/null 2>&1; echo rc=$?";
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 65536> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), n);
  ::pclose(pipe);
  return output;
}

void Ptxas::judge_part(std::span<const std::string> lines, std::vector<std::size_t> live,
                       const Setting& setting, std::vector<Verdict>& verdicts) {
  while (!live.empty()) {
    const std::set<int> widths = widths_of(lines, live);
    const std::string output = run(source_of(lines, live, widths, setting), setting);
    if (output.ends_with("rc=0\n")) return;
    const bool crashed = output.find("Segmentation fault") != output.npos;
    if (crashed && setting.depth == Depth::code) return;
    const Refusals refusals =
        read_refusals(output, static_cast<int>(widths.size()), static_cast<int>(live.size()));
    std::set<std::size_t> refused;
    for (const auto& [position, message] : refusals.lines) {
      const std::size_t index = live[static_cast<std::size_t>(position)];
      refused.insert(index);
      if (verdicts[index].accepted) verdicts[index] = {.accepted = false, .message = message};
    }
    if (refusals.width >= 0) {  // this version cannot declare such registers (.b128)
      const std::string prefix = "R" + std::to_string(*std::next(widths.begin(), refusals.width)) + "_";
      for (std::size_t index : live) {
        if (lines[index].find(prefix) == std::string::npos) continue;
        refused.insert(index);
        verdicts[index] = {.accepted = false, .message = refusals.elsewhere};
      }
    }
    if (!refused.empty()) {  // one error may hide others: judge the rest again
      std::erase_if(live, [&](std::size_t index) { return refused.contains(index); });
      continue;
    }
    if (live.size() == 1) {
      verdicts[live.front()] = {.accepted = false, .message = refusals.elsewhere};
      return;
    }
    // Refused without naming a line (at code generation, say): halve.
    const auto middle = live.begin() + static_cast<std::ptrdiff_t>(live.size() / 2);
    judge_part(lines, {live.begin(), middle}, setting, verdicts);
    live.erase(live.begin(), middle);
  }
}

std::vector<Verdict> Ptxas::judge(std::span<const std::string> lines, const Setting& setting) {
  constexpr std::size_t kBatch = 4000;
  std::vector<Verdict> verdicts(lines.size());
  for (std::size_t begin = 0; begin < lines.size(); begin += kBatch) {
    std::vector<std::size_t> live;
    for (std::size_t i = begin; i < std::min(begin + kBatch, lines.size()); ++i) live.push_back(i);
    judge_part(lines, std::move(live), setting, verdicts);
  }
  return verdicts;
}

}  // namespace ptxloom::oracle
