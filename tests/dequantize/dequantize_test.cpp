// SPDX-License-Identifier: Apache-2.0
// All codes of all formats, with every scale, in the executor: against the template's reference, and against
// the tests' own element types bit by bit.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "ptxloom/context.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "support/errors.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

using namespace ptxloom;
using test::with;

namespace {

constexpr const char* kCodeFormats[] = {"s8",         "s4",         "e4m3",       "e5m2",  "mxfp8_e4m3",
                                        "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"};
constexpr const char* kResults[] = {"f32", "f16", "bf16"};

const Template& dequantize() { return Templates().find("dequantize"); }

const Context& executor(const std::string& target) {
  static std::map<std::string, Context> contexts;
  const auto known = contexts.find(target);
  if (known != contexts.end()) return known->second;
  return contexts.emplace(target, Context({.device = "cpu", .cpu_target = target})).first->second;
}

Settings codes(const char* format, int rows, int n, const Settings& more = {}) {
  return with({{"format", format}, {"rows", std::to_string(rows)}, {"n", std::to_string(n)}}, more);
}

/// All inputs: codes and scales of 8 bits of every pattern, scales in f32 over the whole range.
std::vector<HostTensor> all_patterns(const Settings& given, std::mt19937& random) {
  std::vector<HostTensor> inputs;
  for (const TensorPlan& plan : dequantize().tensors(dequantize().problem(given))) {
    if (plan.role == TensorPlan::Role::out) continue;
    HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
    for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random());
    if (plan.name == "tensor_scale")
      test::narrow::store(f32, tensor.bytes, 0, test::narrow::encode(f32, 0.3));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

const HostTensor& named(const RunResult& run, std::string_view name) {
  for (const HostTensor& tensor : run.tensors)
    if (tensor.plan.name == name) return tensor;
  throw Error(ErrorKind::usage, "no-tensor", std::string(name));
}

void check_value(const RunResult& run, std::size_t row, std::size_t i) {
  const Settings& problem = run.kernel.problem;
  const auto size = [&](const char* name) { return static_cast<std::size_t>(std::stoull(problem.at(name))); };
  const HostTensor &x = named(run, "x"), &y = named(run, "y"), &scale = named(run, "scale");
  const bool blocks = problem.at("scales") == "block";
  const std::size_t group = problem.at("scales") == "group" ? size("group") : blocks ? 128 : size("n");
  const std::size_t columns = (size("n") + group - 1) / group, column = i / group;
  const std::size_t tile = row / 128 * ((columns + 3) / 4) + column / 4;
  const std::size_t index = problem.at("scales") == "tensor" ? 0
                            : problem.at("scale_layout") == "tiles"
                                ? ((tile * 32 + row % 32) * 4 + row % 128 / 32) * 4 + column % 4
                                : (blocks ? row / 128 : row) * columns + column;
  namespace narrow = test::narrow;
  const std::size_t place = row * size("pitch_x") + i;
  const Type type = problem.at("format") == "mxfp6_e2m3"   ? e2m3
                    : problem.at("format") == "mxfp6_e3m2" ? e3m2
                                                           : x.plan.type;
  const std::uint64_t code =
      problem.at("packing") == "dense"
          ? narrow::load(type, x.bytes, place)
          : narrow::load(type, std::span(x.bytes).subspan(place / 16 * 16, 16), place % 16);
  const auto element = static_cast<float>(narrow::decode(type, code));
  auto factor =
      static_cast<float>(narrow::decode(scale.plan.type, narrow::load(scale.plan.type, scale.bytes, index)));
  if (scale.plan.type == ue4m3)
    factor *= static_cast<float>(narrow::decode(f32, narrow::load(f32, named(run, "tensor_scale").bytes, 0)));
  const std::uint64_t wanted = narrow::encode(y.plan.type, element * factor),
                      got = narrow::load(y.plan.type, y.bytes, row * size("pitch_y") + i);
  const bool nan =
      std::isnan(narrow::decode(y.plan.type, wanted)) && std::isnan(narrow::decode(y.plan.type, got));
  if (got != wanted && !nan)
    FAIL("y[" << row << ", " << i << "] is " << got << " in place of " << wanted << " for " << element
              << " times " << factor);
}

RunResult run_dequantize(const Settings& given, const Settings& config = {},
                         const std::string& target = "sm_100a") {
  static std::mt19937 random(Catch::getSeed());
  INFO("problem " << test::words(given) << ", config " << test::words(config) << " on " << target << ", seed "
                  << Catch::getSeed());
  RunResult run = run_template(executor(target), dequantize(),
                               {.problem = given, .config = config, .inputs = all_patterns(given, random)});
  INFO("all parameters " << test::words(run.kernel.problem) << test::words(run.kernel.config));
  CHECK(run.verdict.first == "");
  REQUIRE(run.verdict.ok());
  const auto size = [&](const char* name) {
    return static_cast<std::size_t>(std::stoull(run.kernel.problem.at(name)));
  };
  CHECK(run.verdict.checked >= size("rows") * size("n"));
  for (std::size_t row = 0; row < size("rows"); ++row)
    for (std::size_t i = 0; i < size("n"); ++i) check_value(run, row, i);
  return run;
}

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "it was accepted";
}

}  // namespace

