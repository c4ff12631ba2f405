// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/nearest.hpp"
#include "cli/command.hpp"
#include "cli/common/table.hpp"
#include "target/peak.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;
using target::Peak;
using target::Product;

struct PeakFlags {
  std::string wanted;
  bool json = false;
};

std::vector<Product> chosen(const std::string& wanted) {
  if (wanted.empty()) return {target::products().begin(), target::products().end()};
  std::vector<Product> found = target::find_products(wanted);
  if (!found.empty()) return found;
  std::vector<std::string> known;
  for (const Product& product : target::products()) known.emplace_back(product.name);
  throw Error(ErrorKind::usage, "unknown-product",
              fmt::format("there is no product or chip '{}' in specs/targets.json", wanted),
              fmt::format("did you mean {}? ptxloom peak shows all", nearest(wanted, known)));
}

/// "989.4", in 10^12 per second; empty for 0.
std::string tera(double operations) {
  return operations == 0 ? "" : fmt::format("{:.1f}", operations / 1e12);
}

/// "sm_75", which the product's chip is.
std::string target_of(const Product& product) { return fmt::format("sm_{}", product.chip); }

void print_product(const Product& product) {
  fmt::print("{}: {}, {} SMs, {} MHz", product.name, target_of(product), product.sms, product.clock);
  if (product.mma_clock != product.clock) fmt::print(", {} MHz while tensor cores work", product.mma_clock);
  fmt::print(", {} GB/s\n", product.memory);
  std::vector<std::vector<std::string>> rows = {
      {"  type", "units", "sums", "per SM and clock", "10^12/s", "sparse 10^12/s"}};
  for (const Peak& peak : target::peaks_of(product)) {
    const bool cores = peak.sums.empty();
    rows.push_back({fmt::format("  {}", peak.type), cores ? "CUDA cores" : "tensor cores",
                    std::string(cores ? peak.type : peak.sums), std::to_string(peak.rate), tera(peak.dense),
                    tera(peak.sparse)});
  }
  fmt::print("{}", format_table(rows));
}

Json product_json(const Product& product) {
  Json peaks = Json::array();
  for (const Peak& peak : target::peaks_of(product)) {
    const bool cores = peak.sums.empty(), sparse = peak.sparse_rate > 0;
    peaks.push_back({{"type", peak.type},
                     {"tensor_cores", !cores},
                     {"sums", cores ? peak.type : peak.sums},
                     {"per_sm_clock", peak.rate},
                     {"sparse_per_sm_clock", sparse ? Json(peak.sparse_rate) : Json()},
                     {"per_second", peak.dense},
                     {"sparse_per_second", sparse ? Json(peak.sparse) : Json()}});
  }
  return {{"name", product.name},
          {"chip", target_of(product)},
          {"sms", product.sms},
          {"clock_mhz", product.clock},
          {"mma_clock_mhz", product.mma_clock},
          {"memory_gb_per_second", product.memory},
          {"peaks", std::move(peaks)}};
}

int run_peak(const Tool&, const PeakFlags& options) {
  const std::vector<Product> products = chosen(options.wanted);
  Json json = {{"schema", 1}, {"products", Json::array()}};
  for (const Product& product : products)
    options.json ? json["products"].push_back(product_json(product)) : print_product(product);
  if (options.json) fmt::print("{}\n", json.dump(1));
  return 0;
}

}  // namespace

void add_peak(Tool& tool) {
  tool.command<PeakFlags>(
      "peak", "show the peak arithmetic of GPUs: SMs x operations of an SM per clock x boost clock",
      [](CLI::App& command, PeakFlags& options) {
        command
            .add_option("product", options.wanted,
                        "part of a product's name (4090, \"h100 pcie\"), or a chip (sm_90); default: all")
            ->type_name("GPU");
        command.add_flag("--json", options.json, "print JSON (docs/json/peak.json)");
      },
      run_peak);
}

}  // namespace ptxloom::cli
