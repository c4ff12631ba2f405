// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/gemm/gemm_suite.hpp"
#include "ptxloom/gemm.hpp"

// What gemm_vs_cublaslt has measured: one JSON object a line for each case, and the table people read.
//   problem; device, library, linker; config, us, evaluations: of ours; cublaslt: its version; seconds: of
//   all that was done for the case. default, best, streaming: what ours is compared with, each {us, ratio,
//   low, high}: its time, the median of its time over ours, turn by turn, and where that lies with 95 %
//   confidence. refused: why cuBLASLt has no time; failure: why ours has none.
namespace ptxloom::bench {

inline std::vector<nlohmann::json> read_lines(const std::string& file) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(file);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    auto parsed = nlohmann::json::parse(line, nullptr, false);
    if (!parsed.is_object() || !parsed.contains("problem"))
      throw Error(ErrorKind::usage, "bad-line", fmt::format("line {} of {} is no case", number, file),
                  "take the line out; the case is measured again");
    lines.push_back(std::move(parsed));
  }
  return lines;
}

inline std::string shape_of(const nlohmann::json& line) {
  const auto size = [&](const char* name) { return line.at("problem").at(name).get<std::string>(); };
  return fmt::format("{},{},{}", size("m"), size("n"), size("k"));
}

inline std::string ratio_of(const nlohmann::json& line, const char* rival, const char* otherwise) {
  return line.contains(rival) ? fmt::format("{:.2f}", line.at(rival).at("ratio").get<double>()) : otherwise;
}

/// Its words, but for the shape of the mma, which the type decides, and values that most have.
inline std::string config_of(const nlohmann::json& line) {
  const Settings common = {{"split", "1"},        {"stream_k", "no"}, {"schedule", "cooperative"},
                           {"multicast", "none"}, {"swap", "no"},     {"static", "mnk"},
                           {"prefetch", "step"},  {"loads", "warp"}};
  std::string text;
  for (const auto& [word, value] : line.at("config").get<Settings>()) {
    const auto usual = common.find(word);
    if (word == "mma" || (usual != common.end() && usual->second == value)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", word, value);
  }
  return text;
}

inline std::string row_of(const nlohmann::json& line) {
  if (line.contains("failure"))
    return fmt::format("| {} | - | - | - | - | | {} |\n", shape_of(line),
                       line.at("failure").get<std::string>());
  const double us = line.at("us"),
               operations = gemm_template().operations(line.at("problem").get<Settings>());
  const std::string config = config_of(line);
  const char* const absent = line.contains("refused") ? "refused" : "-";
  return fmt::format("| {} | {:.1f} | {:.2f} | {} | {} | {} | {} |\n", shape_of(line), operations / us * 1e-6,
                     us, ratio_of(line, "default", absent), ratio_of(line, "best", absent),
                     ratio_of(line, "streaming", ""), config);
}

/// Of a type's ratios to one rival.
struct Ratios {
  int count = 0;
  double logarithms = 0, worst = 0;
  std::string worst_shape;

  void take(const nlohmann::json& line, const char* rival) {
    if (!line.contains(rival)) return;
    const double ratio = line.at(rival).at("ratio");
    if (count++ == 0 || ratio < worst) worst = ratio, worst_shape = shape_of(line);
    logarithms += std::log(ratio);
  }
  std::string words() const {
    if (count == 0) return "no case";
    return fmt::format("geometric mean {:.3f}, worst {:.3f} at {}, {} cases", std::exp(logarithms / count),
                       worst, worst_shape, count);
  }
};

inline void print_type(const std::string& type, const std::vector<const nlohmann::json*>& lines) {
  fmt::print("\n### {}\n\n", type);
  fmt::print("| M,N,K | TFLOP/s | us | of default | of best | of a streaming read | configuration |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const nlohmann::json* line : lines) fmt::print("{}", row_of(*line));
}

inline void print_summary(const std::string& type, const std::vector<const nlohmann::json*>& lines) {
  std::map<std::string, Ratios> by_rival;
  std::size_t refused = 0, failed = 0;
  for (const nlohmann::json* line : lines) {
    for (const char* rival : {"default", "best", "streaming"}) by_rival[rival].take(*line, rival);
    refused += line->count("refused");
    failed += line->count("failure");
  }
  fmt::print(
      "- {}: against the default: {}; against the best: {}; of a streaming read: {}; {} refused by "
      "cuBLASLt, {} of ours failed\n",
      type, by_rival["default"].words(), by_rival["best"].words(), by_rival["streaming"].words(), refused,
      failed);
}

/// All lines, by type, and below a line for each type.
inline void print_table(const std::vector<nlohmann::json>& lines) {
  const auto print_each = [&](const auto& print) {
    for (const SuiteType& type : kSuiteTypes) {
      std::vector<const nlohmann::json*> own;
      for (const nlohmann::json& line : lines)
        if (line.at("problem").at("a") == type.ab) own.push_back(&line);
      if (!own.empty()) print(fmt::format("{}, D {}", type.ab, type.d), own);
    }
  };
  print_each(print_type);
  fmt::print("\n");
  print_each(print_summary);
}

}  // namespace ptxloom::bench
