// SPDX-License-Identifier: Apache-2.0
#include "target/peak.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace ptxloom::target {
namespace {

struct PeakRule {
  std::string_view type, sums, unit;
  int ChipRates::* rate;
  bool slower = false;  ///< by Product::f32_sums
};
constexpr PeakRule kRules[] = {
    {"f64", "", "f64", &ChipRates::f64},
    {"f32", "", "f32", &ChipRates::f32},
    {"f16", "", "", &ChipRates::f16},
    {"bf16", "", "", &ChipRates::bf16},
    {"f64", "f64", "f64", &ChipRates::mma_f64},
    {"tf32", "f32", "tf32", &ChipRates::mma_tf32, true},
    {"f16", "f16", "f16", &ChipRates::mma_f16},
    {"f16", "f32", "f16", &ChipRates::mma_f16, true},
    {"bf16", "f32", "f16", &ChipRates::mma_bf16, true},
    {"s8", "s32", "b8", &ChipRates::mma_s8},
    {"s4", "s32", "b4", &ChipRates::mma_s4},
    {"fp8", "f16", "b8", &ChipRates::mma_fp8},
    {"fp8", "f32", "b8", &ChipRates::mma_fp8, true},
    {"fp6", "f32", "", &ChipRates::mma_fp6, true},
    {"fp4", "f32", "b4", &ChipRates::mma_fp4},
};

int sparse_rate(const PeakRule& rule, const ChipRates& rates, int dense) {
  if (rule.sums.empty() || rule.type == "f64" || rates.sparse == 1) return 0;
  return rule.rate == &ChipRates::mma_fp4 ? rates.sparse_fp4 : dense * rates.sparse;
}

/// Lower case, without what separates words.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// "90" of "sm_90a" or "90"; empty if it is no chip.
std::string chip_in(std::string_view wanted) {
  if (wanted.starts_with("sm_")) wanted.remove_prefix(3);
  if (wanted.ends_with('a') || wanted.ends_with('f')) wanted.remove_suffix(1);
  const bool number = wanted.find_first_not_of("0123456789") == wanted.npos;
  return number ? std::string(wanted) : "";
}

}  // namespace

std::vector<Peak> peaks_of(const Product& product) {
  std::vector<Peak> peaks;
  const ChipRates* const rates = rates_of(product.chip);
  if (rates == nullptr) return peaks;
  for (const PeakRule& rule : kRules) {
    const int rate = rates->*rule.rate / (rule.slower ? product.f32_sums : 1);
    if (rate == 0) continue;
    const double clocks =
        1e6 * product.sms * (rule.sums.empty() || rule.type == "f64" ? product.clock : product.mma_clock);
    const int sparse = sparse_rate(rule, *rates, rate);
    peaks.push_back({.type = rule.type,
                     .sums = rule.sums,
                     .unit = rule.unit,
                     .rate = rate,
                     .sparse_rate = sparse,
                     .dense = clocks * rate,
                     .sparse = clocks * sparse});
  }
  return peaks;
}

std::vector<Product> find_products(std::string_view wanted) {
  const std::string chip = chip_in(wanted), name = plain(wanted);
  std::vector<Product> exact, found;
  for (const Product& product : products()) {
    if (plain(product.name) == name) exact.push_back(product);
    if (std::to_string(product.chip) == chip ||
        (chip.empty() && plain(product.name).find(name) != std::string::npos))
      found.push_back(product);
  }
  return exact.empty() ? found : exact;
}

}  // namespace ptxloom::target
