// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/npy.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "ptxloom/error.hpp"

namespace ptxloom::test {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(fs::temp_directory_path() / ("ptxloom-npy-" + std::to_string(std::random_device{}()))) {
    fs::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  fs::path operator/(std::string_view name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file of version 1.0 with any header, padded as numpy does it.
std::string npy(std::string header, std::string_view data = {}) {
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file.append(header).append(data);
}

std::string code_of(std::string_view file) {
  try {
    parse_npy(bytes_of(file), "a.npy");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).find("a.npy") != std::string::npos);
    CHECK_FALSE(error.diagnostics().front().hint.empty());
    return error.diagnostics().front().code;
  }
  return "read";
}

std::string hint_of(std::string_view file) {
  try {
    parse_npy(bytes_of(file), "a.npy");
  } catch (const Error& error) {
    return error.diagnostics().front().hint;
  }
  return "read";
}

}  // namespace

TEST_CASE("an array is written byte for byte as numpy writes it") {
  const NpyArray matrix{.dtype = "<f4", .shape = {2, 3}, .bytes = bytes_of("abcdefghijklmnopqrstuvwx")};
  // numpy 2: numpy.save of that array
  const std::string wanted = std::string("\x93NUMPY\1\0v\0", 10) +
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                             std::string(58, ' ') + "\nabcdefghijklmnopqrstuvwx";
  CHECK(text_of(format_npy(matrix)) == wanted);
  const auto header = [](const std::vector<std::size_t>& shape) {
    const std::string file = text_of(format_npy({.dtype = "|u1", .shape = shape, .bytes = bytes_of("x")}));
    return file.substr(10, file.find('}') - 9);
  };
  CHECK(header({1}) == "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }");
  CHECK(header({}) == "{'descr': '|u1', 'fortran_order': False, 'shape': (), }");
}

TEST_CASE("what is written is read back") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const TemporaryFolder folder;
  for (const std::string dtype :
       {"<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "|b1"}) {
    NpyArray array{.dtype = dtype, .shape = {}, .bytes = {}};
    std::size_t size = static_cast<std::size_t>(dtype[2] - '0');
    for (std::size_t axis = 0, axes = random() % 4; axis < axes; ++axis) {
      array.shape.push_back(random() % 7);
      size *= array.shape.back();
    }
    for (std::size_t i = 0; i < size; ++i) array.bytes.push_back(static_cast<std::byte>(random()));
    write_npy(folder / "a.npy", array);
    const NpyArray back = read_npy(folder / "a.npy");
    CHECK(back.dtype == dtype);
    CHECK(back.shape == array.shape);
    CHECK(back.bytes == array.bytes);
  }
}

TEST_CASE("headers of all versions and spellings are read") {
  const std::string dictionary = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
  const std::string length{static_cast<char>(dictionary.size()), '\0'};
  for (const char version : {'\1', '\2', '\3'}) {
    const std::string file = std::string("\x93NUMPY") + version + '\0' + length +
                             (version == '\1' ? "" : std::string(2, '\0')) + dictionary + "wxyz";
    CHECK(parse_npy(bytes_of(file), "a.npy").bytes == bytes_of("wxyz"));
  }
  const auto dtype_of = [](const std::string& header, std::string_view data) {
    return parse_npy(bytes_of(npy(header, data)), "a.npy").dtype;
  };
  CHECK(dtype_of("{\"shape\":(1,1L),\"descr\":\"=f2\",\"fortran_order\":False}", "ab") == "<f2");
  CHECK(dtype_of("{'descr': '>u1', 'fortran_order': False, 'shape': (2,)}", "ab") == "|u1");
  CHECK(dtype_of("{'descr': '|b1', 'fortran_order': True, 'shape': (2,)}", "ab") ==
        "|b1");  // one axis: no matter
  CHECK(dtype_of("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999, 99999999999)}", "") ==
        "<f8");
}

