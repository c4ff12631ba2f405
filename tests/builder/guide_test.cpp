// SPDX-License-Identifier: Apache-2.0
// The kernels that docs/builder.md shows in CUDA C++ beside the builder's: they are compiled, compute the
// same, and are not shorter.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "builder/running.hpp"
#include "support/errors.hpp"
#include "support/folders.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::builder_test {
namespace {

const std::filesystem::path kSamples = std::filesystem::path(test::source_folder()) / "samples";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Lines of the part that the guide quotes, without empty ones and those that are a comment alone.
int code_lines(const std::string& file, const std::string& part) {
  std::istringstream text(text_of(kSamples / file));
  int lines = 0;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line == "// }") inside = false;
    if (inside && !line.empty() && !line.starts_with("//")) ++lines;
    if (line == "// guide " + part + " {") inside = true;
  }
  return lines;
}

/// The PTX of a kernel in CUDA, loaded in the executor.
Kernel compiled(const std::string& name, const char* target) {
  const auto nvcc = find_cuda_tool("nvcc");
  if (!nvcc) test::skip_without("nvcc", "nvcc is not installed");
  const TemporaryFolder folder;
  const std::filesystem::path ptx = folder / (name + ".ptx");
  const CommandResult result =
      run_command(*nvcc + " -std=c++17 -ptx -arch=" + target + " " +
                  (kSamples / "cuda" / (name + ".cu")).string() + " -o " + ptx.string());
  INFO(result.output);
  REQUIRE(result.status == 0);
  return executor().load(text_of(ptx), name);
}

}  // namespace

TEST_CASE("a kernel of the builder is not longer than the same one in CUDA") {
  for (const std::string name : {"softmax", "mma_tile"}) {
    const int built = code_lines(name + ".cpp", name), cuda = code_lines("cuda/" + name + ".cu", name);
    CAPTURE(name, built, cuda);
    CHECK(built > 15);
    CHECK(built <= cuda);
  }
}

TEST_CASE("the guide shows the message as it is, of the line that it quotes") {
  KernelBuilder k(executor(), "wrong", Target("sm_75"));
  const std::string told = error_of([&] { k.redux_add(k.special("tid.x")); }).what();
  const std::string guide = text_of(kSamples.parent_path() / "docs/builder.md");
  const std::string start = "error: builder_tour.cpp:";
  const std::size_t at = guide.find(start);
  REQUIRE(at != guide.npos);
  const int shown = std::stoi(guide.substr(at + start.size()));
  CHECK(guide.find(told.substr(told.find(": kernel wrong")), at) != guide.npos);
  std::ifstream sample(kSamples / "builder_tour.cpp");
  std::string line;
  for (int n = 0; n < shown; ++n) std::getline(sample, line);
  CHECK(line.find("k.redux_add(") != line.npos);
}

TEST_CASE("the guide's softmax in CUDA computes a softmax", "[slow]") {
  const Kernel kernel = compiled("softmax", "sm_75");
  constexpr std::uint32_t kRows = 3, kColumns = 301;
  std::mt19937 random(Catch::getSeed());
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> in(kRows * kColumns), out(in.size());
  for (float& value : in) value = normal(random);
  Buffer given = executor().alloc(4 * in.size()), made = executor().alloc(4 * in.size());
  given.copy_from(in);
  kernel.launch(nullptr, {.grid = {kRows}, .block = {256}}, {kColumns, given, made});
  made.copy_to(out);
  for (std::size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < kColumns; ++i) sum += std::exp(double{in[row * kColumns + i]});
    for (std::size_t i = 0; i < kColumns; ++i) {
      const double expected = std::exp(double{in[row * kColumns + i]}) / sum;
      CAPTURE(row, i, Catch::getSeed());
      CHECK(std::abs(out[row * kColumns + i] - expected) <= 1e-5 * expected);
    }
  }
}

TEST_CASE("the guide's tile in CUDA is a product", "[slow]") {
  const Kernel kernel = compiled("mma_tile", "sm_80");
  std::mt19937 random(Catch::getSeed());
  // Integers below 64, whose f16 is their bits behind the leading one; all sums are exact in f32.
  const auto half = [](int value) {
    if (value == 0) return std::uint16_t{0};
    int exponent = 0;
    while (value >> (exponent + 1) != 0) ++exponent;
    return static_cast<std::uint16_t>((15 + exponent) << 10 | ((value << (10 - exponent)) & 0x3ff));
  };
  std::vector<int> a(16 * 16), b(8 * 16);
  for (int& value : a) value = static_cast<int>(random() % 64);
  for (int& value : b) value = static_cast<int>(random() % 64);
  const auto bits = [&](const std::vector<int>& values) {
    std::vector<std::uint16_t> all;
    for (const int value : values) all.push_back(half(value));
    return all;
  };
  Buffer da = executor().alloc(2 * a.size()), db = executor().alloc(2 * b.size()),
         dd = executor().alloc(4 * 128);
  da.copy_from(bits(a));
  db.copy_from(bits(b));
  kernel.launch(nullptr, {.block = {32}}, {da, db, dd});
  std::vector<float> d(128);
  dd.copy_to(d);
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 8; ++column) {
      int sum = 0;
      for (std::size_t i = 0; i < 16; ++i) sum += a[row * 16 + i] * b[column * 16 + i];
      CAPTURE(row, column, Catch::getSeed());
      CHECK(d[row * 8 + column] == static_cast<float>(sum));
    }
}

}  // namespace ptxloom::builder_test
