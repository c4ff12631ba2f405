// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/common/say.hpp"
#include "cli/common/table.hpp"
#include "ptxloom/jit.hpp"

namespace ptxloom::cli {
namespace {

/// The default cache; if it cannot be used, that is an error here, because this command is about it.
Cache open_cache() {
  Cache cache = Cache::from_environment(tool_log());
  if (!cache.enabled()) {
    throw Error(ErrorKind::usage, "cache-off", "the cache is turned off (PTXLOOM_CACHE_DIR=off)",
                "set PTXLOOM_CACHE_DIR to a folder");
  }
  if (std::optional<Diagnostic> problem = cache.problem()) {
    problem->severity = Severity::error;
    throw Error(ErrorKind::usage, {*problem});
  }
  return cache;
}

std::string date(std::int64_t seconds) {
  return seconds == 0
             ? "-"
             : fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

int stat() {
  const Cache cache = open_cache();
  const Cache::Stat stat = cache.stat();
  fmt::print("{}", format_table({{"folder", cache.folder().string()},
                                 {"entries", fmt::format("{}", stat.entries)},
                                 {"bytes", fmt::format("{}", stat.bytes)},
                                 {"oldest", date(stat.oldest)},
                                 {"newest", date(stat.newest)}}));
  return 0;
}

int verify() {
  const std::vector<Cache::BadEntry> bad = open_cache().verify();
  for (const Cache::BadEntry& entry : bad) fmt::print("{}: {}\n", entry.path.string(), entry.reason);
  say("{} damaged entries: each counts as a miss, and is replaced when it is next needed\n", bad.size());
  return bad.empty() ? 0 : 1;
}

int clear() {
  const std::uint64_t files = open_cache().clear();
  say("{} files removed\n", files);
  return 0;
}

void add_action(Tool& tool, CLI::App& cache, const std::string& name, const std::string& does,
                int (*action)()) {
  cache.add_subcommand(name, does)->callback([&tool, action] { tool.action = action; });
}

}  // namespace

void add_cache(Tool& tool) {
  CLI::App& cache = *tool.app.add_subcommand("cache", "show, check or clear the disk cache");
  cache.require_subcommand(1);
  add_action(tool, cache, "stat", "show the folder, entries, bytes and dates", stat);
  add_action(tool, cache, "verify", "check every entry; exit 1 if one is damaged", verify);
  add_action(tool, cache, "clear", "remove all entries", clear);
}

}  // namespace ptxloom::cli
