// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/jit.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/log.hpp"
#include "ptxloom/plan.hpp"

/// \file
/// Tuning records: the fastest known configuration of a problem on a kind of device. A record is one JSON
/// object on a line (docs/json/record.json); there is a file for each kind of device and host.
namespace [[gnu::visibility("default")]] ptxloom {

/// The version of the library that is linked: "0.1.0". version.hpp has that of the headers.
std::string_view library_version();

/// The kind of device that a measurement is valid for.
struct DeviceKey {
  std::string name;    ///< "NVIDIA H200"
  std::string sm;      ///< "sm_90a"
  int sms = 0;         ///< streaming multiprocessors
  int memory_mhz = 0;  ///< highest clock of the memory
  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};
/// The kind of a device.
DeviceKey device_key(const DeviceInfo& info);

/// The fastest configuration found for a problem on a device.
struct Record {
  DeviceKey device;                                      ///< kind of the device
  std::string kernel_template;                           ///< name of the template, or Tunable::name
  Settings problem;                                      ///< the problem
  Settings config;                                       ///< the configuration
  double time_us = 0;                                    ///< median of one launch, in microseconds
  double spread = 0;                                     ///< interquartile range over median
  std::string library = std::string(library_version());  ///< version of ptxloom
  std::string linker;                                    ///< version of nvJitLink: "13.0"
  std::string flags;                                     ///< the linker's options: "-O3"
  std::optional<Resources> resources;                    ///< of the kernel
  std::uint64_t evaluations = 0;                         ///< candidates that the search has measured
  /// The best of a search that had not ended. It is verified and timed, but not yet compared with the next
  /// best.
  bool provisional = false;
  std::string made = {};  ///< when, in UTC: "2026-11-23T16:38:40.125Z"; empty in records of older versions
};
/// The current time as Record::made has it.
std::string record_time();
/// The record as one line, without the newline.
std::string to_json(const Record& record);
/// The record of a line. Throws Error(usage, "bad-record") with what is wrong.
Record record_from_json(std::string_view line);

/// The parameters of a template, for its records: what they are called now, and were called before.
struct RecordParameters {
  std::set<std::string, std::less<>> names;                     ///< of problem and configuration
  std::map<std::string, std::string, std::less<>> former = {};  ///< the present name, by a former one
};

/// A folder of records. Reading merges all its files; a line that cannot be read is skipped with a warning.
/// Writing appends a line to the file of this kind of device and host, or replaces provisional records, under
/// a lock: concurrent writers lose nothing, and one that is killed loses at most its own line. For each
/// device, problem and version the fastest record counts; the result of a completed search replaces all
/// provisional records made before it. Thread-safe.
class Records {
 public:
  /// The folder is created when a record is added. Warnings go to `log`.
  explicit Records(std::filesystem::path folder, Log log = {});
  /// In PTXLOOM_RECORDS, else XDG_DATA_HOME/ptxloom/records, else ~/.local/share/ptxloom/records.
  static Records from_environment(Log log = {});

  const std::filesystem::path& folder() const { return folder_; }  ///< as given
  /// Tells the parameters of a template, from which on its records are read by their present names. Records
  /// with parameters that it does not have are ignored, with one warning for each file. `parameters` is
  /// called once, when a record of the template is read; nullopt: they are not known, and its records are
  /// read as they are. A second call for the same template has no effect.
  void know(std::string_view kernel_template,
            std::function<std::optional<RecordParameters>()> parameters) const;
  /// Whether know() was called for this template.
  bool knows(std::string_view kernel_template) const;
  /// The record that counts of each device, template, problem and library version, the fastest first.
  std::vector<Record> all() const;
  /// The record of this library version for a problem; nullopt if there is none.
  std::optional<Record> find(const DeviceKey& device, std::string_view kernel_template,
                             const Settings& problem) const;
  /// The record of this library version for the most similar problem: parameters that are not numbers are
  /// equal, and the ratios of numbers, which are mostly sizes, are as close to 1 as possible. Its
  /// configuration is a guess for this problem; its time says nothing.
  std::optional<Record> nearest(const DeviceKey& device, std::string_view kernel_template,
                                const Settings& problem) const;
  /// The records of other library versions, the fastest first. They must be verified and measured again
  /// before use.
  std::vector<Record> hints(const DeviceKey& device, std::string_view kernel_template,
                            const Settings& problem) const;
  /// Adds a record, unless another one of the same device, problem and version would still count. Throws
  /// Error(usage, "unwritable-file").
  void add(const Record& record) const;
  /// Throws Error(usage, "unwritable-file") if records of the device cannot be added.
  void check_writable(const DeviceKey& device) const;
  /// Adds the records of a file, which may have other lines too, and returns their number. Throws
  /// Error(usage, "bad-record") if it has lines but no record, and Error(usage, "unreadable-file" or
  /// "unwritable-file").
  std::size_t merge(const std::filesystem::path& file) const;

  /// Increases with each record that this object or a copy of it adds.
  std::uint64_t generation() const { return generation_->load(std::memory_order_relaxed); }

 private:
  std::filesystem::path folder_;
  Log log_;
  struct Known;
  std::shared_ptr<Known> known_;
  std::shared_ptr<std::atomic<std::uint64_t>> generation_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

/// The right to tune a problem on a kind of device, among the processes that share a folder of records. The
/// destructor gives it back, and so does the end of the process.
class Claim {
 public:
  /// Waits while another process has it, with a message in the log; nullopt if `stop` becomes true meanwhile.
  /// If the folder cannot be written to, the claim is granted, since no other process can share it.
  static std::optional<Claim> wait(const Records& records, const DeviceKey& device,
                                   std::string_view kernel_template, const Settings& problem, const Log& log,
                                   const std::atomic<bool>* stop = nullptr);
  /// Whether it waited: another process may have added a record meanwhile.
  bool waited() const { return waited_; }

 private:
  std::shared_ptr<void> lock_;
  bool waited_ = false;
};

}  // namespace ptxloom
