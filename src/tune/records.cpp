// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "ptxloom/record.hpp"

namespace ptxloom {
namespace {

namespace fs = std::filesystem;

/// The records of a file; what cannot be read is said and passed over.
std::vector<Record> read_records(const fs::path& file, const Log& log) {
  std::vector<Record> records;
  const std::string content = read_file(file);
  std::string_view rest = content;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    if (text.empty()) continue;
    try {
      records.push_back(record_from_json(text));
    } catch (const Error& error) {
      log(LogLevel::warning, fmt::format("{}:{}: passed over: {}", file.string(), number, error.what()));
    }
  }
  return records;
}

/// What two records of one task and version have in common.
std::string key_of(const Record& record) {
  const DeviceKey& device = record.device;
  std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", device.name, device.sm, device.sms,
                                device.memory_mhz, record.kernel_template, record.library);
  for (const auto& [name, value] : record.problem) key += fmt::format("\n{}={}", name, value);
  return key;
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// How far apart two problems are: by the ratios of their sizes, and infinitely where another word differs.
double distance(const Settings& a, const Settings& b) {
  double sum = 0;
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return std::numeric_limits<double>::infinity();
    if (other->second == value) continue;
    const auto x = number_of(value), y = number_of(other->second);
    if (!x || !y || *x <= 0 || *y <= 0) return std::numeric_limits<double>::infinity();
    sum += std::abs(std::log(*x / *y));
  }
  return a.size() == b.size() ? sum : std::numeric_limits<double>::infinity();
}

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
  throw Error(ErrorKind::usage, "unwritable-file",
              fmt::format("cannot write tuning records to {}: {}", path.string(), reason),
              "name a folder you can write to in PTXLOOM_RECORDS");
}

bool ends_in_newline(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return size <= 0 || (::pread(file, &last, 1, size - 1) == 1 && last == '\n');
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
      for (Record& record : read_records(entry.path(), log_)) records.push_back(std::move(record));
    } catch (const Error& error) {
      log_(LogLevel::warning, error.what());
    }
  }
  std::ranges::stable_sort(records, {}, &Record::time_us);
  std::set<std::string> seen;
  std::erase_if(records, [&](const Record& record) { return !seen.insert(key_of(record)).second; });
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

std::optional<Record> Records::nearest(const DeviceKey& device, std::string_view kernel_template,
                                       const Settings& problem) const {
  std::optional<Record> best;
  double least = std::numeric_limits<double>::infinity();
  for (Record& record : all()) {
    if (record.device != device || record.kernel_template != kernel_template ||
        record.library != library_version())
      continue;
    const double apart = distance(record.problem, problem);
    if (apart >= least) continue;
    least = apart;
    best = std::move(record);
  }
  return best;
}

void Records::add(const Record& record) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) refuse(folder_, failed.message());
  const fs::path file = folder_ / file_name(record.device);
  const FileDescriptor out(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!out || ::flock(out.get(), LOCK_EX) != 0) refuse(file, std::generic_category().message(errno));
  const std::vector<Record> there = read_records(file, log_);
  const std::string key = key_of(record);
  const auto as_fast = [&](const Record& other) {
    return key_of(other) == key && other.time_us <= record.time_us;
  };
  if (std::ranges::any_of(there, as_fast)) return;
  // A writer that was killed may have left half a line.
  std::string line = to_json(record) + '\n';
  if (!ends_in_newline(out.get())) line.insert(line.begin(), '\n');
  if (!write_all(out.get(), line) || ::fdatasync(out.get()) != 0)
    refuse(file, std::generic_category().message(errno));
}

std::size_t Records::merge(const std::filesystem::path& file) const {
  const std::vector<Record> records = read_records(file, log_);
  for (const Record& record : records) add(record);
  return records.size();
}

}  // namespace ptxloom
