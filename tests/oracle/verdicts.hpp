// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oracle/ptxas.hpp"

// What one version of ptxas says of a line at a place is a fact, so it is kept: in verdicts.bin, by the hash
// of the line and of all that stands around it. The file opens with its own hash and with what each ptxas
// that it has verdicts of says of its version; they serve no other. A section of the file has the lines of
// one mnemonic, so that a change of a form changes little of it, and in a section each list of answers by
// place stands once. A place belongs to one assembler: "V13.0.88 sm_90a 9.0 code".
namespace ptxloom::oracle {

/// A place without the assembler: "sm_90a 9.0 code".
std::string name_of(const Place& place, Depth depth);

/// What names an assembler among others: "V13.0.88", or all of what it prints if that does not say it so.
std::string name_of_assembler(const std::string& version);

/// The hash of what Source writes around lines; it depends on no line, target or version.
std::uint64_t context_of(const Surroundings& around);

class Verdicts {
 public:
  /// Reads the file, for the assembler whose `ptxas --version` prints this; throws std::runtime_error where
  /// it is damaged. Without the file there are no verdicts.
  Verdicts(const std::filesystem::path& file, const std::string& assembler);

  /// Whether the file has verdicts of this very assembler.
  bool has_assembler() const;
  /// Those that it has verdicts on of this assembler.
  std::size_t lines() const;

  /// The number of a place of this assembler, for `find`; nullopt where nothing is known of it.
  std::optional<std::uint16_t> place(const std::string& name) const;
  /// The verdict, without the message; nullopt if it is not known.
  std::optional<Verdict> find(const std::string& line, std::uint64_t context, std::uint16_t place) const;

 private:
  friend class VerdictsWriter;

  using Answers = std::vector<std::pair<std::uint16_t, std::uint8_t>>;  // by place, ascending
  struct Section {
    std::vector<Answers> lists;
    std::unordered_map<std::uint64_t, std::uint32_t> lines;  // the key of a line to its list
  };

  std::string assembler_;                // the one asked for
  std::vector<std::string> assemblers_;  // of which the file has verdicts
  std::vector<std::string> places_;
  std::map<std::string, Section, std::less<>> sections_;
};

/// Collects verdicts of an assembler and writes them. Threads may add at the same time; the file does not
/// depend on the order.
class VerdictsWriter {
 public:
  /// What `ptxas --version` prints.
  explicit VerdictsWriter(std::string assembler) : assembler_(std::move(assembler)) {}

  /// Takes the verdicts of other releases from a file.
  void keep_others(const Verdicts& file);
  void add(std::span<const std::string> lines, std::span<const Verdict> verdicts, const Place& place,
           Depth depth);
  /// The verdict on a line that was asked about alone. It counts whatever was said of it beside others.
  void settle(const std::string& line, const Verdict& verdict, const Place& place, Depth depth);
  void write(const std::filesystem::path& file) const;

 private:
  using Answers = std::map<std::uint16_t, std::uint8_t>;  // by the number of a place, in the order of arrival

  std::uint16_t number_of(const std::string& place);

  std::string assembler_;
  std::vector<std::string> others_;
  std::mutex mutex_;
  std::map<std::string, std::uint16_t> places_;
  std::map<std::string, std::map<std::uint64_t, Answers>, std::less<>> sections_;
  std::set<std::pair<std::uint64_t, std::uint16_t>> settled_;  // keys of lines, places
};

}  // namespace ptxloom::oracle
