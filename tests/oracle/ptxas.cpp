// SPDX-License-Identifier: Apache-2.0
#include "oracle/ptxas.hpp"
#include "spec/cell.hpp"
#include "support/folders.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace ptxloom::oracle {
namespace {

constexpr std::size_t kBatch = 4000;  // lines of one file
// Malformed lines can make ptxas take gigabytes, or not come back: kilobytes it is given, and seconds for any
// file and for each 1,000 of its lines.
constexpr int kMemory = 4'000'000, kSeconds = 3, kSecondsForLines = 15;
constexpr std::size_t kSlow = 32;  // lines that are not searched for the one that it does not come back from

std::string output_of(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 65536> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), n);
  ::pclose(pipe);
  return output;
}

/// "ptxas FILE, line 12; error   : message": the line and the message, or line 0.
std::pair<int, std::string> parse_message(const std::string& text) {
  const std::size_t line = text.find(", line ");
  const std::size_t mark = text.find(" : ");
  if (line == text.npos || mark == text.npos) return {};
  if (text.starts_with("ptxas <"))
    return {};  // a line of what it expands an instruction into, not of the file
  if (text.find("error", line) == text.npos && text.find("fatal", line) == text.npos) return {};
  return {std::atoi(text.c_str() + line + 7), text.substr(mark + 3)};
}

/// How many lines a run that a signal ended says nothing of: one that crashes it is looked for, one that
/// takes all its seconds only among many. 0: no signal ended it.
std::size_t lost(std::string_view output) {
  constexpr int kSignal = 128, kKilled = kSignal + 9, kOutOfTime = kSignal + 24, kLastSignal = kSignal + 64;
  const std::size_t at = output.rfind("rc=");
  const int code = at == output.npos ? 0 : std::atoi(output.data() + at + 3);
  if (code == kKilled || code == kOutOfTime) return kSlow;
  return code > kSignal && code <= kLastSignal ? 1 : 0;  // it ends with 255 where it refuses a file
}

/// What ptxas refused: positions among the lines, a class of registers, or something else.
struct Refusals {
  std::vector<std::pair<int, std::string>> lines;
  std::string registers, elsewhere;
};

Refusals read_refusals(const std::string& output, const Source& source) {
  Refusals refusals;
  std::istringstream messages(output);
  for (std::string text; std::getline(messages, text);) {
    auto [number, message] = parse_message(text);
    if (const int position = source.position(number); position >= 0) {
      refusals.lines.emplace_back(position, std::move(message));
    } else if (!text.starts_with("rc=") && refusals.elsewhere.empty()) {
      refusals.elsewhere = text;
      refusals.registers = source.registers_at(number);
    }
  }
  return refusals;
}

/// The last two words of an opcode, which say what is moved or computed.
std::string end_of_opcode(const std::string& line) {
  const std::string opcode = line.substr(0, line.find_first_of(" ;"));
  const std::size_t last = opcode.rfind('.');
  return last == 0 || last == opcode.npos ? opcode : opcode.substr(opcode.rfind('.', last - 1) + 1);
}

/// Whether a refusal is about what ptxas made of the line: it names an instruction that does not stand there,
/// or a function of its own.
bool names_its_own(std::string_view message, std::string_view line) {
  constexpr std::string_view kName = "instruction '";
  for (const char* own : {"__cuda", "formal parameter", "Sink '_' not allowed as a source operand",
                          "scalar-vector mov instruction"}) {
    if (message.find(own) != message.npos) return true;
  }
  const std::size_t at = message.find(kName);
  if (at == message.npos) return false;
  const std::string_view rest = message.substr(at + kName.size());
  const std::string_view name = rest.substr(0, rest.find_first_of("'."));
  const auto words = spec::split(line.substr(0, line.find_first_of(" ;")), '.');
  return std::find(words.begin(), words.end(), name) == words.end();
}

Reason reason_of(std::string_view message, std::string_view line) {
  if (message.starts_with("Parsing error")) return Reason::unreadable;
  if (names_its_own(message, line)) return Reason::expansion;
  // What ptxas says of the line itself does not depend on the target in these.
  for (const char* about : {"Arguments mismatch", "Vector with elements of different types"}) {
    if (message.find(about) != message.npos) return Reason::operands;
  }
  return Reason::other;
}

}  // namespace

std::string version_of(const std::filesystem::path& ptxas) {
  return output_of("'" + ptxas.string() + "' --version 2>&1");
}

std::optional<Version> release_of(const std::string& version) {
  constexpr std::string_view kName = "release ";
  const std::size_t at = version.find(kName);
  if (at == version.npos) return std::nullopt;
  const std::size_t begin = at + kName.size();
  return parse_version(std::string_view(version).substr(begin, version.find(',', begin) - begin));
}

namespace {

std::filesystem::path in_toolkit(const std::string& release) {
  return std::filesystem::path(test::build_folder()) / "toolkits" / release / "nvidia/cu13/bin/ptxas";
}

/// The newest release whose ptxas is in build/toolkits; "" if there is none.
std::string newest_toolkit() {
  std::optional<Version> newest;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(test::build_folder() + "/toolkits", none)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789.") != name.npos || ::access(in_toolkit(name).c_str(), X_OK) != 0)
      continue;
    if (const Version version = parse_version(name); !newest || version > *newest) newest = version;
  }
  return newest ? to_string(*newest) : std::string();
}

}  // namespace

