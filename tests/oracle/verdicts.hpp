// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oracle/ptxas.hpp"

// What one version of ptxas says of a line at a place is a fact, so it is kept: in verdicts.bin, by the hash
// of the line and of all that stands around it. The file opens with its own hash and with what that ptxas
// says of its version; it serves no other. A section of the file has the lines of one mnemonic, so that a
// change of a form changes little of it, and in a section each list of answers by place stands once.
namespace ptxloom::oracle {

/// A place as the file names it: "sm_90a 9.0 code".
std::string name_of(const Place& place, Depth depth);

/// The hash of what Source writes around lines; it depends on no line, target or version.
std::uint64_t context_of(const Surroundings& around);

class Verdicts {
 public:
  /// Reads the file; throws std::runtime_error where it is damaged. Without the file there are no verdicts.
  explicit Verdicts(const std::filesystem::path& file);

  /// The output of `ptxas --version` that the verdicts are of.
  const std::string& assembler() const { return assembler_; }
  std::size_t lines() const;

  /// The number of a place, for `find`; nullopt where nothing is known of it.
  std::optional<std::uint16_t> place(const std::string& name) const;
  /// The verdict, without the message; nullopt if it is not known.
  std::optional<Verdict> find(const std::string& line, std::uint64_t context, std::uint16_t place) const;

 private:
  using Answers = std::vector<std::pair<std::uint16_t, std::uint8_t>>;  // by place, ascending
  struct Section {
    std::vector<Answers> lists;
    std::unordered_map<std::uint64_t, std::uint32_t> lines;  // the key of a line to its list
  };

  std::string assembler_;
  std::vector<std::string> places_;
  std::map<std::string, Section, std::less<>> sections_;
};

/// Collects verdicts and writes them. Threads may add at the same time; the file does not depend on the
/// order.
class VerdictsWriter {
 public:
  void add(std::span<const std::string> lines, std::span<const Verdict> verdicts, const Place& place,
           Depth depth);
  void write(const std::filesystem::path& file, const std::string& assembler) const;

 private:
  using Answers = std::map<std::uint16_t, std::uint8_t>;  // by the number of a place, in the order of arrival

  std::mutex mutex_;
  std::map<std::string, std::uint16_t> places_;
  std::map<std::string, std::map<std::uint64_t, Answers>, std::less<>> sections_;
};

}  // namespace ptxloom::oracle
