// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/plan.hpp"

// What scaled_gemm is timed at: products of one matrix of weights, and those of experts whose tokens are
// drawn at random.
namespace ptxloom::bench {

struct ScaledCase {
  std::string text;    ///< as on the command line
  std::string groups;  ///< "none", "masked" or "contiguous"
  std::string format_a, format_b;
  bool swiglu = false;
  std::uint64_t n = 0, k = 0;
  std::vector<std::uint64_t> rows;  ///< of each expert; without experts M

  std::uint64_t experts() const { return rows.size(); }
  std::uint64_t all_rows() const { return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}); }
  /// Rows in memory from the first of an expert to the first of the next: as many for all, or as contiguous
  /// groups of 128 rows.
  std::uint64_t capacity(std::size_t expert) const {
    constexpr std::uint64_t kGroupRows = 128, kUnit = 16;
    if (groups == "none") return rows[expert];
    const auto up = [](std::uint64_t count, std::uint64_t to) { return (count + to - 1) / to * to; };
    if (groups == "contiguous") return up(rows[expert], kGroupRows);
    return up(std::max<std::uint64_t>(std::ranges::max(rows), 1), kUnit);
  }
  std::uint64_t first_row(std::size_t expert) const {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < expert; ++i) first += capacity(i);
    return first;
  }
  double operations() const {
    return 2.0 * static_cast<double>(all_rows()) * static_cast<double>(n) * static_cast<double>(k);
  }
};

inline std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

inline std::vector<std::uint64_t> numbers_of(const std::string& text, std::size_t count) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& part : parts_of(text, 'x')) {
    const char* const end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, numbers.emplace_back());
    if (error != std::errc() || stop != end || numbers.back() == 0) numbers.clear();
  }
  if (numbers.size() != count)
    throw Error(ErrorKind::usage, "bad-usage",
                count == 1 ? fmt::format("'{}' is not a positive size", text)
                           : fmt::format("'{}' is not {} positive sizes with x between them", text, count));
  return numbers;
}

/// How many of the tokens each expert gets if each token chooses `top` different ones at random.
inline std::vector<std::uint64_t> drawn_rows(std::uint64_t experts, std::uint64_t tokens, std::uint64_t top) {
  std::mt19937_64 random(experts);
  std::vector<std::uint64_t> rows(experts), all(experts);
  std::iota(all.begin(), all.end(), 0);
  for (std::uint64_t token = 0; token < tokens; ++token)
    for (std::uint64_t i = 0; i < std::min(top, experts); ++i) {
      std::swap(all[i], all[i + random() % (experts - i)]);
      ++rows[all[i]];
    }
  return rows;
}

/// "dense:A:B:M[:NxK]", "swiglu:A:B:M[:NxK]", or
/// "masked|contiguous:A:B:EXPERTS:TOKENSxTOP:NxK[:swiglu]".
inline ScaledCase scaled_case(const std::string& text) {
  const std::vector<std::string> words = parts_of(text, ':');
  ScaledCase one{.text = text, .groups = "none"};
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  one.format_a = word(1);
  one.format_b = word(2);
  std::string sizes = "8192x8192";
  if (word(0) == "dense" || word(0) == "swiglu") {
    one.swiglu = word(0) == "swiglu";
    one.rows = numbers_of(word(3), 1);
    if (words.size() > 4) sizes = words[4];
  } else if (word(0) == "masked" || word(0) == "contiguous") {
    one.groups = words[0];
    one.swiglu = word(6) == "swiglu";
    const std::vector<std::uint64_t> tokens = numbers_of(word(4), 2);
    one.rows = drawn_rows(numbers_of(word(3), 1)[0], tokens[0], tokens[1]);
    sizes = word(5);
  } else {
    throw Error(ErrorKind::usage, "bad-usage", fmt::format("'{}' is no case", text),
                "a case begins with dense, swiglu, masked or contiguous");
  }
  const std::vector<std::uint64_t> both = numbers_of(sizes, 2);
  one.n = both[0];
  one.k = both[1];
  return one;
}

/// The parameters of its problem that are the same for all kernels.
inline Settings sizes_of(const ScaledCase& what) {
  const std::uint64_t m = what.groups == "contiguous" ? what.first_row(what.experts()) : what.capacity(0);
  return {{"m", std::to_string(m)},
          {"n", std::to_string(what.n)},
          {"k", std::to_string(what.k)},
          {"d", "bf16"},
          {"batch", std::to_string(what.experts())},
          {"groups", what.groups}};
}

/// Its problem for scaled_gemm; `more` are further parameters.
inline Settings scaled_problem(const ScaledCase& what, const std::string& format_a, bool swiglu,
                               const Settings& more) {
  Settings words = sizes_of(what);
  words.insert(more.begin(), more.end());
  words["format_a"] = format_a;
  words["format_b"] = what.format_b;
  words["swiglu"] = swiglu ? "yes" : "no";
  return words;
}

inline std::vector<ScaledCase> all_scaled_cases() {
  std::vector<ScaledCase> all;
  for (const char* b : {"s4", "mxfp4", "nvfp4"})
    for (const int m : {1, 16, 64, 128, 256, 4096})
      all.push_back(scaled_case(fmt::format("dense:bf16:{}:{}", b, m)));
  for (const char* shape : {"5760x2880", "4096x7168"})
    for (const int experts : {8, 64})
      for (const char* tokens : {"4096x2", "4096x8", experts == 8 ? "64x2" : "512x2"})
        for (const char* b : {"s4", "mxfp4"})
          for (const char* groups : {"masked", "contiguous"})
            all.push_back(scaled_case(fmt::format("{}:bf16:{}:{}:{}:{}", groups, b, experts, tokens, shape)));
  for (const char* formats : {"bf16:mxfp6_e2m3", "bf16:mxfp6_e3m2", "f16:mxfp4", "mxfp4:mxfp4", "nvfp4:nvfp4",
                              "e4m3:nvfp4", "e4m3:u4", "e4m3:mxfp6_e2m3", "s8:u4"})
    for (const int m : {16, 256, 4096}) all.push_back(scaled_case(fmt::format("dense:{}:{}", formats, m)));
  for (const int m : {256, 4096}) all.push_back(scaled_case(fmt::format("dense:s8:s4:{}", m)));
  for (const char* b : {"s4", "mxfp4"}) {
    for (const int m : {256, 4096}) all.push_back(scaled_case(fmt::format("dense:e4m3:{}:{}", b, m)));
    for (const char* shape : {"5760x2880", "4096x7168"})
      for (const char* group : {"8:4096x2", "64:4096x2", "64:4096x8"})
        all.push_back(scaled_case(fmt::format("contiguous:e4m3:{}:{}:{}", b, group, shape)));
    for (const int m : {16, 4096}) all.push_back(scaled_case(fmt::format("swiglu:bf16:{}:{}", b, m)));
    all.push_back(scaled_case(fmt::format("contiguous:bf16:{}:8:4096x2:5760x2880:swiglu", b)));
  }
  return all;
}

}  // namespace ptxloom::bench
