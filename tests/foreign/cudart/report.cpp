// SPDX-License-Identifier: Apache-2.0
#include "foreign/cudart/report.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/hash.hpp"

namespace ptxloom::foreign {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const exec::Site& site) {
  return {{"line", site.line},   {"text", site.text}, {"file", site.file}, {"file_line", site.file_line},
          {"block", site.block}, {"warp", site.warp}, {"lane", site.lane}};
}

Json json_of(const exec::Finding& finding) {
  Json json = {{"code", finding.code},   {"what", finding.what},   {"address", finding.address},
               {"count", finding.count}, {"fatal", finding.fatal}, {"at", json_of(finding.at)}};
  if (finding.other) json["other"] = json_of(*finding.other);
  return json;
}

Json json_of(const LaunchShape& shape) {
  return {{"grid", shape.grid},
          {"block", shape.block},
          {"cluster", shape.cluster},
          {"shared_bytes", shape.shared_bytes},
          {"cooperative", shape.cooperative}};
}

bool live(const exec::Memory& memory, std::uint64_t address) {
  return std::ranges::any_of(memory.allocations(),
                             [&](const auto& allocation) { return allocation.address == address; });
}

}  // namespace

void report(const LaunchReport& launch) {
  if (!launch.error.empty()) fmt::print(stderr, "ptxloom: kernel {}: {}\n", launch.kernel.name, launch.error);
  const char* const file = std::getenv("PTXLOOM_REPORT");
  if (file == nullptr) return;
  Json json = {{"kernel", launch.kernel.name}, {"target", launch.kernel.module->ir.target}};
  json.update(json_of(launch.shape));
  json.update({{"milliseconds", launch.milliseconds}, {"error", launch.error}});
  json["findings"] = Json::array();
  for (const exec::Finding& finding : launch.findings) json["findings"].push_back(json_of(finding));
  std::ofstream(file, std::ios::app) << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
}

void record(Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
            const std::vector<exec::Memory::Allocation>& allocations, const exec::Memory& memory) {
  const char* const root = std::getenv("PTXLOOM_RECORD");
  if (root == nullptr || kernel.recorded) return;
  kernel.recorded = true;
  const std::filesystem::path folder =
      std::filesystem::path(root) / to_hex(hash128(kernel.name)).substr(0, 8);
  std::filesystem::create_directories(folder);
  Json json = {{"name", kernel.name}, {"entry", kernel.name}, {"ptx", "kernel.ptx"}};
  json.update(json_of(shape));
  std::string hex;
  for (const std::byte byte : parameters) hex += fmt::format("{:02x}", std::to_integer<int>(byte));
  json["arguments"] = Json::array({{{"bytes", hex}}});
  json["buffers"] = Json::array();
  for (const exec::Memory::Allocation& each : allocations) {
    Json buffer = {{"bytes", each.bytes}, {"address", each.address}};
    if (live(memory, each.address)) {
      const std::string name = fmt::format("{}.bin", json["buffers"].size());
      write_file(folder / name, std::span<const std::byte>(memory.at(each.address, each.bytes), each.bytes));
      buffer["file"] = name;
    }
    json["buffers"].push_back(buffer);
  }
  write_file(folder / "kernel.ptx", kernel.module->ptx);
  write_file(folder / "launch.json", json.dump(1) + "\n");
}

}  // namespace ptxloom::foreign
