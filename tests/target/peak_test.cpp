// SPDX-License-Identifier: Apache-2.0
// Peak arithmetic against the figures of NVIDIA's data sheets and white papers, which docs/peak.md names.
#include "target/peak.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/target.hpp"
#include "target/target_table.hpp"

using namespace ptxloom;
using namespace ptxloom::target;

TEST_CASE("the unit of a peak is a rate that is at least as fast") {
  for (const Product& product : products()) {
    for (const Peak& peak : peaks_of(product)) {
      CAPTURE(product.name, peak.type, peak.sums, peak.unit);
      if (!peak.unit.empty()) CHECK(rates_of(product.chip)->operations(peak.unit) >= peak.rate);
    }
  }
}

namespace {

/// Published 10^12 operations a second. type/sums=dense; `*`: the figure is with 2:4 sparsity.
struct Sheet {
  const char* product;
  const char* figures;
};
constexpr Sheet kSheets[] = {
    {"V100_SXM2", "f64=7.8 f32=15.7 f16=31.4 f16/f32=125"},
    {"V100_PCIe", "f64=7 f32=14 f16/f32=112"},
    {"Tesla_T4", "f32=8.1 f16/f32=65 s8/s32=130 s4/s32=260"},
    {"Quadro_RTX_8000", "f32=16.3 f16/f32=130.5 s8/s32=261"},
    {"GeForce_RTX_2080_Ti", "f32=13.4 f16=26.9 f16/f16=107.6 f16/f32=53.8 s8/s32=215.2 s4/s32=430.3"},
    {"A100_SXM_80GB",
     "f64=9.7 f64/f64=19.5 f32=19.5 f16=78 bf16=39 tf32/f32=156 tf32/f32=312* f16/f32=312 f16/f32=624* "
     "bf16/f32=312 "
     "s8/s32=624 s8/s32=1248* s4/s32=1248 s4/s32=2496*"},
    {"A30", "f64=5.2 f64/f64=10.3 f32=10.3 tf32/f32=82 f16/f32=165 bf16/f32=330* s8/s32=330 s4/s32=661"},
    {"A10", "f32=31.2 tf32/f32=62.5 bf16/f32=125 f16/f32=250* s8/s32=250 s4/s32=500"},
    {"A40", "f32=37.4 tf32/f32=74.8 bf16/f32=149.7 s8/s32=299.3 s8/s32=598.6*"},
    {"GeForce_RTX_3080", "f32=29.8 f16=29.8 f16/f16=119 f16/f32=59.5 tf32/f32=29.8 s8/s32=238 s4/s32=476"},
    {"GeForce_RTX_3090",
     "f32=35.6 f16=35.6 f16/f16=142 f16/f32=71 f16/f32=142* bf16/f32=71 tf32/f32=35.6 s8/s32=284 s8/s32=568* "
     "s4/s32=568"},
    {"Jetson_AGX_Orin", "f32=5.3 s8/s32=170*"},
    {"L4", "f32=30.3 tf32/f32=120* bf16/f32=242* f16/f32=242* fp8/f32=485* s8/s32=485*"},
    {"L40S", "f32=91.6 tf32/f32=183 f16/f32=362.05 bf16/f32=733* fp8/f32=733 fp8/f32=1466* s8/s32=733"},
    {"RTX_6000_Ada", "f32=91.1 fp8/f16=1457*"},
    {"GeForce_RTX_4080", "f32=48.7 f16/f16=194.9 f16/f32=97.5 fp8/f16=389.9 s8/s32=389.9"},
    {"GeForce_RTX_4090",
     "f32=82.6 f16=82.6 f16/f16=330.3 f16/f16=660.6* f16/f32=165.2 bf16/f32=165.2 tf32/f32=82.6 "
     "fp8/f16=660.6 "
     "fp8/f32=330.3 s8/s32=660.6 s4/s32=1321.2"},
    {"H100_PCIe",
     "f64=25.6 f64/f64=51.2 f32=51.2 tf32/f32=378 f16/f32=756 bf16/f32=1513* fp8/f32=1513 fp8/f32=3026* "
     "s8/s32=1513"},
    {"H100_SXM",
     "f64=33.5 f64/f64=66.9 f32=66.9 f16=133.8 bf16=133.8 tf32/f32=494.7 tf32/f32=989.4* f16/f32=989.4 "
     "bf16/f32=1978.9* fp8/f32=1978.9 fp8/f32=3957.8* s8/s32=1978.9"},
    {"H200_SXM", "f64=34 f64/f64=67 f32=67 tf32/f32=989* f16/f32=1979* fp8/f32=3958* s8/s32=3958*"},
    {"B200",
     "f64=37 f64/f64=37 f32=75 tf32/f32=2250* f16/f32=4500* bf16/f32=2250 s8/s32=9000* fp8/f32=4500 "
     "fp8/f32=9000* "
     "fp6/f32=9000* fp4/f32=9000 fp4/f32=18000*"},
    {"B300", "f32=75 f16/f32=4500* fp8/f32=4500 fp6/f32=9000* fp4/f32=13500 fp4/f32=18000*"},
    {"Jetson_AGX_Thor", "f32=8.064 fp4/f32=2070* fp8/f32=517"},
    {"RTX_PRO_6000_Blackwell", "f32=125 fp4/f32=4000*"},
    {"GeForce_RTX_5070_Ti", "f32=43.9 fp4/f32=1406*"},
    {"GeForce_RTX_5080", "f32=56.3 fp4/f32=1801*"},
    {"GeForce_RTX_5090",
     "f32=104.8 f16=104.8 bf16=104.8 f16/f16=419 f16/f32=209.5 bf16/f32=209.5 tf32/f32=104.8 s8/s32=838 "
     "fp8/f16=838 "
     "fp8/f32=419 fp4/f32=1676 fp4/f32=3352*"},
};

Product product_named(std::string_view name) {
  const std::vector<Product> found = find_products(name);
  REQUIRE(found.size() == 1);
  return found.front();
}

const Peak* peak_of(const std::vector<Peak>& peaks, std::string_view type, std::string_view sums) {
  for (const Peak& peak : peaks)
    if (peak.type == type && peak.sums == sums) return &peak;
  return nullptr;
}

}  // namespace

