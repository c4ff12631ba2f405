// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

// Reads and writes whole files. A file is written under a temporary name, synced and renamed, so that a
// reader sees the old content or the new, and a crash leaves one of them. Anything but a regular file
// (/dev/stdout, a pipe, a symbolic link) is written to and never replaced.
namespace ptxloom {

/// The most bytes of PTX and other text that are read. A device such as /dev/zero has no end.
inline constexpr std::size_t kMostText = std::size_t{256} << 20;
inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

/// Throws Error(usage, "unreadable-file"), which names the file and the reason; "input-too-large" if there
/// are more than `most` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t most = kMostText);
/// As read_file, but of data, which may be larger than any text: only a device is limited, which may have no
/// end.
std::string read_data(const std::filesystem::path& path);
/// Reads what is left of stdin, as read_file does.
std::string read_stdin();
/// Throws Error(usage, "unwritable-file").
void write_file(const std::filesystem::path& path, std::string_view content);
void write_file(const std::filesystem::path& path, std::span<const std::byte> content);
/// Tests whether write_file could write there, without changing anything: reports the problem before an hour
/// of work. Throws Error(usage, "unwritable-file").
void check_writable(const std::filesystem::path& path);

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

/// 16 random digits, for the name of a temporary file.
std::string unique_suffix();

/// Reads everything that is left. False, with errno set, if the system reports an error; errno is EFBIG if
/// there are more than `most` bytes.
bool read_all(int fd, std::string& content, std::size_t most = kUnlimited);
bool write_all(int fd, std::string_view content);

}  // namespace ptxloom
