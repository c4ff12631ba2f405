// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/jit.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/log.hpp"
#include "ptxloom/plan.hpp"

// What tuning found out, kept: the fastest configuration of a problem on a kind of device, one JSON object a
// line (docs/json/record.json), a file for each device kind and host.
namespace [[gnu::visibility("default")]] ptxloom {

/// "0.1.0"
std::string_view library_version();

/// What a measurement holds for: another device, or another clock of its memory, is another matter.
struct DeviceKey {
  std::string name;  ///< "NVIDIA H200"
  std::string sm;    ///< "sm_90a"
  int sms = 0;
  int memory_mhz = 0;
  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};
DeviceKey device_key(const DeviceInfo& info);

/// The fastest configuration found for a problem on a device.
struct Record {
  DeviceKey device;
  std::string kernel_template;
  Settings problem, config;
  double time_us = 0;  ///< median of one launch
  double spread = 0;   ///< between the quartiles, as a part of the median
  std::string library = std::string(library_version());
  std::string linker;  ///< "13.0"
  std::string flags;   ///< of the linker
  std::optional<Resources> resources;
  std::uint64_t evaluations = 0;
};
std::string to_json(const Record& record);
/// Throws Error(usage, "bad-record") that says what is wrong with the line.
Record record_from_json(std::string_view line);

/// A folder of records. Reading merges all its files; a line that cannot be read is passed over with a
/// warning. Writing replaces the file of this device kind and host as a whole, under a lock. Thread-safe.
class Records {
 public:
  explicit Records(std::filesystem::path folder, Log log = {});
  /// In PTXLOOM_RECORDS, else XDG_DATA_HOME/ptxloom/records, else ~/.local/share/ptxloom/records.
  static Records from_environment(Log log = {});

  const std::filesystem::path& folder() const { return folder_; }
  std::vector<Record> all() const;
  /// The fastest of this library version; nullopt if there is none.
  std::optional<Record> find(const DeviceKey& device, std::string_view kernel_template,
                             const Settings& problem) const;
  /// Those of other versions, fastest first: to be verified and measured again before anyone relies on them.
  std::vector<Record> hints(const DeviceKey& device, std::string_view kernel_template,
                            const Settings& problem) const;
  /// Keeps a record, in place of one of the same device, problem and version that is not faster. Throws
  /// Error(usage, "unwritable-file").
  void add(const Record& record) const;
  /// Adds the records of a file; returns how many it had.
  std::size_t merge(const std::filesystem::path& file) const;

 private:
  std::filesystem::path folder_;
  Log log_;
};

}  // namespace ptxloom
