// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "jit/cache_entry.hpp"
#include "ptxloom/jit.hpp"
#include "support/environment.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kNobody = 65534;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::optional<std::string> find(const Cache& cache, std::string_view key) {
  const auto found = cache.find(key);
  if (!found) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(found->data()), found->size());
}

/// A log that keeps its lines.
struct Lines {
  std::vector<std::string> lines;
  Log log() {
    return Log([this](LogLevel, std::string_view text) { lines.emplace_back(text); }, LogLevel::debug);
  }
};

unsigned mode_of(const fs::path& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

/// Runs `work` in a process of its own, as another user where that is asked for; true if it returned true.
bool in_child(const std::function<bool()>& work, uid_t user = ::geteuid()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit((user == ::geteuid() || ::setuid(user) == 0) && work() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("what is stored is found, by its key and no other") {
  const TemporaryFolder folder;
  const Cache cache(folder / "cache");
  CHECK(find(cache, "key") == std::nullopt);
  CHECK_FALSE(fs::exists(folder / "cache"));
  cache.store("key", bytes_of("value"));
  cache.store("empty", bytes_of(""));
  CHECK(find(cache, "key") == "value");
  CHECK(find(cache, "empty") == "");
  CHECK(find(cache, "kez") == std::nullopt);
  cache.store("key", bytes_of("newer"));
  CHECK(find(cache, "key") == "newer");
  CHECK(mode_of(folder / "cache") == 0700);
  CHECK(mode_of(folder / "cache" / jit::entry_name("key")) == 0600);
  CHECK_FALSE(cache.problem());
}

TEST_CASE("a damaged entry is missed, removed, and replaced, wherever the damage is") {
  const TemporaryFolder folder;
  Lines lines;
  const Cache cache(folder.path(), lines.log());
  const fs::path entry = folder / jit::entry_name("key");
  cache.store("key", bytes_of("value"));
  const std::string whole = read_file(entry);
  const auto check_missed = [&](const std::string& damaged) {
    write_file(entry, damaged);
    REQUIRE(cache.verify().size() == 1);
    CHECK(cache.verify()[0].path == entry);
    lines.lines.clear();
    CHECK(find(cache, "key") == std::nullopt);
    CHECK(lines.lines.size() == 1);
    CHECK_FALSE(fs::exists(entry));
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CAPTURE(i);
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    check_missed(flipped);
    check_missed(whole.substr(0, i));
  }
  check_missed(whole + "x");
  cache.store("key", bytes_of("value"));
  CHECK(find(cache, "key") == "value");
  CHECK(cache.verify().empty());
}

TEST_CASE("an entry of another key under this key's name is a miss") {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  cache.store("one", bytes_of("1"));
  fs::rename(folder / jit::entry_name("one"), folder / jit::entry_name("two"));
  CHECK(find(cache, "two") == std::nullopt);
  CHECK(cache.verify().size() == 1);
  cache.store("two", bytes_of("2"));
  CHECK(find(cache, "two") == "2");
}

TEST_CASE("links, pipes and folders in place of an entry are never followed") {
  const TemporaryFolder folder;
  const Cache cache(folder / "cache");
  cache.store("key", bytes_of("value"));
  const fs::path entry = folder / "cache" / jit::entry_name("key");
  fs::rename(entry, folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", entry);
  CHECK(find(cache, "key") == std::nullopt);
  cache.store("key", bytes_of("mine"));
  CHECK(find(cache, "key") == "mine");
  CHECK(fs::is_regular_file(fs::symlink_status(entry)));
  fs::remove(entry);
  REQUIRE(::mkfifo(entry.c_str(), 0600) == 0);
  CHECK(find(cache, "key") == std::nullopt);
  fs::remove(entry);
  fs::create_directory(entry);
  CHECK(find(cache, "key") == std::nullopt);
  cache.store("key", bytes_of("value"));
}

TEST_CASE("a folder that others may write to is not used, with one warning") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "cache");
  for (const auto mode : {fs::perms(0770), fs::perms(0707)}) {
    fs::permissions(folder / "cache", mode);
    Lines lines;
    const Cache cache(folder / "cache", lines.log());
    cache.store("key", bytes_of("value"));
    cache.store("key", bytes_of("value"));
    CHECK(find(cache, "key") == std::nullopt);
    CHECK(lines.lines.size() == 1);
    REQUIRE(cache.problem());
    CHECK(cache.problem()->code == "cache-exposed");
    CHECK(fs::is_empty(folder / "cache"));
  }
}

TEST_CASE("a folder or entry of another user is not used") {
  if (::geteuid() != 0) SKIP("only root can give files away");
  const TemporaryFolder folder;
  Lines lines;
  const Cache cache(folder / "cache", lines.log());
  cache.store("key", bytes_of("value"));
  const fs::path entry = folder / "cache" / jit::entry_name("key");
  REQUIRE(::chown(entry.c_str(), kNobody, kNobody) == 0);
  CHECK(find(cache, "key") == std::nullopt);
  CHECK(cache.verify().size() == 1);
  REQUIRE(::chown(entry.c_str(), 0, 0) == 0);
  CHECK(find(cache, "key") == "value");
  REQUIRE(::chown((folder / "cache").c_str(), kNobody, kNobody) == 0);
  CHECK(find(cache, "key") == std::nullopt);
  CHECK(lines.lines.size() == 1);
  REQUIRE(cache.problem());
  CHECK(cache.problem()->code == "cache-foreign");
  CHECK(cache.clear() == 0);
}

TEST_CASE("a folder that cannot be made or written to is worked without, with one warning") {
  const TemporaryFolder folder;
  write_file(folder / "file", "in the way");
  Lines lines;
  const Cache cache(folder / "file" / "cache", lines.log());
  cache.store("key", bytes_of("value"));
  cache.store("key", bytes_of("value"));
  CHECK(find(cache, "key") == std::nullopt);
  CHECK(lines.lines.size() == 1);
  REQUIRE(cache.problem());
  CHECK(cache.problem()->code == "cache-unusable");
  CHECK(cache.stat().entries == 0);
  CHECK(cache.verify().empty());
}

TEST_CASE("a read-only folder still serves what it has") {
  if (::geteuid() != 0) SKIP("needs to become another user, for root may write anywhere");
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  REQUIRE(::mkdir((folder / "cache").c_str(), 0700) == 0);
  REQUIRE(::chown((folder / "cache").c_str(), kNobody, kNobody) == 0);
  const auto as_nobody = [&] {
    Lines lines;
    const Cache cache(folder / "cache", lines.log());
    cache.store("key", bytes_of("value"));
    fs::permissions(folder / "cache", fs::perms(0500));
    cache.store("other", bytes_of("value"));
    cache.store("another", bytes_of("value"));
    return find(cache, "key") == "value" && find(cache, "other") == std::nullopt && lines.lines.size() == 1 &&
           cache.problem() && cache.problem()->code == "cache-unusable";
  };
  CHECK(in_child(as_nobody, kNobody));
}

TEST_CASE("processes that store, find and clear at once never see a wrong value") {
  const TemporaryFolder folder;
  const auto value_of = [](unsigned key) {
    return std::string(5000 + 100 * key, static_cast<char>('a' + key));
  };
  const auto work = [&](unsigned process) {
    std::minstd_rand random(Catch::getSeed() + process);
    Lines lines;
    const Cache cache(folder / "cache", lines.log());
    int found = 0;
    for (int i = 0; i < 300; ++i) {
      const auto key = static_cast<unsigned>(random() % 6);
      if (random() % 3 == 0) cache.store(std::to_string(key), bytes_of(value_of(key)));
      if (process == 0 && i % 50 == 49) cache.clear();
      const auto value = find(cache, std::to_string(key));
      if (value && *value != value_of(key)) return false;
      found += value ? 1 : 0;
    }
    return found > 0 && lines.lines.empty();
  };
  CHECK(in_child([&] {
    // Four processes, one of them this child, whose own result counts as well as theirs.
    std::vector<pid_t> children;
    for (unsigned process = 1; process < 4; ++process) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(work(process) ? 0 : 1);
      children.push_back(child);
    }
    bool good = work(0);
    for (const pid_t child : children) {
      int status = 0;
      good = ::waitpid(child, &status, 0) == child && status == 0 && good;
    }
    return good;
  }));
  const Cache cache(folder / "cache");
  CHECK(cache.verify().empty());
  for (const auto& file : fs::directory_iterator(folder / "cache"))
    CHECK(file.path().extension() == ".entry");
}

TEST_CASE("stat counts and clear empties, leaving strangers' files alone") {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  CHECK(cache.stat().entries == 0);
  cache.store("a", bytes_of("1"));
  cache.store("b", bytes_of("22"));
  write_file(folder / "notes.txt", "mine");
  write_file(folder / "0123456789abcdef.tmp", "left by a writer that died");
  const Cache::Stat stat = cache.stat();
  CHECK(stat.entries == 2);
  CHECK(stat.bytes ==
        fs::file_size(folder / jit::entry_name("a")) + fs::file_size(folder / jit::entry_name("b")));
  CHECK((stat.oldest > 1700000000 && stat.oldest <= stat.newest));
  CHECK(cache.clear() == 3);
  CHECK(cache.stat().entries == 0);
  CHECK(fs::exists(folder / "notes.txt"));
}

TEST_CASE("the folder comes from PTXLOOM_CACHE_DIR, then XDG_CACHE_HOME, then HOME") {
  const ScopedVariable home("HOME", "/home/someone");
  const ScopedVariable xdg("XDG_CACHE_HOME", "/xdg");
  {
    const ScopedVariable own("PTXLOOM_CACHE_DIR", "/own");
    CHECK(Cache::from_environment().folder() == "/own");
  }
  {
    const ScopedVariable own("PTXLOOM_CACHE_DIR", "off");
    CHECK_FALSE(Cache::from_environment().enabled());
  }
  const ScopedVariable own("PTXLOOM_CACHE_DIR", std::nullopt);
  CHECK(Cache::from_environment().folder() == "/xdg/ptxloom");
  const ScopedVariable relative("XDG_CACHE_HOME", "relative");
  CHECK(Cache::from_environment().folder() == "/home/someone/.cache/ptxloom");
  const ScopedVariable homeless("HOME", std::nullopt);
  Lines lines;
  CHECK_FALSE(Cache::from_environment(lines.log()).enabled());
  CHECK(lines.lines.size() == 1);
}

TEST_CASE("a cache that is off finds and stores nothing") {
  const Cache cache;
  cache.store("key", bytes_of("value"));
  CHECK_FALSE(cache.find("key"));
  CHECK(cache.clear() == 0);
}

TEST_CASE("looking into a folder that is not there is no problem, and makes none") {
  const TemporaryFolder folder;
  Lines lines;
  const Cache cache(folder / "deep" / "cache", lines.log());
  CHECK(find(cache, "key") == std::nullopt);
  CHECK(cache.stat().entries == 0);
  CHECK(cache.verify().empty());
  CHECK(cache.clear() == 0);
  CHECK(lines.lines.empty());
  CHECK_FALSE(fs::exists(folder / "deep"));
  CHECK_FALSE(cache.problem());  // which makes it, with those above it
  CHECK(mode_of(folder / "deep" / "cache") == 0700);
  cache.store("key", bytes_of("value"));
  CHECK(find(cache, "key") == "value");
  CHECK(lines.lines.empty());
}

TEST_CASE("looking into what is no folder is told once, with the reason and the way out") {
  const TemporaryFolder folder;
  write_file(folder / "file", "in the way");
  const fs::path paths[] = {folder / "file", folder / "file" / "cache"};
  for (const fs::path& path : paths) {
    Lines lines;
    const Cache cache(path, lines.log());
    CHECK(find(cache, "key") == std::nullopt);
    CHECK(find(cache, "key") == std::nullopt);
    REQUIRE(lines.lines.size() == 1);
    CHECK(lines.lines[0] ==
          "the cache folder " + path.string() +
              " cannot be used: Not a directory; set PTXLOOM_CACHE_DIR to another folder, or to off");
    const auto problem = cache.problem();
    REQUIRE(problem);
    CHECK(problem->code == "cache-unusable");
    CHECK(problem->severity == Severity::warning);
    CHECK(problem->message.ends_with(": Not a directory"));
    CHECK(problem->hint.find("PTXLOOM_CACHE_DIR") != std::string::npos);
  }
  CHECK(read_file(folder / "file") == "in the way");
}

TEST_CASE("a folder is exposed by each right to write of others, and by no other right") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "cache");
  struct Case {
    unsigned mode;
    bool exposed;
  };
  for (const auto& [mode, exposed] :
       {Case{0700, false}, {0755, false}, {0711, false}, {0720, true}, {0702, true}, {0777, true}}) {
    CAPTURE(mode);
    fs::permissions(folder / "cache", fs::perms(mode));
    Lines lines;
    const Cache cache(folder / "cache", lines.log());
    const auto problem = cache.problem();
    CHECK(problem.has_value() == exposed);
    if (problem) {
      CHECK(problem->message.find(exposed ? "can be written to by others (mode 07" : "") !=
            std::string::npos);
      CHECK(problem->hint.find("chmod 700") != std::string::npos);
    }
    cache.store("key", bytes_of("value"));
    CHECK((find(cache, "key") == "value") == !exposed);
    CHECK(lines.lines.size() == (exposed ? 1 : 0));
    fs::permissions(folder / "cache", fs::perms(0700));
    Cache(folder / "cache").clear();
  }
}