TEST_CASE("peaks are what the data sheets say") {
  std::set<std::string_view> covered;
  for (const Sheet& sheet : kSheets) {
    covered.insert(sheet.product);
    const std::vector<Peak> peaks = peaks_of(product_named(sheet.product));
    std::istringstream figures(sheet.figures);
    for (std::string figure; figures >> figure;) {
      CAPTURE(sheet.product, figure);
      const std::size_t equals = figure.find('='), slash = std::min(figure.find('/'), equals);
      const Peak* const peak = peak_of(peaks, figure.substr(0, slash),
                                       slash == equals ? "" : figure.substr(slash + 1, equals - slash - 1));
      REQUIRE(peak != nullptr);
      const double ours = (figure.ends_with('*') ? peak->sparse : peak->dense) / 1e12;
      const double published = std::stod(figure.substr(equals + 1));
      CHECK(std::abs(ours / published - 1) < 0.02);  // sheets round to two digits
    }
  }
  // Every chip with rates is checked by a product, but those of which nothing more is published.
  for (const Product& product : products()) {
    if (product.chip == 121) continue;
    const auto same_chip = [&](std::string_view name) { return product_named(name).chip == product.chip; };
    CAPTURE(product.name);
    CHECK(std::any_of(covered.begin(), covered.end(), same_chip));
  }
}

TEST_CASE("a chip has no peaks for what it has no units for") {
  const std::vector<Peak> volta = peaks_of(product_named("V100_SXM2"));
  CHECK(peak_of(volta, "s8", "s32") == nullptr);
  CHECK(peak_of(volta, "bf16", "") == nullptr);
  CHECK(peak_of(volta, "f16", "f16")->sparse == 0);
  const std::vector<Peak> hopper = peaks_of(product_named("H200_SXM"));
  CHECK(peak_of(hopper, "fp4", "f32") == nullptr);
  CHECK(peak_of(hopper, "s4", "s32") == nullptr);
  CHECK(peak_of(hopper, "f64", "f64")->sparse == 0);
  CHECK(peaks_of({.name = "none", .chip = 1}).empty());
}

TEST_CASE("a product is found by a part of its name, and by its chip") {
  const auto names = [](std::string_view wanted) {
    std::string text;
    for (const Product& product : find_products(wanted)) text += std::string(product.name) + " ";
    return text;
  };
  CHECK(names("rtx 4090") == "GeForce_RTX_4090 ");
  CHECK(names("h100-PCIE") == "H100_PCIe ");
  CHECK(names("L4") == "L4 ");
  CHECK(names("sm_100a") == "B200 ");
  CHECK(names("90") == "H100_PCIe H100_SXM H200_SXM ");
  CHECK(names("h100") == "H100_PCIe H100_SXM ");
  CHECK(names("sm_42").empty());
}

TEST_CASE("the tuner reads the same rates: the fastest units for an operand") {
  CHECK(rates_of(80)->operations("f64") == 128);
  CHECK(rates_of(86)->operations("f64") == 4);
  CHECK(rates_of(90)->operations("f16") == 4096);
  CHECK(rates_of(75)->operations("b8") == 2048);
  CHECK(rates_of(90)->operations("b4") == 8192);
  CHECK(rates_of(100)->operations("b4") == 32768);
  CHECK(rates_of(75)->operations("tf32") == 0);
  CHECK(rates_of(90)->operations("no such unit") == 0);
  CHECK(rates_of(1) == nullptr);
  CHECK(device_of(90).name == "H200_SXM");
  CHECK(device_of(107).name == "H200_SXM");  // nothing is published of it
  for (const TargetInfo& info : targets()) {
    CAPTURE(info.name);
    if (info.number == 107) continue;
    CHECK(rates_of(info.number) != nullptr);
    const int chip = device_of(info.number).chip;
    CHECK((chip == info.number || (info.number == 88 && chip == 87)));
  }
}

TEST_CASE("wrong rows of products and devices are refused") {
  using Lines = std::vector<std::string_view>;
  const auto refused = [](auto read) {
    try {
      read();
    } catch (const Error& error) {
      return error.diagnostics().front().message;
    }
    return std::string();
  };
  const std::string_view head = "name chip sms clock mma_clock memory f32_sums";
  CHECK(read_products(Lines{head, "A 80 1 2 3 4 5"}).at(0).f32_sums == 5);
  CHECK(refused([&] { read_products(Lines{head, "A 80 1 2 3 4 0"}); }).find("f32_sums") != std::string::npos);
  CHECK(refused([&] { read_products(Lines{head, "A 80 1 2 3 4 1", "B 75 1 2 3 4 1"}); }).find("descend") !=
        std::string::npos);
  const std::vector<Product> products = read_products(Lines{head, "A 80 1 2 3 4 1"});
  CHECK(read_devices(Lines{"chip product", "86 A"}, products).at(0).product == 0);
  CHECK(refused([&] { read_devices(Lines{"chip product", "86 B"}, products); }).find("no such row") !=
        std::string::npos);
}
