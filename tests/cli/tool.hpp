// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include "support/temporary_folder.hpp"

namespace ptxloom::test {

struct ToolResult {
  int code = -1;  ///< of exit; 128 + the signal that killed it
  std::string out, err;
};

/// Runs the tool with these arguments; `environment` is added to a clean one with a cache and records of its
/// own.
ToolResult run_tool(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment = {},
                    const std::string& input = {});

/// Why a value is not what the schema says; empty if it is. Knows the words that docs/json uses, and fails on
/// others.
std::string check_schema(const nlohmann::json& value, const nlohmann::json& schema,
                         const std::string& where = "$");
/// A schema of docs/json.
nlohmann::json read_schema(const std::string& name);

void write_text(const std::filesystem::path& file, const std::string& text);
std::string read_text(const std::filesystem::path& file);

}  // namespace ptxloom::test
