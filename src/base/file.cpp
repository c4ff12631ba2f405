// SPDX-License-Identifier: Apache-2.0
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/hash.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom {
namespace {

[[noreturn]] void throw_errno(const char* code, const char* doing, const std::filesystem::path& path,
                              const char* hint) {
  const std::string reason = std::generic_category().message(errno);
  throw Error(ErrorKind::usage, code, std::string(doing) + " " + path.string() + ": " + reason, hint);
}

[[noreturn]] void refuse_input(const std::filesystem::path& path, std::size_t most) {
  if (errno != EFBIG)
    throw_errno("unreadable-file", "cannot read", path, "check the path and its permissions");
  const std::string limit = std::to_string(most >> 20) + " MiB";
  throw Error(ErrorKind::usage, "input-too-large", path.string() + " has more than " + limit,
              "name a smaller file; a device such as /dev/zero has no end");
}

[[noreturn]] void refuse_output(const std::filesystem::path& path) {
  throw_errno("unwritable-file", "cannot write", path, "check that the folder exists and is writable");
}

/// An empty file of another name in the folder of `path`, removed unless it is renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& path)
      : name_(path.string() + '.' + unique_suffix()),
        file_(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {}
  ~TemporaryFile() {
    const int reason = errno;
    if (file_) ::unlink(name_.c_str());
    errno = reason;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  explicit operator bool() const { return static_cast<bool>(file_); }
  int get() const { return file_.get(); }
  bool rename_to(const std::filesystem::path& path) {
    if (::rename(name_.c_str(), path.c_str()) != 0) return false;
    file_ = {};
    return true;
  }

 private:
  std::string name_;
  FileDescriptor file_;
};

/// The file at the path itself: symbolic links are not followed.
struct Place {
  explicit Place(const std::filesystem::path& path) { exists = ::lstat(path.c_str(), &status) == 0; }
  bool is_replaced() const { return !exists || S_ISREG(status.st_mode); }
  bool exists = false;
  struct stat status = {};
};

/// A file that its owner has made read-only is not replaced.
bool may_replace(const std::filesystem::path& path, const Place& old) {
  return !old.exists || ::access(path.c_str(), W_OK) == 0;
}

bool replace_file(const std::filesystem::path& path, std::string_view content, const Place& old) {
  if (!may_replace(path, old)) return false;
  TemporaryFile file(path);
  return file && write_all(file.get(), content) &&
         (!old.exists || ::fchmod(file.get(), old.status.st_mode & 07777) == 0) && ::fsync(file.get()) == 0 &&
         file.rename_to(path);
}

bool write_through(const std::filesystem::path& path, std::string_view content) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  return file && write_all(file.get(), content);
}

/// A pipe is not opened: that would block until it has a reader, and send that reader an end of file.
bool can_write_through(const std::filesystem::path& path) {
  struct stat target = {};
  if (::stat(path.c_str(), &target) == 0 && (S_ISFIFO(target.st_mode) || S_ISSOCK(target.st_mode)))
    return ::access(path.c_str(), W_OK) == 0;
  return static_cast<bool>(
      FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666)));
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

bool read_all(int fd, std::string& content, std::size_t most) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return false;
  const auto too_large = [] { return errno = EFBIG, false; };
  if (status.st_size > 0 && static_cast<std::size_t>(status.st_size) > most) return too_large();
  // A pipe has no size, and a file may grow meanwhile, so this reads to the end.
  std::size_t size = 0;
  content.resize(static_cast<std::size_t>(status.st_size > 0 ? status.st_size + 1 : 65536));
  for (;;) {
    if (size > most) return too_large();
    if (size == content.size()) content.resize(size < most / 2 ? 2 * size : most + 1);
    const ssize_t got = ::read(fd, content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  content.resize(size);
  return true;
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::string read_file(const std::filesystem::path& path, std::size_t most) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  if (!file || !read_all(file.get(), content, most)) refuse_input(path, most);
  return content;
}

std::string read_data(const std::filesystem::path& path) {
  std::error_code ignored;  // read_file says why a file cannot be read
  return read_file(path, std::filesystem::is_character_file(path, ignored) ? kMostText : kUnlimited);
}

std::string read_stdin() {
  std::string content;
  if (!read_all(STDIN_FILENO, content, kMostText)) refuse_input("stdin", kMostText);
  return content;
}

std::string unique_suffix() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<std::uint64_t>(::getpid());
  return to_hex({.high = bits, .low = 0}).substr(0, 16);
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  const Place old(path);
  if (!(old.is_replaced() ? replace_file(path, content, old) : write_through(path, content)))
    refuse_output(path);
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> content) {
  write_file(path, std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
}

void check_writable(const std::filesystem::path& path) {
  const Place old(path);
  const bool good = old.is_replaced() ? may_replace(path, old) && static_cast<bool>(TemporaryFile(path))
                                      : can_write_through(path);
  if (!good) refuse_output(path);
}

}  // namespace ptxloom
