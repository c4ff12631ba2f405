// SPDX-License-Identifier: Apache-2.0
// All formats, types, scales and targets over rows of odd lengths and pitches, with values at the boundaries.
#include "quantize/naive.hpp"

using namespace ptxloom;
using test::boundary_x;
using test::run_quantize;
using test::with;

namespace {

constexpr const char* kFormats[] = {"s8",         "s4",         "e4m3",       "e5m2",  "mxfp8_e4m3",
                                    "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"};
constexpr const char* kSources[] = {"f32", "f16", "bf16"};

Settings matrix(const char* format, int rows, int n, const Settings& more = {}) {
  return with({{"format", format}, {"rows", std::to_string(rows)}, {"n", std::to_string(n)}}, more);
}

std::mt19937& generator() {
  static std::mt19937 random(Catch::getSeed());
  return random;
}

void run_boundaries(const Settings& problem, const Settings& config = {},
                    const std::string& target = "sm_100a") {
  run_quantize(problem, config, {boundary_x(problem, generator())}, target);
}

/// Elements that end at a whole byte.
int unit_of(const std::string& format) {
  return format == "s4" || format.ends_with("fp4") ? 2 : format.starts_with("mxfp6") ? 4 : 1;
}

}  // namespace

TEST_CASE("quantize: all formats and types, by the default choice") {
  for (const char* format : kFormats)
    for (const char* x : kSources)
      for (const int n : {1, 31, 33, 256, 1000, 1023}) {
        run_boundaries(matrix(format, 5, n, {{"x", x}}));
        run_quantize(matrix(format, 3, n, {{"x", x}}));
      }
}

TEST_CASE("quantize: scales of a tensor, of rows and of groups") {
  for (const char* format : {"s8", "s4", "e4m3", "e5m2"})
    for (const char* scales : {"tensor", "row", "group"})
      for (const int n : {7, 130, 777}) run_boundaries(matrix(format, 4, n, {{"scales", scales}}));
  for (const char* group : {"16", "32", "64", "128", "256", "512"})
    for (const char* x : kSources)
      run_boundaries(matrix("s8", 3, 1031, {{"scales", "group"}, {"group", group}, {"x", x}}));
}

TEST_CASE("quantize: rows whose chunks begin where x is aligned, in many configurations") {
  const Specs specs;
  for (const char* scales : {"row", "tensor"})
    for (const auto& [n, pitch_x, pitch_y] : {std::array{517, 517, 517}, {333, 341, 349}, {30, 31, 63}}) {
      const Settings problem = matrix(
          scales == std::string("row") ? "e4m3" : "s8", 9, n,
          {{"scales", scales}, {"pitch_x", std::to_string(pitch_x)}, {"pitch_y", std::to_string(pitch_y)}});
      const tune::Admissible all =
          admit(test::quantize().tuning_space(specs, Target("sm_90a"), test::quantize().problem(problem)),
                Target("sm_90a"));
      for (std::size_t i = generator()() % 16; i < all.size(); i += 16)
        run_boundaries(problem, all.settings(i), "sm_90a");
    }
}

TEST_CASE("quantize: scales of blocks of 128 x 128, in every configuration") {
  const Specs specs;
  for (const char* format : {"s8", "s4", "e4m3", "e5m2"}) {
    for (const auto& [rows, n] : {std::pair{1, 1}, {128, 128}, {129, 257}, {300, 97}})
      run_boundaries(matrix(format, rows, n, {{"scales", "block"}}));
    const Settings problem =
        matrix(format, 130, 333, {{"scales", "block"}, {"x", "f16"}, {"pitch_x", "335"}});
    const tune::Admissible all =
        admit(test::quantize().tuning_space(specs, Target("sm_100a"), test::quantize().problem(problem)),
              Target("sm_100a"));
    CHECK(all.size() >= 4);
    for (std::size_t i = 0; i < all.size(); ++i) run_boundaries(problem, all.settings(i));
  }
}

TEST_CASE("quantize: scales rounded up clamp nothing") {
  for (const char* format : {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4"})
    for (const char* x : kSources) run_boundaries(matrix(format, 5, 777, {{"scale_round", "up"}, {"x", x}}));
}

TEST_CASE("quantize: targets with the conversions, and without") {
  for (const char* target : {"sm_75", "sm_80", "sm_90a", "sm_103a", "sm_120a", "sm_121a"})
    for (const char* format : {"s8", "s4"}) {
      run_boundaries(matrix(format, 3, 333), {}, target);
      run_boundaries(matrix(format, 3, 333, {{"scales", "group"}}), {}, target);
    }
  for (const char* target : {"sm_75", "sm_86", "sm_89", "sm_90a", "sm_120a"})
    for (const char* format : {"e4m3", "e5m2", "mxfp8_e4m3", "mxfp8_e5m2"})
      run_boundaries(matrix(format, 3, 333), {}, target);
  for (const char* target : {"sm_75", "sm_80", "sm_90a", "sm_100", "sm_103a", "sm_120a", "sm_120f"})
    for (const char* format : {"mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"})
      run_boundaries(matrix(format, 3, 333), {}, target);
}

TEST_CASE("quantize: random configurations of random problems") {
  const auto below = [&](std::size_t n) { return static_cast<int>(generator()() % n); };
  const Specs specs;
  for (int i = 0; i < 300; ++i) {
    const std::string format = kFormats[below(10)];
    const int n = 1 + below(std::size_t{1} << (2 + below(11))),
              unit = format.starts_with("mxfp6") ? 16 : unit_of(format);
    Settings problem = matrix(format.c_str(), 1 + below(9), n, {{"x", kSources[below(3)]}});
    if (format.starts_with("mx")) problem["scale_round"] = below(2) == 0 ? "down" : "up";
    if (!format.starts_with("mx") && format != "nvfp4") {
      problem["scales"] = std::array{"tensor", "row", "group", "block"}[static_cast<std::size_t>(below(4))];
      if (problem["scales"] == "group") problem["group"] = std::to_string(16 << below(6));
    }
    if (problem.contains("scale_round") && below(2) == 0) problem["scale_layout"] = "tiles";
    const bool padded = format.starts_with("mxfp6") && below(2) == 0;
    if (padded) problem["packing"] = "padded";
    if (below(3) == 0) problem["round"] = "stochastic", problem["seed"] = std::to_string(generator()());
    const bool along_n =
        problem.contains("scales") && (problem["scales"] == "row" || problem["scales"] == "block");
    const bool transposed = !along_n && below(3) == 0;
    if (transposed) problem["transpose"] = "yes";
    if (below(2) == 0) problem["pitch_x"] = std::to_string((transposed ? 9 : n) + below(9));
    if (below(2) == 0) problem["pitch_y"] = std::to_string((n + unit - 1 + below(9) * unit) / unit * unit);
    const tune::Admissible all =
        admit(test::quantize().tuning_space(specs, Target("sm_100a"), test::quantize().problem(problem)),
              Target("sm_100a"));
    REQUIRE(all.size() > 0);
    run_boundaries(problem, all.settings(generator()() % all.size()));
  }
}
