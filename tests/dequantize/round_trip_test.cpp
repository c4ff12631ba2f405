// SPDX-License-Identifier: Apache-2.0
// dequantize takes what quantize makes as it is, and gives x back, up to the precision of the format.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "ptxloom/context.hpp"
#include "ptxloom/prepared_launch.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "support/errors.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

using namespace ptxloom;
using test::with;

namespace {

struct RoundTrip {
  const char* format;
  double error;  // of the largest magnitude that shares the scale; of MX formats clamping counts
};
constexpr RoundTrip kRoundTrips[] = {{"s8", 0.0040},         {"s4", 0.0715},        {"e4m3", 0.0358},
                                     {"e5m2", 0.0715},       {"mxfp8_e4m3", 0.126}, {"mxfp8_e5m2", 0.126},
                                     {"mxfp6_e2m3", 0.0630}, {"mxfp6_e3m2", 0.126}, {"mxfp4", 0.251},
                                     {"nvfp4", 0.20}};
constexpr int kRows = 133, kColumns = 291;

const Context& trip_executor() {
  static const Context context({.device = "cpu", .cpu_target = "sm_100a"});
  return context;
}

RunResult run_trip(const char* name, const Settings& problem, const std::vector<HostTensor>& inputs = {}) {
  RunResult run = run_template(trip_executor(), Templates().find(name),
                               {.problem = problem, .inputs = inputs, .seed = Catch::getSeed()});
  INFO(run.verdict.first);
  REQUIRE(run.verdict.ok());
  return run;
}

const HostTensor& trip_tensor(const RunResult& run, std::string_view name) {
  for (const HostTensor& tensor : run.tensors)
    if (tensor.plan.name == name) return tensor;
  throw Error(ErrorKind::usage, "no-tensor", std::string(name));
}

/// All tensors of quantize but x, with y as dequantize's x.
std::vector<HostTensor> passed_on(const RunResult& run) {
  std::vector<HostTensor> tensors;
  for (HostTensor tensor : run.tensors) {
    if (tensor.plan.name == "x") continue;
    if (tensor.plan.name == "y") tensor.plan.name = "x";
    tensor.plan.role = TensorPlan::Role::in;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void check_round_trip(const RoundTrip& trip, const Settings& more) {
  const Settings both =
      with({{"format", trip.format}, {"rows", std::to_string(kRows)}, {"n", std::to_string(kColumns)}}, more);
  INFO(test::words(both) << ", seed " << Catch::getSeed());
  const RunResult there = run_trip("quantize", with(both, {{"x", "f32"}}));
  Settings back_problem = with(both, {{"y", "f32"}});
  for (const char* name : {"transpose", "scale_of_tensor", "scale_round"}) back_problem.erase(name);
  const RunResult back = run_trip("dequantize", back_problem, passed_on(there));
  const HostTensor &x = trip_tensor(there, "x"), &z = trip_tensor(back, "y");
  const bool transposed = there.kernel.problem.at("transpose") == "yes";
  double worst = 0;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t i = 0; i < kColumns; ++i) {
      const std::size_t place = transposed ? i * kRows + row : row * kColumns + i;
      const double from = test::narrow::decode(f32, test::narrow::load(f32, x.bytes, place)),
                   to = test::narrow::decode(f32, test::narrow::load(f32, z.bytes, row * kColumns + i));
      worst = std::fmax(worst, std::abs(to - from));
    }
  CHECK(worst > 0);
  CHECK(worst <= trip.error);  // x is in [-1, 1]
}

}  // namespace

TEST_CASE("dequantize: gives back what quantize has made, in all formats, scales and layouts") {
  for (const RoundTrip& trip : kRoundTrips) {
    const std::string format = trip.format;
    for (const char* transpose : {"no", "yes"}) {
      const Settings order{{"transpose", transpose}};
      if (!format.starts_with("mx") && format != "nvfp4") {
        for (const char* scales : {"row", "group", "block"})
          check_round_trip(trip, with(order, {{"scales", scales}}));
        check_round_trip(trip, with(order, {{"scales", "tensor"}, {"scale_of_tensor", "computed"}}));
        continue;
      }
      for (const char* layout : {"plain", "tiles"}) {
        const Settings both = with(order, {{"scale_layout", layout}});
        check_round_trip(trip, both);
        if (format == "nvfp4") check_round_trip(trip, with(both, {{"scale_of_tensor", "computed"}}));
        if (format.starts_with("mx")) check_round_trip(trip, with(both, {{"scale_round", "up"}}));
        if (format.starts_with("mxfp6")) check_round_trip(trip, with(both, {{"packing", "padded"}}));
      }
    }
  }
}

TEST_CASE("quantize, dequantize: misaligned tensors are refused before anything is launched") {
  for (const auto& [name, names] : {std::pair{"quantize", std::vector<std::string_view>{"x", "y", "scale"}},
                                    {"dequantize", std::vector<std::string_view>{"x", "y", "scale"}}}) {
    const Template& what = Templates().find(name);
    const Specialised made =
        specialise(trip_executor(), what, what.problem({{"format", "s8"}, {"rows", "4"}, {"n", "64"}}));
    std::vector<Buffer> buffers;
    for (int i = 0; i < 3; ++i) {
      buffers.push_back(trip_executor().alloc(1024));
      buffers.back().fill(kPoison);
    }
    const PreparedLaunch launch(made.kernels, made.launches, 0, names);
    const std::array<std::uint64_t, 3> off{2, 8, 2};  // from multiples of 16, 16 and 4
    for (std::size_t wrong = 0; wrong < 3; ++wrong) {
      std::vector<std::uint64_t> values;
      for (std::size_t i = 0; i < 3; ++i) values.push_back(buffers[i].address() + (i == wrong ? off[i] : 0));
      CHECK(error_of([&] { launch.launch(nullptr, values); }).code() == "misaligned-operand");
    }
    for (const Buffer& buffer : buffers) {
      std::vector<std::byte> bytes(1024);
      buffer.read(bytes);
      CHECK(std::ranges::all_of(bytes, [](std::byte b) { return b == kPoison; }));
    }
  }
}
