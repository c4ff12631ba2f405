// SPDX-License-Identifier: Apache-2.0
#include "cli/tune/tune_devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxloom/record.hpp"

namespace ptxloom::cli {
namespace {

std::vector<std::vector<std::string>> all_by_kind() {
  std::vector<DeviceKey> keys;
  std::vector<std::vector<std::string>> kinds;
  const std::vector<DeviceInfo> found = devices(Libraries());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto known = std::ranges::find(keys, device_key(found[i]));
    const auto kind = static_cast<std::size_t>(known - keys.begin());
    if (known == keys.end()) {
      keys.push_back(device_key(found[i]));
      kinds.emplace_back();
    }
    kinds[kind].push_back(fmt::format("gpu:{}", i));
  }
  return kinds;
}

}  // namespace

std::vector<std::vector<std::string>> kinds_of_devices(const std::string& asked) {
  if (asked == "all") return all_by_kind();
  return {{asked}};
}

std::vector<std::string> devices_of_rank(const std::string& asked, const tune::Ranks& ranks) {
  if (asked != "gpu" && asked != "all") return {asked};
  // One search covers one kind of GPU. Others are left out, which is reported.
  const std::vector<std::vector<std::string>> kinds = all_by_kind();
  const std::vector<std::string>& gpus = kinds.front();
  const auto local = static_cast<std::size_t>(ranks.local_rank());
  std::vector<std::string> mine = {gpus[local % gpus.size()]};
  if (asked == "gpu") return mine;
  for (std::size_t i = local + static_cast<std::size_t>(ranks.local_size()); i < gpus.size();
       i += static_cast<std::size_t>(ranks.local_size()))
    mine.push_back(gpus[i]);
  for (std::size_t i = 1; i < kinds.size() && local == 0; ++i)
    mine.insert(mine.end(), kinds[i].begin(), kinds[i].end());
  return mine;
}

}  // namespace ptxloom::cli
