// SPDX-License-Identifier: Apache-2.0
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

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

/// Writes a new file beside `path` and puts it in its place; `old` is what was there, if anything.
bool replace_file(const std::filesystem::path& path, std::string_view content, const struct stat* old) {
  const std::string temporary = path.string() + '.' + unique_suffix();
  const FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return false;
  if (write_all(file.get(), content) && (old == nullptr || ::fchmod(file.get(), old->st_mode & 07777) == 0) &&
      ::fsync(file.get()) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0) {
    return true;
  }
  const int reason = errno;
  ::unlink(temporary.c_str());
  errno = reason;
  return false;
}

/// A device or a pipe (/dev/stdout) is written to, never replaced.
bool write_through(const std::filesystem::path& path, std::string_view content) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && write_all(file.get(), content);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

bool read_all(int fd, std::string& content) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return false;
  // A pipe has no size, and a file may grow meanwhile: read until the end says so.
  std::size_t size = 0;
  content.resize(static_cast<std::size_t>(status.st_size > 0 ? status.st_size + 1 : 65536));
  for (;;) {
    if (size == content.size()) content.resize(2 * size);
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

std::string read_file(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  if (!file || !read_all(file.get(), content)) {
    throw_errno("unreadable-file", "cannot read", path, "check the path and its permissions");
  }
  return content;
}

std::string unique_suffix() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<std::uint64_t>(::getpid());
  return to_hex({.high = bits, .low = 0}).substr(0, 16);
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  const bool written = exists && !S_ISREG(status.st_mode)
                           ? write_through(path, content)
                           : replace_file(path, content, exists ? &status : nullptr);
  if (!written) {
    throw_errno("unwritable-file", "cannot write", path,
                "check that the folder exists and may be written to");
  }
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> content) {
  write_file(path, std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
}

}  // namespace ptxloom
