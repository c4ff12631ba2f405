// SPDX-License-Identifier: Apache-2.0
// targetgen reads specs/targets.json and writes the C++ tables that are compiled in.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "ptxloom/error.hpp"
#include "target/target_table.hpp"

namespace ptxloom::target {

/// targetgen generates the tables, so it has none itself.
std::span<const TargetInfo> compiled_targets() { return {}; }
std::span<const Version> compiled_versions() { return {}; }
Version compiled_default_version() { return {}; }
std::span<const ToolkitInfo> compiled_toolkits() { return {}; }
std::span<const ChipRates> compiled_rates() { return {}; }
std::span<const Product> compiled_products() { return {}; }
std::span<const ChipDevice> compiled_devices() { return {}; }
std::span<const ChipModel> compiled_model() { return {}; }
std::span<const ChipMma> compiled_mma() { return {}; }
const LaunchLimits& compiled_launch_limits() {
  static constexpr LaunchLimits none;
  return none;
}

}  // namespace ptxloom::target

namespace {

using ptxloom::TargetInfo;
using ptxloom::Version;

std::vector<std::string_view> lines(const nlohmann::json& table) {
  std::vector<std::string_view> result;
  for (const auto& line : table) result.push_back(line.get_ref<const std::string&>());
  return result;
}

void print_version(std::ostream& out, Version version) {
  out << '{' << version.major << ", " << version.minor << '}';
}

void print_target(std::ostream& out, const TargetInfo& info) {
  const std::string suffix = info.suffix == '\0' ? "\\0" : std::string(1, info.suffix);
  out << "    {.name = \"" << info.name << "\", .number = " << info.number << ", .suffix = '" << suffix
      << "', .family = " << info.family << ", .since = ";
  print_version(out, info.since);
  out << ",\n     .sms = " << info.sms << ", .shared_per_block = " << info.shared_per_block
      << ", .shared_static = " << info.shared_static << ", .shared_per_sm = " << info.shared_per_sm
      << ", .threads_per_sm = " << info.threads_per_sm << ", .blocks_per_sm = " << info.blocks_per_sm
      << ",\n     .registers_per_sm = " << info.registers_per_sm
      << ", .cluster_blocks = " << info.cluster_blocks << ", .mma_fraction_bits = " << info.mma_fraction_bits
      << ", .mma_halves = " << (info.mma_halves ? "true" : "false") << "},\n";
}

void print_rates(std::ostream& out, const ptxloom::target::ChipRates& rates) {
  out << "    {";
  for (const auto& [name, field] : ptxloom::target::kRateColumns)
    out << "." << name << " = " << rates.*field << ", ";
  out << "},\n";
}

void print_product(std::ostream& out, const ptxloom::target::Product& product) {
  out << "    {\"" << product.name << "\", " << product.chip << ", " << product.sms << ", " << product.clock
      << ", " << product.mma_clock << ", " << product.memory << ", " << product.f32_sums << "},\n";
}

void print_device(std::ostream& out, const ptxloom::target::ChipDevice& device) {
  out << "    {" << device.chip << ", " << device.product << "},\n";
}

void print_model(std::ostream& out, const ptxloom::target::ChipModel& model) {
  out << "    {";
  for (const auto& [name, field] : ptxloom::target::kModelColumns)
    out << "." << name << " = " << model.*field << ", ";
  out << "},\n";
}

void print_mma(std::ostream& out, const ptxloom::target::ChipMma& mma) {
  out << std::boolalpha << "    {" << mma.chip << ", " << mma.least_f32 << ", " << mma.least_f16 << ", "
      << mma.fp8_bits << ", " << mma.fp8_as_f16 << ", " << mma.fp4_bits << ", " << mma.fp4_least << ", "
      << mma.m8n8k4_scalar << ", " << mma.wmma_f16_k << ", " << mma.wmma_tf32_k << "},\n";
}

void print_toolkit(std::ostream& out, const ptxloom::ToolkitInfo& toolkit) {
  out << "    {.cuda = ";
  print_version(out, toolkit.cuda);
  out << ", .ptx = ";
  print_version(out, toolkit.ptx);
  out << ", .driver = " << toolkit.driver << ", .cubin_driver = " << toolkit.cubin_driver << "},\n";
}

void print_size(std::ostream& out, const ptxloom::target::Size3& size) {
  out << '{' << size[0] << ", " << size[1] << ", " << size[2] << '}';
}

void print_launch_limits(std::ostream& out, const ptxloom::target::LaunchLimits& limits) {
  out << "constexpr LaunchLimits kLaunchLimits{.grid = ";
  print_size(out, limits.grid);
  out << ", .block = ";
  print_size(out, limits.block);
  out << ", .threads = " << limits.threads << ", .cluster_portable = " << limits.cluster_portable
      << ", .local = " << limits.local << "};\n\n";
}

void generate(const nlohmann::json& file, std::ostream& out) {
  const auto targets =
      ptxloom::target::read_targets({.chips = lines(file.at("chips")), .targets = lines(file.at("targets"))});
  out << "// Generated from specs/targets.json by targetgen.\n#include \"target/target_table.hpp\"\n\n"
      << "namespace ptxloom::target {\nnamespace {\n\nconstexpr TargetInfo kTargets[] = {\n";
  for (const TargetInfo& info : targets) print_target(out, info);
  out << "};\n\nconstexpr ChipRates kRates[] = {\n";
  for (const auto& rates : ptxloom::target::read_rates(lines(file.at("rates")))) print_rates(out, rates);
  const std::vector<std::string_view> product_lines = lines(file.at("products"));
  const auto products = ptxloom::target::read_products(product_lines);
  out << "};\n\nconstexpr Product kProducts[] = {\n";
  for (const auto& product : products) print_product(out, product);
  out << "};\n\nconstexpr ChipDevice kDevices[] = {\n";
  for (const auto& device : ptxloom::target::read_devices(lines(file.at("devices")), products))
    print_device(out, device);
  out << "};\n\nconstexpr ChipModel kModel[] = {\n";
  for (const auto& model : ptxloom::target::read_model(lines(file.at("model")))) print_model(out, model);
  out << "};\n\nconstexpr ChipMma kMma[] = {\n";
  for (const auto& mma : ptxloom::target::read_mma(lines(file.at("mma")))) print_mma(out, mma);
  out << "};\n\nconstexpr ToolkitInfo kToolkits[] = {\n";
  for (const auto& toolkit : ptxloom::target::read_toolkits(lines(file.at("toolkits"))))
    print_toolkit(out, toolkit);
  out << "};\n\n";
  print_launch_limits(out, ptxloom::target::read_launch_limits(lines(file.at("launch"))));
  out << "constexpr Version kVersions[] = {";
  for (const std::string_view version : lines(file.at("ptx"))) {
    print_version(out, ptxloom::parse_version(version));
    out << ", ";
  }
  out << "};\n\nconstexpr Version kDefaultVersion = ";
  print_version(out, ptxloom::parse_version(file.at("default_ptx").get_ref<const std::string&>()));
  out << ";\n\n}  // namespace\n\nstd::span<const TargetInfo> compiled_targets() { return kTargets; }\n"
      << "std::span<const Version> compiled_versions() { return kVersions; }\n"
      << "Version compiled_default_version() { return kDefaultVersion; }\n"
      << "std::span<const ToolkitInfo> compiled_toolkits() { return kToolkits; }\n"
      << "std::span<const ChipRates> compiled_rates() { return kRates; }\n"
      << "std::span<const Product> compiled_products() { return kProducts; }\n"
      << "std::span<const ChipDevice> compiled_devices() { return kDevices; }\n"
      << "std::span<const ChipModel> compiled_model() { return kModel; }\n"
      << "std::span<const ChipMma> compiled_mma() { return kMma; }\n"
      << "const LaunchLimits& compiled_launch_limits() { return kLaunchLimits; }\n\n}  // namespace "
         "ptxloom::target\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: targetgen targets.json OUT.cpp\n";
    return 2;
  }
  std::ifstream in(argv[1]);
  if (!in)
    throw ptxloom::Error(ptxloom::ErrorKind::usage, "unreadable", "cannot read " + std::string(argv[1]));
  const nlohmann::json file = nlohmann::json::parse(in);
  std::ofstream out(argv[2]);
  generate(file, out);
  out.close();
  if (!out)
    throw ptxloom::Error(ptxloom::ErrorKind::usage, "unwritable", "cannot write " + std::string(argv[2]));
  return 0;
} catch (const std::exception& error) {
  std::cerr << argv[1] << ": " << error.what() << '\n';
  return 1;
}
