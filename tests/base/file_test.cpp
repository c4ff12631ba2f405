// SPDX-License-Identifier: Apache-2.0
#include "base/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;
namespace fs = std::filesystem;

namespace {

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a file comes back as it was written, whatever its bytes and size") {
  const TemporaryFolder folder;
  for (const std::size_t size : {0U, 1U, 65535U, 65536U, 1000003U}) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 2654435761U >> 13);
    write_file(folder / "f", content);
    CHECK(read_file(folder / "f") == content);
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a file that is replaced keeps its permissions, a new one follows the umask") {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(027);
  write_file(folder / "f", "old");
  ::umask(mask);
  struct stat status = {};
  REQUIRE(::stat((folder / "f").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
  REQUIRE(::chmod((folder / "f").c_str(), 0604) == 0);
  write_file(folder / "f", "new");
  REQUIRE(::stat((folder / "f").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0604);
}

TEST_CASE("whether a file can be written is found out without writing it") {
  const TemporaryFolder folder;
  write_file(folder / "f", "old");
  fs::create_directory(folder / "d");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const char* good : {"f", "new", "d/new", "pipe"}) CHECK_NOTHROW(check_writable(folder / good));
  CHECK_NOTHROW(check_writable("/dev/null"));
  CHECK(read_file(folder / "f") == "old");
  CHECK(files_in(folder.path()) == 3);
  CHECK(files_in(folder / "d") == 0);
  for (const char* bad : {"d", "no/new", "f/new", "d/"}) {
    CAPTURE(bad);
    for (const auto& attempt : {std::function<void()>([&] { check_writable(folder / bad); }),
                                std::function<void()>([&] { write_file(folder / bad, "x"); })}) {
      const Error error = error_of(attempt);
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(error.diagnostics().front().code == "unwritable-file");
    }
  }
}

TEST_CASE("a file that its owner has made read-only is not replaced") {
  if (::geteuid() == 0) SKIP("root may write to all files");
  const TemporaryFolder folder;
  write_file(folder / "f", "old");
  REQUIRE(::chmod((folder / "f").c_str(), 0400) == 0);
  CHECK(error_of([&] { check_writable(folder / "f"); }).diagnostics().front().code == "unwritable-file");
  CHECK(error_of([&] { write_file(folder / "f", "new"); }).diagnostics().front().code == "unwritable-file");
  CHECK(read_file(folder / "f") == "old");
}

TEST_CASE("a symbolic link is written through, also to a shorter text") {
  const TemporaryFolder folder;
  write_file(folder / "target", "a long text");
  fs::create_symlink("target", folder / "link");
  check_writable(folder / "link");
  CHECK(read_file(folder / "target") == "a long text");
  write_file(folder / "link", "short");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file(folder / "target") == "short");
}

TEST_CASE("readers see the old content or the new while a file is replaced") {
  const TemporaryFolder folder;
  const std::string contents[] = {std::string(200000, 'a'), std::string(300000, 'b')};
  write_file(folder / "f", contents[0]);
  std::jthread writer([&](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) write_file(folder / "f", contents[i % 2]);
  });
  int torn = 0;
  for (int i = 0; i < 200; ++i) torn += std::ranges::count(contents, read_file(folder / "f")) == 1 ? 0 : 1;
  CHECK(torn == 0);
}

TEST_CASE("a file that cannot be read or written is named with the reason") {
  const TemporaryFolder folder;
  const Error unread = error_of([&] { read_file(folder / "absent"); });
  CHECK(unread.kind() == ErrorKind::usage);
  CHECK(unread.diagnostics()[0].code == "unreadable-file");
  CHECK(unread.diagnostics()[0].message.ends_with("absent: No such file or directory"));
  CHECK(error_of([&] { read_file(folder.path()); }).diagnostics()[0].code == "unreadable-file");
  const Error unwritten = error_of([&] { write_file(folder / "no/such/folder", "x"); });
  CHECK(unwritten.diagnostics()[0].code == "unwritable-file");
  CHECK(error_of([&] { write_file(folder.path(), "x"); }).diagnostics()[0].code == "unwritable-file");
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("more than the limit is refused, from a file, a pipe and a device without end") {
  const TemporaryFolder folder;
  std::string text(100000, 'x');
  write_file(folder / "f", text);
  CHECK(read_file(folder / "f", text.size()) == text);
  const Error large = error_of([&] { read_file(folder / "f", text.size() - 1); });
  CHECK(large.diagnostics()[0].code == "input-too-large");
  const Error endless = error_of([] { read_file("/dev/zero", std::size_t{3} << 20); });
  CHECK(endless.diagnostics()[0].code == "input-too-large");
  CHECK(endless.diagnostics()[0].message == "/dev/zero has more than 3 MiB");
  CHECK(endless.diagnostics()[0].hint.find("name a smaller file") != std::string::npos);

  int ends[2];
  for (const std::size_t most : {text.size(), text.size() - 1}) {
    REQUIRE(::pipe(ends) == 0);
    const FileDescriptor reader(ends[0]);
    std::jthread writer([&text, end = ends[1]] { write_all(FileDescriptor(end).get(), text); });
    std::string content;
    const bool read = read_all(reader.get(), content, most);
    const int reason = errno;
    CHECK(read == (most == text.size()));
    if (read) CHECK(content == text);
    if (!read) CHECK(reason == EFBIG);
    std::string rest;
    read_all(reader.get(), rest);
  }
}

TEST_CASE("a device is written to and stays a device") {
  write_file("/dev/null", "gone");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("hashes are XXH3-128") {
  // The digests that xxhsum -H2 prints, one for each of the algorithm's ways: empty, short, long.
  CHECK(to_hex(hash128(std::string_view())) == "99aa06d3014798d86001c324468d497f");
  CHECK(to_hex(hash128(std::string_view("ptxloom"))) == "ba5f9ef15ecbd96b1c7139a35345bb02");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "ab";
  CHECK(to_hex(hash128(text)) == "4d01325745d42c0cf8c6d9db5dceeb19");
}