TEST_CASE("dequantize: all codes of all formats in all types, by the default choice") {
  for (const char* format : kCodeFormats)
    for (const char* y : kResults)
      for (const int n : {1, 31, 256, 1023}) run_dequantize(codes(format, 5, n, {{"y", y}}));
}

TEST_CASE("dequantize: scales of a tensor, of rows and of groups") {
  for (const char* format : {"s8", "s4", "e4m3", "e5m2"})
    for (const char* scales : {"tensor", "row", "group", "block"})
      for (const int n : {7, 130, 777}) {
        run_dequantize(codes(format, 4, n, {{"scales", scales}}));
        run_dequantize(codes(format, 131, n, {{"scales", scales}}));
      }
  for (const char* group : {"16", "64", "512"})
    run_dequantize(codes("s4", 3, 1031, {{"scales", "group"}, {"group", group}}));
}

TEST_CASE("dequantize: rows whose chunks begin where x is aligned, in many configurations") {
  const Specs specs;
  for (const char* scales : {"row", "tensor"})
    for (const auto& [n, pitch_x, pitch_y] : {std::array{517, 517, 517}, {333, 341, 349}, {30, 31, 63}}) {
      const Settings problem = codes(
          scales == std::string("row") ? "e4m3" : "s8", 9, n,
          {{"scales", scales}, {"pitch_x", std::to_string(pitch_x)}, {"pitch_y", std::to_string(pitch_y)}});
      const tune::Admissible all =
          admit(dequantize().tuning_space(specs, Target("sm_90a"), dequantize().problem(problem)),
                Target("sm_90a"));
      for (std::size_t i = 0; i < all.size(); i += 7) run_dequantize(problem, all.settings(i), "sm_90a");
    }
}

TEST_CASE("dequantize: scales in tiles of 128 rows and 4 columns") {
  for (const char* format : {"mxfp8_e4m3", "mxfp6_e3m2", "mxfp4", "nvfp4"})
    for (const auto& [rows, n] : {std::pair{1, 1}, {128, 128}, {300, 97}, {31, 513}})
      run_dequantize(codes(format, rows, n, {{"scale_layout", "tiles"}}));
}

TEST_CASE("dequantize: elements of 6 bits, 16 of them in 16 bytes") {
  for (const char* format : {"mxfp6_e2m3", "mxfp6_e3m2"})
    for (const int n : {1, 16, 31, 333}) {
      run_dequantize(codes(format, 3, n, {{"packing", "padded"}}));
      run_dequantize(codes(format, 3, n, {{"packing", "padded"}, {"pitch_x", "352"}}));
    }
}