std::optional<std::filesystem::path> find_ptxas(const std::string& toolkit) {
  const std::string release = toolkit == "newest" ? newest_toolkit() : toolkit;
  if (!release.empty()) {
    const std::filesystem::path ptxas = in_toolkit(release);
    if (::access(ptxas.c_str(), X_OK) == 0) return ptxas;
    const auto installed = find_ptxas();
    return installed && release_of(version_of(*installed)) == parse_version(release) ? installed
                                                                                     : std::nullopt;
  }
  std::vector<std::filesystem::path> places;
  if (const char* given = std::getenv("PTXLOOM_PTXAS")) places.emplace_back(given);
  std::istringstream path(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    places.emplace_back(std::filesystem::path(folder) / "ptxas");
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* folder = std::getenv(home))
      places.emplace_back(std::filesystem::path(folder) / "bin/ptxas");
  }
  places.emplace_back(test::build_folder() + "/cuda/bin/ptxas");  // where ./dev puts it
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

std::string Ptxas::run(const Source& source, const Place& place, Depth depth) {
  std::ofstream(file_) << source.text();
  const std::size_t seconds = kSeconds + kSecondsForLines * source.lines() / 1000;
  // For a compute_ architecture ptxas stops before code generation.
  const std::string arch = depth == Depth::code ? std::string(place.target.name())
                                                : "compute_" + std::string(place.target.name().substr(3));
  const std::string command =
      "ulimit -v " + std::to_string(kMemory) + "; ulimit -t " + std::to_string(seconds) + "; ulimit -c 0; '" +
      program_.string() + "' -arch=" + arch + " -w '" + file_.string() + "' -o /dev/null 2>&1; echo rc=$?";
  return output_of(command);
}

bool Ptxas::is_suspicious(const std::string& line) const { return suspicious_.contains(end_of_opcode(line)); }

void Ptxas::judge_part(std::span<const std::string> lines, std::vector<std::size_t> live, const Place& place,
                       Depth depth, std::vector<Verdict>& verdicts) {
  while (!live.empty()) {
    const Source source(lines, live, place);
    const std::string output = run(source, place, depth);
    if (output.ends_with("rc=0\n")) return;
    const Refusals refusals = read_refusals(output, source);
    std::set<std::size_t> refused;
    const auto refuse = [&](std::size_t index, const std::string& message) {
      refused.insert(index);
      if (message.find("Internal compiler error") != message.npos) {  // no verdict
        verdicts[index].judged = false;
        crashing_.insert(lines[index]);
        return;
      }
      if (verdicts[index].accepted)
        verdicts[index] = {.accepted = false, .message = message, .reason = reason_of(message, lines[index])};
    };
    for (const auto& [position, message] : refusals.lines)
      refuse(live[static_cast<std::size_t>(position)], message);
    if (!refusals.registers.empty()) {  // this version cannot declare such registers (.b128)
      for (std::size_t index : live) {
        if (lines[index].find(refusals.registers + "_") != std::string::npos)
          refuse(index, refusals.elsewhere);
      }
    }
    if (!refused.empty()) {  // one error may hide others: judge the rest again
      std::erase_if(live, [&](std::size_t index) { return refused.contains(index); });
      continue;
    }
    if (live.size() <= lost(output)) {
      for (std::size_t index : live) {
        verdicts[index].judged = false;
        crashing_.insert(lines[index]);
      }
      if (live.size() == 1) suspicious_.insert(end_of_opcode(lines[live.front()]));
      return;
    }
    if (live.size() == 1) return refuse(live.front(), refusals.elsewhere);
    // Refused without naming a line (at code generation, say), or crashed: halve, or set aside what looks
    // like a line that crashed it before.
    auto middle = live.begin() + static_cast<std::ptrdiff_t>(live.size() / 2);
    if (lost(output) > 0) {
      const auto suspicious = std::stable_partition(
          live.begin(), live.end(), [&](std::size_t index) { return !is_suspicious(lines[index]); });
      if (suspicious != live.begin() && suspicious != live.end()) middle = suspicious;
    }
    judge_part(lines, {live.begin(), middle}, place, depth, verdicts);
    live.erase(live.begin(), middle);
  }
}

std::vector<Verdict> Ptxas::judge(std::span<const std::string> lines, const Place& place, Depth depth) {
  std::vector<Verdict> verdicts(lines.size());
  for (std::size_t begin = 0; begin < lines.size(); begin += kBatch) {
    std::vector<std::size_t> live;
    for (std::size_t i = begin; i < std::min(begin + kBatch, lines.size()); ++i) {
      verdicts[i].judged = !crashing_.contains(lines[i]);
      if (verdicts[i].judged) live.push_back(i);
    }
    judge_part(lines, std::move(live), place, depth, verdicts);
  }
  return verdicts;
}

}  // namespace ptxloom::oracle
