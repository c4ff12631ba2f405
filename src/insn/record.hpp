// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "insn/measure.hpp"

// A file of records, one JSON object a line. It is only appended to, so that a run that was stopped goes on
// from there, and files of several chips can be put together.
namespace ptxloom::insn {

/// Where a record comes from.
struct Origin {
  std::string device;    ///< "NVIDIA H200"
  std::string target;    ///< "sm_90a"
  int driver = 0;        ///< API version of the driver: 13000
  std::string linker;    ///< version of nvJitLink
  std::string revision;  ///< of the kernels: a hash of their PTX
};

class RecordFile {
 public:
  /// Reads what the file has. Lines that cannot be read are skipped and counted. Throws Error(usage,
  /// "unwritable-file").
  RecordFile(std::filesystem::path file, Origin origin);

  /// Whether the same row, device, driver, linker and revision is recorded.
  bool has(const std::string& opcode, const std::string& form, const std::string& data,
           const std::string& revision) const;
  /// Its line; empty if there is none.
  std::string line(const Measured& what, const std::string& revision) const;
  /// Throws Error(usage, "unwritable-file").
  void append(const Measured& measured, const std::string& revision);

  const std::filesystem::path& file() const { return file_; }
  int skipped() const { return skipped_; }

 private:
  std::string key(const std::string& opcode, const std::string& form, const std::string& data,
                  const std::string& revision) const;

  std::filesystem::path file_;
  Origin origin_;
  std::map<std::string, std::string> known_;  ///< lines by what they are of
  std::ofstream out_;
  int skipped_ = 0;
};

std::string to_json(const Measured& measured, const Origin& origin);

}  // namespace ptxloom::insn