TEST_CASE("a file that cannot be used is refused with what to do about it") {
  const auto header = [](std::string_view descr, std::string_view fortran, std::string_view shape) {
    return "{'descr': " + std::string(descr) + ", 'fortran_order': " + std::string(fortran) +
           ", 'shape': " + std::string(shape) + ", }";
  };
  const std::string good = npy(header("'<f4'", "False", "(2, 1)"), "12345678");
  REQUIRE(code_of(good) == "read");
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO("cut to " << size << " bytes");
    CHECK(code_of(good.substr(0, size)) == (size < 6 ? "npy-not-npy" : "npy-truncated"));
  }
  CHECK(code_of(good + "9") == "npy-trailing-data");
  CHECK(code_of("PK\3\4 a zip file") == "npy-not-npy");
  CHECK(code_of(std::string("\x93NUMPY\4\0", 8) + good.substr(8)) == "npy-version");
  CHECK(code_of(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12) + good) == "npy-header-too-large");
  CHECK(code_of(npy(header("'>f4'", "False", "(2, 1)"), "12345678")) == "npy-byte-order");
  CHECK(hint_of(npy(header("'>f4'", "False", "(2, 1)"), "12345678")).find("astype('<f4')") !=
        std::string::npos);
  CHECK(code_of(npy(header("'<f4'", "True", "(2, 1)"), "12345678")) == "npy-fortran-order");
  CHECK(hint_of(npy(header("'<f4'", "True", "(2, 1)"), "12345678")).find("ascontiguousarray") !=
        std::string::npos);
  for (const std::string descr :
       {"'<c8'", "'|O'", "'<U4'", "''", "'<'", "'<f16'", "'<f3'", "[('x', '<f4')]"}) {
    INFO(descr);
    CHECK(code_of(npy(header(descr, "False", "(2, 1)"), "12345678")) == "npy-dtype");
  }
  CHECK(code_of(npy(header("'<f4'", "False", "(99999999999, 99999999999)"))) == "npy-shape-overflow");
  CHECK(code_of(npy(header("'<f4'", "False", "(99999999999999999999,)"))) == "npy-shape-overflow");
  for (const std::string broken :
       {"", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4}", "{'descr': 5, ", "{'shape': (2, 1",
        "{'shape': (-2,)}", "{'shape': [2, 1]}", "{'fortran_order': 0}", "{'descr': '<f4' 'shape': ()}",
        "{'a': 1}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), } more"}) {
    INFO(broken);
    CHECK(code_of(npy(broken, "12345678")) == "npy-header");
  }
}

TEST_CASE("no sequence of bytes does worse than being refused") {
  const std::uint64_t seed = GENERATE(std::uint64_t{1}, std::uint64_t{std::random_device{}()});
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const std::string words[] = {"'",    "(",     ")",     "{",          "}", ",",  ":",
                               "True", "'<f8'", "'>i4'", "9999999999", "L", "\n", "-"};
  std::size_t read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string file =
        npy("{'descr': '<i2', 'fortran_order': False, 'shape': (3, 4), }", std::string(24, 'x'));
    for (std::uint64_t edits = random() % 4 + 1; edits > 0; --edits) {
      const std::size_t at = random() % file.size();
      switch (random() % 5) {
        case 0:
          file[at] = static_cast<char>(random());
          break;
        case 1:
          file.erase(at, random() % 8);
          break;
        case 2:
          file.insert(at % 80, words[random() % std::size(words)]);
          break;
        case 3:
          file[at % 80] = words[random() % std::size(words)][0];
          break;
        default:
          file.resize(random() % 4 == 0 ? at : file.size());
          break;
      }
      if (file.empty()) break;
    }
    try {
      const NpyArray array = parse_npy(bytes_of(file), "soup");
      const NpyArray again =
          parse_npy(format_npy(array), "again");  // which checks that shape and bytes agree
      if (again.bytes != array.bytes || again.shape != array.shape) FAIL("read as another array");
      ++read;
    } catch (const Error& error) {
      if (error.diagnostics().front().code.find("npy-") != 0) FAIL(error.what());
    }
  }
  CHECK(read > 100);  // else the mutations never get past the magic
}

TEST_CASE("files the system refuses are named") {
  const TemporaryFolder folder;
  const auto code = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return error.diagnostics().front().code;
    }
    return "done";
  };
  const NpyArray array{.dtype = "|u1", .shape = {3}, .bytes = bytes_of("abc")};
  CHECK(code([&] { read_npy(folder / "none.npy"); }) == "unreadable-file");
  CHECK(code([&] { read_npy(folder.path()); }) == "unreadable-file");
  CHECK(code([&] { write_npy(folder / "none" / "a.npy", array); }) == "unwritable-file");
  CHECK(code([&] { write_npy(folder.path(), array); }) == "unwritable-file");
}

TEST_CASE("an array that is not written leaves the old file whole") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.npy";
  write_npy(path, {.dtype = "|u1", .shape = {3}, .bytes = bytes_of("abc")});
  const std::string before = content_of(path);
  CHECK_THROWS_AS(write_npy(path, {.dtype = "|u1", .shape = {4}, .bytes = bytes_of("abc")}), Error);
  CHECK_THROWS_AS(write_npy(path, {.dtype = "<c8", .shape = {1}, .bytes = bytes_of("abcdefgh")}), Error);
  CHECK_THROWS_AS(write_npy(path, {.dtype = ">f4", .shape = {1}, .bytes = bytes_of("abcd")}), Error);
  CHECK(content_of(path) == before);
  if (::geteuid() != 0) {  // root may write anywhere
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    CHECK_THROWS_AS(write_npy(path, {.dtype = "|u1", .shape = {1}, .bytes = bytes_of("z")}), Error);
    CHECK(content_of(path) == before);
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);  // no temporary file is left
}

TEST_CASE("every element type has a dtype to travel in") {
  CHECK(npy_dtype(f16) == "<f2");
  CHECK(npy_dtype(tf32) == "<f4");
  CHECK(npy_dtype(f64) == "<f8");
  CHECK(npy_dtype(bf16) == "<u2");
  CHECK(npy_dtype(e4m3) == "|u1");
  CHECK(npy_dtype(e2m1) == "|u1");
  CHECK(npy_dtype(s4) == "|u1");
  CHECK(npy_dtype(s8) == "|i1");
  CHECK(npy_dtype(s32) == "<i4");
  CHECK(npy_dtype(b64) == "<u8");
  CHECK(npy_dtype(f16x2) == "<u4");
  CHECK_THROWS_AS(npy_dtype(b128), Error);
}

}  // namespace ptxloom::test
