// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "ptxloom/tune.hpp"

namespace ptxloom {
namespace {

namespace fs = std::filesystem;

/// A line of a file, as it stands and as it reads; what reads as nothing is kept all the same.
struct Line {
  std::string text;
  std::optional<Record> record;
};

std::vector<Line> read_lines(const fs::path& file, const Log& log) {
  std::vector<Line> lines;
  const std::string content = read_file(file);
  std::string_view rest = content;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    if (text.empty()) continue;
    Line line{.text = std::string(text), .record = std::nullopt};
    try {
      line.record = record_from_json(text);
    } catch (const Error& error) {
      log(LogLevel::warning, fmt::format("{}:{}: passed over: {}", file.string(), number, error.what()));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

bool same_task(const Record& a, const Record& b) {
  return a.device == b.device && a.kernel_template == b.kernel_template && a.problem == b.problem;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "host";
}

/// "NVIDIA_H200-myhost.jsonl"
std::string file_name(const DeviceKey& device) {
  std::string name = device.name + "-" + host_name();
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.'; };
  std::ranges::replace_if(name, [&](char c) { return !plain(static_cast<unsigned char>(c)); }, '_');
  return name + ".jsonl";
}

/// Holds off other writers of the folder while it lives.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : file_(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (!file_ || ::flock(file_.get(), LOCK_EX) != 0) {
      throw Error(ErrorKind::usage, "unwritable-file",
                  fmt::format("cannot lock {}: {}", folder.string(), std::generic_category().message(errno)),
                  "name a folder you can write to in PTXLOOM_RECORDS");
    }
  }

 private:
  FileDescriptor file_;  // closing it unlocks
};

fs::path default_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string folder = variable("PTXLOOM_RECORDS"); !folder.empty()) return folder;
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty())
    return fs::path(data) / "ptxloom/records";
  const std::string home = variable("HOME");
  return fs::path(home.empty() ? "." : home) / ".local/share/ptxloom/records";
}

}  // namespace

Records::Records(std::filesystem::path folder, Log log) : folder_(std::move(folder)), log_(std::move(log)) {}

Records Records::from_environment(Log log) { return Records(default_folder(), std::move(log)); }

std::vector<Record> Records::all() const {
  std::vector<Record> records;
  std::error_code none;  // no folder is no records
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, none)) {
    if (entry.path().extension() != ".jsonl") continue;
    try {
      for (Line& line : read_lines(entry.path(), log_)) {
        if (line.record) records.push_back(std::move(*line.record));
      }
    } catch (const Error& error) {
      log_(LogLevel::warning, error.what());
    }
  }
  std::ranges::stable_sort(records, {}, &Record::time_us);
  return records;
}

std::optional<Record> Records::find(const DeviceKey& device, std::string_view kernel_template,
                                    const Settings& problem) const {
  for (Record& record : all()) {
    if (record.device == device && record.kernel_template == kernel_template && record.problem == problem &&
        record.library == library_version()) {
      return std::move(record);
    }
  }
  return std::nullopt;
}

std::vector<Record> Records::hints(const DeviceKey& device, std::string_view kernel_template,
                                   const Settings& problem) const {
  std::vector<Record> records = all();
  std::erase_if(records, [&](const Record& record) {
    return record.device != device || record.kernel_template != kernel_template ||
           record.problem != problem || record.library == library_version();
  });
  return records;
}

void Records::add(const Record& record) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) {
    throw Error(ErrorKind::usage, "unwritable-file",
                fmt::format("cannot make the folder {}: {}", folder_.string(), failed.message()),
                "name a folder you can write to in PTXLOOM_RECORDS");
  }
  const FolderLock lock(folder_);
  const fs::path file = folder_ / file_name(record.device);
  std::vector<Line> lines = fs::exists(file) ? read_lines(file, log_) : std::vector<Line>();
  const auto replaced = [&](const Line& line) {
    return line.record && same_task(*line.record, record) && line.record->library == record.library;
  };
  const auto faster = [&](const Line& line) {
    return replaced(line) && line.record->time_us < record.time_us;
  };
  if (std::ranges::any_of(lines, faster)) return;
  std::erase_if(lines, replaced);
  lines.push_back({.text = to_json(record), .record = std::nullopt});
  std::string content;
  for (const Line& line : lines) content += line.text + '\n';
  write_file(file, content);
}

std::size_t Records::merge(const std::filesystem::path& file) const {
  std::size_t count = 0;
  for (const Line& line : read_lines(file, log_)) {
    if (!line.record) continue;
    add(*line.record);
    ++count;
  }
  return count;
}

}  // namespace ptxloom
