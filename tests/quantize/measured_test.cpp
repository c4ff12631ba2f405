// SPDX-License-Identifier: Apache-2.0
// Scales of more elements than a team has, whose magnitudes a launch before measures: of the tensor, and of
// rows and blocks of the transpose.
#include "ptxloom/prepared_launch.hpp"
#include "ptxloom/tune.hpp"
#include "quantize/naive.hpp"

using namespace ptxloom;
using test::boundary_x;
using test::run_quantize;
using test::with;

namespace {

std::mt19937& measured_random() {
  static std::mt19937 random(Catch::getSeed());
  return random;
}

Settings measured(const char* format, int rows, int n, const Settings& more) {
  return with({{"format", format}, {"rows", std::to_string(rows)}, {"n", std::to_string(n)}}, more);
}

const Settings kComputed{{"scales", "tensor"}, {"scale_of_tensor", "computed"}};
const Settings kComputedOfNvfp4{{"scale_of_tensor", "computed"}};

/// Every tenth configuration that is admissible, with values at the boundaries of the arithmetic.
void run_configurations(const Settings& problem) {
  const Specs specs;
  const tune::Admissible all =
      admit(test::quantize().tuning_space(specs, Target("sm_100a"), test::quantize().problem(problem)),
            Target("sm_100a"));
  REQUIRE(all.size() > 10);
  for (std::size_t i = measured_random()() % 10; i < all.size(); i += 10)
    run_quantize(problem, all.settings(i), {boundary_x(problem, measured_random())});
}

}  // namespace

TEST_CASE("quantize: the scale of the tensor is computed, in every type and format") {
  for (const char* format : {"s8", "s4", "e4m3", "e5m2", "nvfp4"})
    for (const char* x : {"f32", "f16", "bf16"})
      for (const auto& [rows, n] : {std::pair{1, 1}, {5, 33}, {64, 128}, {37, 1023}}) {
        const Settings& how = format == std::string("nvfp4") ? kComputedOfNvfp4 : kComputed;
        Settings problem = measured(format, rows, n, with(how, {{"x", x}}));
        run_quantize(problem);
        run_quantize(problem, {}, {boundary_x(problem, measured_random())});
        problem["transpose"] = "yes";
        run_quantize(problem, {}, {boundary_x(problem, measured_random())});
      }
}

TEST_CASE("quantize: rows and blocks of the transpose, in every type and format") {
  for (const char* format : {"s8", "s4", "e4m3", "e5m2"})
    for (const char* x : {"f32", "f16", "bf16"})
      for (const char* scales : {"row", "block"})
        for (const auto& [rows, n] : {std::pair{1, 1}, {37, 333}, {130, 257}, {260, 31}}) {
          const Settings problem =
              measured(format, rows, n, {{"transpose", "yes"}, {"scales", scales}, {"x", x}});
          run_quantize(problem, {}, {boundary_x(problem, measured_random())});
        }
}

TEST_CASE("quantize: measured scales in many configurations") {
  run_configurations(measured("s8", 13, 517, kComputed));
  run_configurations(measured("nvfp4", 9, 333, kComputedOfNvfp4));
  run_configurations(measured("e4m3", 70, 300, {{"transpose", "yes"}, {"scales", "row"}}));
  run_configurations(measured("s4", 140, 300, {{"transpose", "yes"}, {"scales", "block"}}));
  run_configurations(measured("e5m2", 13, 517, with(kComputed, {{"round", "stochastic"}, {"seed", "5"}})));
}

TEST_CASE("quantize: all-zero tensors, and those with a NaN or an infinity, have scales that say so") {
  for (const char* format : {"s8", "e4m3", "nvfp4"}) {
    const bool nvfp4 = format == std::string("nvfp4");
    const Settings problem =
        measured(format, 7, 65, with(nvfp4 ? kComputedOfNvfp4 : kComputed, {{"x", "f32"}}));
    const char* const scale = nvfp4 ? "tensor_scale" : "scale";
    std::vector<double> x(std::size_t{7} * 65, 0.0);
    const RunResult zeros = run_quantize(problem, {}, {test::quantize_tensor(problem, "x", x)});
    CHECK(test::first_value(zeros, scale) > 0);
    CHECK(test::code_at(zeros, test::naive_format(format).element, 3, 3) == 0);
    for (const double odd : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      x[3 * 65 + 7] = odd;
      CHECK(std::isnan(
          test::first_value(run_quantize(problem, {}, {test::quantize_tensor(problem, "x", x)}), scale)));
    }
  }
}

TEST_CASE("quantize: magnitudes of an earlier run do not remain") {
  const Settings problem = measured("s8", 4, 100, with(kComputed, {{"x", "f32"}}));
  const Context& context = test::quantize_executor("sm_90a");
  const Specialised made = specialise(context, test::quantize(), test::quantize().problem(problem), {});
  REQUIRE(made.launches.size() == 2);
  REQUIRE(made.launches[0].clear.size() == 1);
  Buffer in = context.alloc(1600), out = context.alloc(400), scale = context.alloc(4),
         workspace = context.alloc(workspace_bytes(made.launches));
  workspace.fill(kPoison);
  const std::vector<std::string_view> names{"x", "y", "scale", kWorkspace};
  const PreparedLaunch launch(made.kernels, made.launches, 0, names);
  for (const float size : {8.0F, 2.0F}) {
    const std::vector<float> x(400, size);
    in.write(std::as_bytes(std::span(x)));
    launch.launch(nullptr, std::vector{in.address(), out.address(), scale.address(), workspace.address()});
    std::vector<std::byte> bytes(4), y(400);
    scale.read(bytes);
    out.read(y);
    CHECK(test::narrow::decode(f32, test::narrow::load(f32, bytes, 0)) == size / 127);
    CHECK(y[399] == std::byte{127});
  }
}
