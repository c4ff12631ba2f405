// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "jit/cache_entry.hpp"
#include "ptxloom/jit.hpp"

namespace ptxloom {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporarySuffix = ".tmp";

std::string reason_of(int error) { return std::generic_category().message(error); }

/// The folder as it was when opened. All access goes through its descriptor, so that a folder put in its
/// place later is never read or written.
struct Folder {
  FileDescriptor fd;
  std::optional<Diagnostic> problem;  // if neither is set, there is no such folder
};

std::optional<Diagnostic> distrust(const fs::path& path, const struct stat& status) {
  const auto diagnose = [&](const char* code, std::string what, const char* hint) {
    return Diagnostic{.severity = Severity::warning,
                      .code = code,
                      .message = fmt::format("the cache folder {} {}; it is not used", path.string(), what),
                      .hint = hint};
  };
  if (status.st_uid != ::geteuid()) {
    return diagnose("cache-foreign", fmt::format("belongs to user {}, not to {}", status.st_uid, ::geteuid()),
                    "set PTXLOOM_CACHE_DIR to a folder of your own");
  }
  if ((status.st_mode & 022) != 0) {
    return diagnose("cache-exposed",
                    fmt::format("can be written to by others (mode {:04o})", status.st_mode & 07777),
                    "run `ptxloom cache clear`, then chmod 700");
  }
  return std::nullopt;
}

Diagnostic unusable(const fs::path& path, int error) {
  return {.severity = Severity::warning,
          .code = "cache-unusable",
          .message = fmt::format("the cache folder {} cannot be used: {}", path.string(), reason_of(error)),
          .hint = "set PTXLOOM_CACHE_DIR to another folder, or to off"};
}

Folder open_folder(const fs::path& path, bool create) {
  if (create) {
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    ::mkdir(path.c_str(), 0700);
  }
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    const bool absent = errno == ENOENT && !create;
    return {.fd = {}, .problem = absent ? std::nullopt : std::optional(unusable(path, errno))};
  }
  if (auto problem = distrust(path, status)) return {.fd = {}, .problem = std::move(problem)};
  return {.fd = std::move(fd), .problem = std::nullopt};
}

