// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include "support/folders.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test {

/// The tool that was built.
inline std::string tool_path() { return build_folder() + "/ptxloom"; }

struct ToolResult {
  int code = -1;  ///< of exit; 128 + the signal that killed it
  std::string out, err;
};

/// Runs the tool with these arguments; `environment` is added to a clean one with a cache and records of its
/// own.
ToolResult run_tool(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment = {},
                    const std::string& input = {});

/// Where standard streams go instead of into the result: a file, or "closed".
struct Streams {
  std::string out = {}, err = {};  ///< empty: into the result
};
ToolResult run_tool_with(const Streams& streams, const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& environment = {});

/// The tool while it runs, at the other ends of its stdin and stdout; its stderr is ours. It is killed where
/// a test leaves it.
class RunningTool {
 public:
  explicit RunningTool(const std::vector<std::string>& arguments);
  RunningTool(const RunningTool&) = delete;
  RunningTool& operator=(const RunningTool&) = delete;
  ~RunningTool();

  pid_t pid() const { return pid_; }
  void write(const std::string& text) const;
  /// The next line of stdout, without its end; empty if none has come after half a minute.
  std::string read_line();
  /// Closes its stdin and waits for its end. `out` is what was not read.
  ToolResult finish();

 private:
  bool read_more(int milliseconds);

  TemporaryFolder scratch_;
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  std::string unread_;
};

/// A subcommand as it is used, and whether it has --json.
struct Use {
  std::vector<std::string> arguments;
  bool json = false;
};
/// Each subcommand, on files in the folder; each ends with exit code 0 on any machine, where there is
/// nvJitLink.
std::vector<Use> uses_of_all_subcommands(const std::filesystem::path& folder);

/// Why a value is not what the schema says; empty if it is. Knows the words that docs/json uses, and fails on
/// others.
std::string check_schema(const nlohmann::json& value, const nlohmann::json& schema,
                         const std::string& where = "$");
/// A schema of docs/json.
nlohmann::json read_schema(const std::string& name);

/// What the tool prints with --json, which must be given; it must succeed and print what the schema says.
nlohmann::json run_json(const std::vector<std::string>& arguments, const std::string& schema);

void write_text(const std::filesystem::path& file, const std::string& text);
std::string read_text(const std::filesystem::path& file);

}  // namespace ptxloom::test