TEST_CASE("an entry that cannot be put in its place is told once, and leaves no file behind") {
  const TemporaryFolder folder;
  Lines lines;
  const Cache cache(folder.path(), lines.log());
  fs::create_directory(folder / jit::entry_name("key"));
  cache.store("key", bytes_of("value"));
  cache.store("key", bytes_of("value"));
  REQUIRE(lines.lines.size() == 1);
  CHECK(lines.lines[0].find("cannot be used: Is a directory") != std::string::npos);
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
  REQUIRE(cache.verify().size() == 1);
  CHECK(cache.verify()[0].reason == "not a readable file of this user");
  cache.store("other", bytes_of("value"));  // others are kept as before
  CHECK(find(cache, "other") == "value");
  CHECK(lines.lines.size() == 1);
}

TEST_CASE("a bad entry is told with its name and what is wrong with it") {
  const TemporaryFolder folder;
  const std::string whole = jit::encode_entry({.key = "key", .value = "value"});
  const std::string name = jit::entry_name("key");
  struct Case {
    std::string bytes, reason;
  };
  std::string other_version = whole, changed = whole;
  other_version[7] = '2';
  changed.back() ^= 1;
  for (const auto& [bytes, reason] : {Case{whole.substr(0, 39), "truncated"},
                                      {whole.substr(0, whole.size() - 1), "truncated"},
                                      {whole + "x", "longer than its header says"},
                                      {other_version, "not a cache entry of this version"},
                                      {changed, "checksum differs"}}) {
    write_file(folder / name, bytes);
    Lines lines;
    const Cache cache(folder.path(), lines.log());
    REQUIRE(cache.verify().size() == 1);
    CHECK(cache.verify()[0].reason == reason);
    CHECK(find(cache, "key") == std::nullopt);
    REQUIRE(lines.lines.size() == 1);
    CHECK(lines.lines[0] == "removed the damaged cache entry " + name + ": " + reason);
  }
  write_file(folder / jit::entry_name("another"), whole);
  REQUIRE(Cache(folder.path()).verify().size() == 1);
  CHECK(Cache(folder.path()).verify()[0].reason == "its key belongs to another name");
}

TEST_CASE("only names of 32 hexadecimal digits are entries") {
  const std::string name = jit::entry_name("key");
  REQUIRE(name.size() == 38);
  CHECK(jit::is_entry_name(name));
  CHECK(jit::is_entry_name("0123456789abcdef0123456789abcdef.entry"));
  for (const char* other :
       {"0123456789abcdef0123456789abcde.entry", "00123456789abcdef0123456789abcdef.entry",
        "0123456789abcdef0123456789abcdeg.entry", "0123456789abcdef0123456789abcdeF.entry",
        "0123456789abcdef0123456789abcde/.entry", "0123456789abcdef0123456789abcde:.entry",
        "0123456789abcdef0123456789abcde`.entry", "0123456789abcdef0123456789abcdef.entrz"}) {
    CAPTURE(other);
    CHECK_FALSE(jit::is_entry_name(other));
  }
}
