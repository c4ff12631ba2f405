// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
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
  /// The best so far of a search that had not ended: verified and timed, not yet compared with the next best.
  bool provisional = false;
  std::string made = {};  ///< when, UTC: "2026-11-23T16:38:40.125Z"; empty in records of older versions
};
/// Now, as Record::made has it.
std::string record_time();
std::string to_json(const Record& record);
/// Throws Error(usage, "bad-record") that says what is wrong with the line.
Record record_from_json(std::string_view line);

/// A folder of records. Reading merges all its files; a line that cannot be read is passed over with a
/// warning. Writing appends one line to the file of this device kind and host, or puts it in the place of
/// provisional ones, under a lock: writers lose nothing of each other, and one that is killed loses no more
/// than its own line. Of the records of one device, problem and version the fastest counts, except that what
/// a completed search has found stands for all provisional records made before. Thread-safe.
class Records {
 public:
  explicit Records(std::filesystem::path folder, Log log = {});
  /// In PTXLOOM_RECORDS, else XDG_DATA_HOME/ptxloom/records, else ~/.local/share/ptxloom/records.
  static Records from_environment(Log log = {});

  const std::filesystem::path& folder() const { return folder_; }
  /// The fastest of each device, template, problem and library version, fastest first.
  std::vector<Record> all() const;
  /// The fastest of this library version; nullopt if there is none.
  std::optional<Record> find(const DeviceKey& device, std::string_view kernel_template,
                             const Settings& problem) const;
  /// Of this library version and device, for another problem: words are the same where they are no numbers,
  /// and numbers, which are sizes mostly, are as near as there is by their ratio. Its configuration is a
  /// guess for this problem, and its time none at all.
  std::optional<Record> nearest(const DeviceKey& device, std::string_view kernel_template,
                                const Settings& problem) const;
  /// Those of other versions, fastest first: to be verified and measured again before anyone relies on them.
  std::vector<Record> hints(const DeviceKey& device, std::string_view kernel_template,
                            const Settings& problem) const;
  /// Keeps a record, unless another of the same device, problem and version counts all the same. Throws
  /// Error(usage, "unwritable-file").
  void add(const Record& record) const;
  /// Tries whether records of the device can be added. Throws Error(usage, "unwritable-file").
  void check_writable(const DeviceKey& device) const;
  /// Adds the records of a file, which may have other lines too; returns how many it had. Throws Error(usage,
  /// "bad-record") where it has lines and none of them is a record.
  std::size_t merge(const std::filesystem::path& file) const;

  /// Grows with each record that this object, or a copy of it, has added.
  std::uint64_t generation() const { return generation_->load(std::memory_order_relaxed); }

 private:
  std::filesystem::path folder_;
  Log log_;
  std::shared_ptr<std::atomic<std::uint64_t>> generation_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

/// The right to tune a problem on a kind of device, among the processes that share a records folder. Given
/// back when it goes, also by a process that is killed.
class Claim {
 public:
  /// Waits while another process has it, and says so in the log; nullopt where `stop` is set meanwhile.
  /// Where the folder cannot be written to there is nobody to share with, and the claim is given.
  static std::optional<Claim> wait(const Records& records, const DeviceKey& device,
                                   std::string_view kernel_template, const Settings& problem, const Log& log,
                                   const std::atomic<bool>* stop = nullptr);
  bool waited() const { return waited_; }  ///< somebody else has tuned meanwhile: look at the records again

 private:
  std::shared_ptr<void> lock_;
  bool waited_ = false;
};

}  // namespace ptxloom