/// Reads a file of the folder; nullopt if it does not exist, or is not a regular file of ours.
std::optional<std::string> read_entry(const Folder& folder, const std::string& name) {
  const FileDescriptor file(
      ::openat(folder.fd.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string bytes;
  if (status.st_uid != ::geteuid() || !read_all(file.get(), bytes)) return std::nullopt;
  return bytes;
}

/// 0, or the errno of the step that failed.
int write_entry(const Folder& folder, const std::string& name, std::string_view bytes) {
  const std::string temporary = unique_suffix().append(kTemporarySuffix);
  const int at = folder.fd.get();
  const FileDescriptor file(::openat(at, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return errno;
  if (write_all(file.get(), bytes) && ::fsync(file.get()) == 0 &&
      ::renameat(at, temporary.c_str(), at, name.c_str()) == 0) {
    return 0;
  }
  const int error = errno;
  ::unlinkat(at, temporary.c_str(), 0);
  return error;
}

void for_each_file(const Folder& folder, const std::function<void(const std::string& name)>& visit) {
  if (!folder.fd) return;
  const int copy = ::openat(folder.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(copy), ::closedir);
  if (!directory) return;
  while (const dirent* item = ::readdir(directory.get())) visit(item->d_name);
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

struct Cache::State {
  fs::path path;
  Log log;
  std::atomic<bool> warned = false;

  void warn_once(const Diagnostic& problem) {
    if (!warned.exchange(true)) log(LogLevel::warning, problem.message + "; " + problem.hint);
  }
  Folder open(bool create) {
    Folder folder = open_folder(path, create);
    if (folder.problem) warn_once(*folder.problem);
    return folder;
  }
};

Cache::Cache(fs::path folder, Log log) : state_(std::make_shared<State>()) {
  state_->path = std::move(folder);
  state_->log = std::move(log);
}

Cache Cache::from_environment(Log log) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const std::string_view own = variable("PTXLOOM_CACHE_DIR");
  if (own == "off") return {};
  if (!own.empty()) return Cache(own, std::move(log));
  // The XDG specification requires relative paths to be ignored.
  if (const fs::path xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute())
    return Cache(xdg / "ptxloom", std::move(log));
  if (const fs::path home = variable("HOME"); home.is_absolute())
    return Cache(home / ".cache/ptxloom", std::move(log));
  log(LogLevel::warning, "no cache: neither PTXLOOM_CACHE_DIR nor XDG_CACHE_HOME nor HOME is set");
  return {};
}

fs::path Cache::folder() const { return state_ ? state_->path : fs::path(); }

std::optional<std::vector<std::byte>> Cache::find(std::string_view key) const {
  if (!state_) return std::nullopt;
  const Folder folder = state_->open(false);
  if (!folder.fd) return std::nullopt;
  const std::string name = jit::entry_name(key);
  const auto bytes = read_entry(folder, name);
  if (!bytes) return std::nullopt;
  std::string reason;
  const auto entry = jit::decode_entry(*bytes, reason);
  if (!entry) {
    state_->log(LogLevel::warning, fmt::format("removed the damaged cache entry {}: {}", name, reason));
    ::unlinkat(folder.fd.get(), name.c_str(), 0);
    return std::nullopt;
  }
  if (entry->key != key) return std::nullopt;
  const auto value = std::as_bytes(std::span(entry->value));
  return std::vector(value.begin(), value.end());
}

void Cache::store(std::string_view key, std::span<const std::byte> value) const {
  if (!state_) return;
  const Folder folder = state_->open(true);
  if (!folder.fd) return;
  const std::string bytes = jit::encode_entry({.key = key, .value = as_text(value)});
  const int error = write_entry(folder, jit::entry_name(key), bytes);
  // ENOENT: the cache was cleared meanwhile, including the temporary file.
  if (error != 0 && error != ENOENT) state_->warn_once(unusable(state_->path, error));
}

Cache::Stat Cache::stat() const {
  Stat total;
  if (!state_) return total;
  const Folder folder = state_->open(false);
  for_each_file(folder, [&](const std::string& name) {
    struct stat status = {};
    if (!jit::is_entry_name(name) ||
        ::fstatat(folder.fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return;
    }
    const std::int64_t when = status.st_mtime;
    total.oldest = total.entries == 0 ? when : std::min(total.oldest, when);
    total.newest = std::max(total.newest, when);
    total.bytes += static_cast<std::uint64_t>(status.st_size);
    ++total.entries;
  });
  return total;
}

std::vector<Cache::BadEntry> Cache::verify() const {
  std::vector<BadEntry> bad;
  if (!state_) return bad;
  const Folder folder = state_->open(false);
  for_each_file(folder, [&](const std::string& name) {
    if (!jit::is_entry_name(name)) return;
    const auto bytes = read_entry(folder, name);
    std::string reason = "not a readable file of this user";
    const auto entry = bytes ? jit::decode_entry(*bytes, reason) : std::nullopt;
    if (entry && jit::entry_name(entry->key) == name) return;
    bad.push_back(
        {.path = state_->path / name, .reason = entry ? "its key belongs to another name" : reason});
  });
  std::ranges::sort(bad, {}, &BadEntry::path);
  return bad;
}

std::uint64_t Cache::clear() const {
  if (!state_) return 0;
  const Folder folder = state_->open(false);
  std::vector<std::string> names;
  for_each_file(folder, [&](const std::string& name) {
    if (jit::is_entry_name(name) || name.ends_with(kTemporarySuffix)) names.push_back(name);
  });
  return static_cast<std::uint64_t>(std::ranges::count_if(
      names, [&](const std::string& name) { return ::unlinkat(folder.fd.get(), name.c_str(), 0) == 0; }));
}

std::optional<Diagnostic> Cache::problem() const {
  if (!state_) return std::nullopt;
  const Folder folder = open_folder(state_->path, true);
  if (folder.fd && ::faccessat(folder.fd.get(), ".", W_OK, AT_EACCESS) != 0)
    return unusable(state_->path, errno);
  return folder.problem;
}

}  // namespace ptxloom
