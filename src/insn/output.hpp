// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

// Records as people and programs read them. A record is a line of a record file (docs/json/insn_record.json).
namespace ptxloom::insn {

/// The records of files whose form is `selection` or whose opcode begins with it as with words; empty: all.
/// If a row was recorded several times for a device and driver, the last record counts. Throws Error(usage,
/// "unreadable-file"), and "bad-records" if there is none.
std::vector<std::string> read_records(std::span<const std::filesystem::path> files,
                                      std::string_view selection);

/// Rows of a table, the first of which is its head.
std::vector<std::vector<std::string>> table_of(std::span<const std::string> records);
/// One JSON object, docs/json/insn.json.
std::string json_of(std::span<const std::string> records);
/// One page that needs nothing else: a plot, and a table that can be searched.
std::string html_of(std::span<const std::string> records);

}  // namespace ptxloom::insn
