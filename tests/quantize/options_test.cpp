// SPDX-License-Identifier: Apache-2.0
// Scales in tiles, and stochastic rounding.
#include <catch2/matchers/catch_matchers_string.hpp>

#include "quantize/naive.hpp"

using namespace ptxloom;
using test::run_quantize;
using test::with;

namespace {

const Settings kRandomly{{"round", "stochastic"}, {"seed", "77"}};

/// Sums of y and of x / scale over a matrix of one value.
struct Sums {
  double got = 0, wanted = 0;
};

Sums sums_of(const RunResult& run, double value) {
  const HostTensor &y = test::tensor_of(run, "y"), &scale = test::tensor_of(run, "scale");
  Sums sums;
  const double factor =
      test::narrow::decode(scale.plan.type, test::narrow::load(scale.plan.type, scale.bytes, 0));
  for (const double one : test::narrow::values(y.plan.type, y.bytes)) {
    sums.got += one * factor;
    sums.wanted += value;
  }
  return sums;
}

}  // namespace

TEST_CASE("quantize: scales in tiles of 128 rows and 4 columns, with zeros outside the matrix") {
  for (const char* format : {"mxfp8_e4m3", "mxfp6_e3m2", "mxfp4", "nvfp4"})
    for (const auto& [rows, n] : {std::pair{1, 1}, {128, 128}, {129, 160}, {300, 97}, {31, 513}}) {
      const RunResult run = run_quantize({{"format", format},
                                          {"rows", std::to_string(rows)},
                                          {"n", std::to_string(n)},
                                          {"scale_layout", "tiles"}});
      const HostTensor& scale = test::tensor_of(run, "scale");
      CHECK(scale.bytes.size() % 512 == 0);
      const std::size_t columns = (static_cast<std::size_t>(n) + (std::string(format) == "nvfp4" ? 15 : 31)) /
                                  (std::string(format) == "nvfp4" ? 16 : 32),
                        across = (columns + 3) / 4;
      for (std::size_t i = 0; i < scale.bytes.size(); ++i) {
        const std::size_t tile = i / 512, row = tile / across * 128 + i % 16 / 4 * 32 + i % 512 / 16;
        const std::size_t column = tile % across * 4 + i % 4;
        if (row >= static_cast<std::size_t>(rows) || column >= columns) CHECK(scale.bytes[i] == std::byte{0});
      }
    }
}

TEST_CASE("quantize: tiles and seeds are refused where they have no meaning") {
  const auto refusal = [](const Settings& more) -> std::string {
    try {
      test::quantize().problem(with({{"rows", "4"}, {"n", "100"}}, more));
    } catch (const Error& error) {
      return error.what();
    }
    return "it was accepted";
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(refusal({{"format", "s8"}, {"scale_layout", "tiles"}}), ContainsSubstring("scales of 8 bits"));
  CHECK_THAT(refusal({{"format", "mxfp4"}, {"packing", "padded"}}), ContainsSubstring("elements of 6 bits"));
  CHECK_THAT(refusal({{"format", "mxfp6_e2m3"}, {"packing", "padded"}, {"pitch_y", "104"}}),
             ContainsSubstring("give a multiple of 16"));
  CHECK_THAT(refusal({{"format", "s8"}, {"scale_of_tensor", "computed"}}),
             ContainsSubstring("for scales=tensor and format=nvfp4"));
  CHECK_THAT(refusal({{"format", "mxfp4"}, {"transpose", "yes"}, {"pitch_x", "3"}}),
             ContainsSubstring("shorter than a row of 4"));
  CHECK_THAT(refusal({{"format", "s8"}, {"seed", "3"}}), ContainsSubstring("use round=stochastic"));
}

TEST_CASE("quantize: elements of 6 bits, 16 of them in 16 bytes") {
  std::mt19937 random(Catch::getSeed());
  for (const char* format : {"mxfp6_e2m3", "mxfp6_e3m2"})
    for (const int n : {1, 16, 31, 333})
      for (const char* pitch : {"0", "352"}) {
        const Settings problem{{"format", format},
                               {"rows", "3"},
                               {"n", std::to_string(n)},
                               {"pitch_y", pitch},
                               {"packing", "padded"}};
        run_quantize(problem, {}, {test::boundary_x(problem, random)});
        run_quantize(with(problem, kRandomly));
      }
}

TEST_CASE("quantize: the transpose of x, in every type and format") {
  std::mt19937 random(Catch::getSeed());
  for (const char* format : {"s8", "s4", "e5m2", "mxfp8_e4m3", "mxfp6_e2m3", "mxfp4", "nvfp4"})
    for (const char* x : {"f32", "f16", "bf16"})
      for (const auto& [rows, n] : {std::pair{1, 1}, {64, 128}, {37, 333}, {100, 31}}) {
        Settings problem{{"format", format},
                         {"x", x},
                         {"rows", std::to_string(rows)},
                         {"n", std::to_string(n)},
                         {"transpose", "yes"}};
        if (*format == 's' || *format == 'e') problem["scales"] = n == 333 ? "tensor" : "group";
        run_quantize(problem, {}, {test::boundary_x(problem, random)});
        problem["pitch_x"] = std::to_string(rows + 3);
        run_quantize(problem, {}, {test::boundary_x(problem, random)});
      }
}

TEST_CASE("quantize: stochastic rounding is the same in every configuration") {
  for (const char* format : {"s8", "e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp4", "nvfp4"}) {
    const Settings problem = with({{"format", format}, {"rows", "3"}, {"n", "517"}}, kRandomly);
    const HostTensor first = test::tensor_of(run_quantize(problem), "y");
    const Specs specs;
    const tune::Admissible all =
        admit(test::quantize().tuning_space(specs, Target("sm_100a"), test::quantize().problem(problem)),
              Target("sm_100a"));
    for (std::size_t i = 0; i < 12; ++i) {
      const RunResult other = run_quantize(problem, all.settings(i * all.size() / 12));
      CHECK(test::tensor_of(other, "y").bytes == first.bytes);
    }
    const RunResult another = run_quantize(with(problem, {{"seed", "78"}}));
    CHECK(test::tensor_of(another, "y").bytes != first.bytes);
  }
}

TEST_CASE("quantize: the mean of stochastic rounding is the value") {
  for (const char* format : {"s8", "s4", "e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp4"})
    for (const double value : {0.7, -0.55}) {
      INFO(format << ' ' << value);
      const Settings problem =
          with({{"format", format}, {"rows", "16"}, {"n", "1024"}, {"x", "f32"}}, kRandomly);
      std::vector<double> x(std::size_t{16} * 1024, value);
      // The largest value of each block is not rounded; the others are between two elements.
      for (std::size_t i = 0; i < x.size(); i += 16) x[i] = 1;
      const RunResult run = run_quantize(problem, {}, {test::quantize_tensor(problem, "x", x)});
      Sums sums = sums_of(run, value);
      sums.wanted += double(x.size()) / 16 * (1 - value);
      // The distance of neighbours is at most a third of the largest value; five standard deviations.
      CHECK(std::abs(sums.got - sums.wanted) < 5 * 0.5 / 3 * std::sqrt(double(x.size())));
      CHECK(std::abs(sums.got - sums.wanted) > 0);
    }
}
