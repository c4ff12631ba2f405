// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/host_name.hpp"
#include "ptxloom/record.hpp"

namespace ptxloom {
namespace {

namespace fs = std::filesystem;

/// One line of a records file.
struct Line {
  std::string text;
  std::optional<Record> record = {};
  std::string why_none = {};  ///< if it holds no record
};

std::vector<Line> read_lines(const fs::path& file) {
  std::vector<Line> lines;
  const std::string content = read_data(file);
  std::string_view rest = content;
  for (int number = 1; !rest.empty(); ++number) {
    Line line{.text = std::string(rest.substr(0, rest.find('\n')))};
    rest.remove_prefix(std::min(line.text.size() + 1, rest.size()));
    if (line.text.empty()) continue;
    try {
      line.record = record_from_json(line.text);
    } catch (const Error& error) {
      line.why_none = fmt::format("{}:{}: {}", file.string(), number, error.diagnostics().front().message);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The records; lines that hold none are logged and skipped.
std::vector<Record> records_of(std::vector<Line> lines, const Log& log) {
  std::vector<Record> records;
  for (Line& line : lines) {
    if (line.record)
      records.push_back(std::move(*line.record));
    else
      log(LogLevel::warning, fmt::format("skipped: {}", line.why_none));
  }
  return records;
}

/// The key that two records of one task and version share.
std::string key_of(const Record& record) {
  const DeviceKey& device = record.device;
  std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", device.name, device.sm, device.sms,
                                device.memory_mhz, record.kernel_template, record.library);
  for (const auto& [name, value] : record.problem) key += fmt::format("\n{}={}", name, value);
  return key;
}

bool stands_for(const Record& completed, const Record& other) {
  return !completed.provisional && other.provisional && completed.made >= other.made;
}

/// Removes provisional records that a later, completed search supersedes.
void settle(std::vector<Record>& records) {
  std::map<std::string, Record> completed;  // the last for each key
  for (const Record& record : records) {
    if (record.provisional) continue;
    Record& last = completed.try_emplace(key_of(record), record).first->second;
    if (record.made > last.made) last = record;
  }
  std::erase_if(records, [&](const Record& record) {
    const auto last = completed.find(key_of(record));
    return last != completed.end() && stands_for(last->second, record);
  });
}

/// Whether a new record replaces another of its task. A provisional record replaces one that is worse; a
/// completed one replaces any provisional one.
bool replaces(const Record& record, const Record& old) {
  return old.provisional && (record.provisional ? record.time_us <= old.time_us : record.made >= old.made);
}

/// Whether an existing record of the task is at least as good. A provisional record never makes a completed
/// search redundant.
bool is_as_good(const Record& other, const Record& record) {
  if (record.provisional && stands_for(other, record)) return true;
  return other.time_us <= record.time_us && (record.provisional || !other.provisional);
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The distance of two problems: by the ratios of their sizes, infinite if another parameter differs.
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
              "set PTXLOOM_RECORDS to a folder that you can write to");
}

void make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) refuse(folder, failed.message());
}

/// Opens the file that records of a device are appended to; creates it if needed.
FileDescriptor open_file(const fs::path& folder, const fs::path& file) {
  make_folder(folder);
  FileDescriptor out(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!out) refuse(file, std::generic_category().message(errno));
  return out;
}

/// The same, with an exclusive lock. A writer that waited may find that the file was replaced meanwhile.
FileDescriptor open_locked(const fs::path& folder, const fs::path& file) {
  for (;;) {
    FileDescriptor out = open_file(folder, file);
    struct stat locked = {}, named = {};
    if (::flock(out.get(), LOCK_EX) != 0 || ::fstat(out.get(), &locked) != 0)
      refuse(file, std::generic_category().message(errno));
    if (::stat(file.c_str(), &named) == 0 && named.st_ino == locked.st_ino && named.st_dev == locked.st_dev)
      return out;
  }
}

bool ends_in_newline(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return size <= 0 || (::pread(file, &last, 1, size - 1) == 1 && last == '\n');
}

void append(const FileDescriptor& out, const fs::path& file, const Record& record) {
  // A writer that was killed may have left half a line.
  std::string line = to_json(record) + '\n';
  if (!ends_in_newline(out.get())) line.insert(line.begin(), '\n');
  if (!write_all(out.get(), line) || ::fdatasync(out.get()) != 0)
    refuse(file, std::generic_category().message(errno));
}

/// "NVIDIA_H200-myhost.jsonl"
std::string file_name(const DeviceKey& device) {
  std::string name = device.name + "-" + host_name();
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.'; };
  std::ranges::replace_if(name, [&](char c) { return !plain(static_cast<unsigned char>(c)); }, '_');
  return name + ".jsonl";
}

/// Renames parameters; false if the template has no such parameter any more, whose name is put in `unknown`.
bool rename(Settings& settings, const RecordParameters& parameters, std::string& unknown) {
  Settings renamed;
  for (auto& [name, value] : settings) {
    const auto former = parameters.former.find(name);
    const std::string& present = former == parameters.former.end() ? name : former->second;
    if (!parameters.names.contains(present)) return unknown = name, false;
    renamed[present] = std::move(value);
  }
  settings = std::move(renamed);
  return true;
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

/// What know() was told; copies of a Records share it.
struct Records::Known {
  struct Template {
    std::function<std::optional<RecordParameters>()> ask;  // empty: it was asked
    std::optional<RecordParameters> parameters = {};
  };
  std::mutex mutex;
  std::map<std::string, Template, std::less<>> templates;
  std::set<fs::path> reported;  // files with records that are ignored

  const RecordParameters* of(std::string_view kernel_template) {
    const auto found = templates.find(kernel_template);
    if (found == templates.end()) return nullptr;
    if (found->second.ask) found->second.parameters = std::exchange(found->second.ask, nullptr)();
    return found->second.parameters ? &*found->second.parameters : nullptr;
  }

  /// Gives parameters their present names, and removes records with others.
  void translate(std::vector<Record>& records, const fs::path& file, const Log& log) {
    const std::scoped_lock lock(mutex);
    std::string unknown, kernel_template;
    const std::size_t ignored = std::erase_if(records, [&](Record& record) {
      const RecordParameters* parameters = of(record.kernel_template);
      if (parameters == nullptr) return false;
      if (rename(record.problem, *parameters, unknown) && rename(record.config, *parameters, unknown))
        return false;
      kernel_template = record.kernel_template;
      return true;
    });
    if (ignored == 0 || !log.enabled(LogLevel::warning) || !reported.insert(file).second) return;
    log(LogLevel::warning,
        fmt::format("{}: {} records are ignored, because they have parameters that their template does not "
                    "have: {} has no '{}'",
                    file.string(), ignored, kernel_template, unknown));
  }

  std::vector<Record> read(const fs::path& folder, const Log& log) {
    std::vector<Record> records;
    std::error_code failed;  // no folder means no records
    fs::directory_iterator entry(folder, failed);
    for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
      if (entry->path().extension() != ".jsonl") continue;
      try {
        std::vector<Record> some = records_of(read_lines(entry->path()), log);
        translate(some, entry->path(), log);
        std::ranges::move(some, std::back_inserter(records));
      } catch (const Error& error) {
        log(LogLevel::warning, error.what());
      }
    }
    return records;
  }
};

Records::Records(std::filesystem::path folder, Log log)
    : folder_(std::move(folder)), log_(std::move(log)), known_(std::make_shared<Known>()) {}

void Records::know(std::string_view kernel_template,
                   std::function<std::optional<RecordParameters>()> parameters) const {
  const std::scoped_lock lock(known_->mutex);
  known_->templates.try_emplace(std::string(kernel_template), Known::Template{.ask = std::move(parameters)});
}

bool Records::knows(std::string_view kernel_template) const {
  const std::scoped_lock lock(known_->mutex);
  return known_->templates.contains(kernel_template);
}

Records Records::from_environment(Log log) { return Records(default_folder(), std::move(log)); }

std::vector<Record> Records::all() const {
  std::vector<Record> records = known_->read(folder_, log_);
  settle(records);
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
  const fs::path file = folder_ / file_name(record.device);
  const FileDescriptor out = open_locked(folder_, file);
  const auto of_this_task = [key = key_of(record)](const Record& other) { return key_of(other) == key; };
  std::vector<Line> lines = read_lines(file);
  const std::size_t replaced = std::erase_if(lines, [&](const Line& line) {
    return line.record && of_this_task(*line.record) && replaces(record, *line.record);
  });
  const bool better = std::ranges::none_of(lines, [&](const Line& line) {
    return line.record && of_this_task(*line.record) && is_as_good(*line.record, record);
  });
  // Files of other hosts are not modified: a line here supersedes theirs.
  std::vector<Record> everywhere = known_->read(folder_, {});
  settle(everywhere);
  const bool stands_for_others = std::ranges::any_of(
      everywhere, [&](const Record& other) { return of_this_task(other) && stands_for(record, other); });
  if (replaced > 0) {
    std::string content;
    for (const Line& line : lines) content += line.text + '\n';
    write_file(file, better ? content + to_json(record) + '\n' : content);
  } else if (better || stands_for_others) {
    append(out, file, record);
  }
  ++*generation_;  // after writing: whoever sees the new number finds the record
}

void Records::check_writable(const DeviceKey& device) const {
  make_folder(folder_);
  const fs::path file = folder_ / file_name(device);
  try {
    ptxloom::check_writable(file);
  } catch (const Error& error) {
    refuse(file, error.diagnostics().front().message);
  }
}

std::size_t Records::merge(const std::filesystem::path& file) const {
  std::vector<Line> lines = read_lines(file);
  if (!lines.empty() && std::ranges::none_of(lines, [](const Line& line) { return line.record.has_value(); }))
    throw Error(ErrorKind::usage, "bad-record",
                fmt::format("{} has no tuning record: {}", file.string(), lines.front().why_none),
                "give a file that ptxloom tune wrote: one JSON object a line, as in docs/json/record.json");
  const std::vector<Record> records = records_of(std::move(lines), log_);
  for (const Record& record : records) add(record);
  return records.size();
}

}  // namespace ptxloom