TEST_CASE("dequantize: targets with the conversions, and without") {
  for (const char* target : {"sm_80", "sm_90a", "sm_120a"}) run_dequantize(codes("s8", 3, 333), {}, target);
  run_dequantize(codes("s4", 3, 333, {{"y", "f16"}}), {}, "sm_75");
  for (const char* target : {"sm_89", "sm_90a", "sm_120a"})
    for (const char* format : {"e4m3", "mxfp8_e5m2"}) run_dequantize(codes(format, 3, 333), {}, target);
  for (const char* target : {"sm_80", "sm_90a", "sm_103a", "sm_120a"})
    for (const char* format : {"mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"})
      run_dequantize(codes(format, 3, 333), {}, target);
  for (const char* format : kCodeFormats) run_dequantize(codes(format, 3, 333, {{"y", "f16"}}), {}, "sm_75");
}

TEST_CASE("dequantize: random configurations of random problems") {
  std::mt19937 random(Catch::getSeed());
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  const Specs specs;
  for (int i = 0; i < 200; ++i) {
    const std::string format = kCodeFormats[below(10)];
    const int n = 1 + below(std::size_t{1} << (2 + below(11)));
    Settings problem = codes(format.c_str(), 1 + below(9), n, {{"y", kResults[below(3)]}});
    if (!format.starts_with("mx") && format != "nvfp4")
      problem["scales"] = std::array{"tensor", "row", "group", "block"}[static_cast<std::size_t>(below(4))];
    if (below(2) == 0) problem["pitch_y"] = std::to_string(n + below(9));
    if (below(2) == 0) problem["pitch_x"] = std::to_string((n + 3 + 4 * below(9)) / 4 * 4);
    const tune::Admissible all =
        admit(dequantize().tuning_space(specs, Target("sm_100a"), dequantize().problem(problem)),
              Target("sm_100a"));
    REQUIRE(all.size() > 0);
    run_dequantize(problem, all.settings(random() % all.size()));
  }
}

TEST_CASE("dequantize: what cannot be is refused before anything is launched") {
  const Specs specs;
  const auto problem = [](const Settings& more) {
    return refusal_of([&] { dequantize().problem(with(codes("mxfp4", 3, 101), more)); });
  };
  CHECK(problem({{"pitch_x", "103"}}).find("give a multiple of 2") != std::string::npos);
  CHECK(refusal_of([] {
          dequantize().problem(codes("s8", 3, 101, {{"scale_layout", "tiles"}}));
        }).find("scales of 8 bits") != std::string::npos);
  CHECK(problem({{"group", "16"}}).find("use group=32") != std::string::npos);
  CHECK(problem({{"n", "2000000000"}}).find("at most 2^30") != std::string::npos);
  const auto target = [&](const char* format, const char* name, const char* y) {
    return refusal_of([&] {
      dequantize().config(specs, Target(name), dequantize().problem(codes(format, 3, 101, {{"y", y}})), {});
    });
  };
  for (const char* y : {"f32", "f16", "bf16"})
    for (const char* format : {"mxfp4", "s8"}) CHECK(target(format, "sm_75", y) == "it was accepted");
}

TEST_CASE("dequantize: the reference notices a wrong element and written padding") {
  for (const char* format : kCodeFormats) {
    INFO(format);
    const RunResult run = run_dequantize(codes(format, 5, 333, {{"pitch_y", "340"}, {"y", "f32"}}));
    std::vector<HostTensor> inputs;
    for (const HostTensor& tensor : run.tensors)
      if (tensor.plan.role != TensorPlan::Role::out) inputs.push_back(tensor);
    const Expectation expected = dequantize().expect(run.kernel.problem, inputs).at(0);
    const HostTensor& y = named(run, "y");
    REQUIRE(verify(expected, y).ok());
    for (const std::size_t index : {0, 332, 2 * 340 + 100, 4 * 340 + 332, 2 * 340 + 335}) {
      HostTensor wrong = y;
      const float value = 0x1.234p-120F;
      std::memcpy(wrong.bytes.data() + index * sizeof value, &value, sizeof value);
      CHECK_FALSE(verify(expected, wrong).ok());
    }
  }
}
