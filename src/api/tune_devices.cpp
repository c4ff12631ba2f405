// SPDX-License-Identifier: Apache-2.0
#include "api/tune_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <future>
#include <optional>
#include <span>
#include <utility>

#include "base/host_name.hpp"

namespace ptxloom::api {
namespace {

/// A name that is the same in every process: "GPU 0000:3b:00.0 of node7".
std::string name_of(const std::string& device, const std::optional<DeviceInfo>& info) {
  return fmt::format("{} of {}", info && !info->pci.empty() ? "GPU " + info->pci : device, host_name());
}

/// Processes that share the records folder share this file too, and measure in turns.
std::filesystem::path turns_of(const Context& context, std::string name) {
  std::error_code failed;
  std::filesystem::create_directories(context.records().folder(), failed);
  if (failed) return {};
  const auto odd = [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; };
  std::ranges::replace_if(name, odd, '_');
  return context.records().folder() / (".turns-" + name);
}

/// The number in "gpu:N".
std::size_t ordinal_of(const std::string& device) {
  return device == "gpu" ? 0 : static_cast<std::size_t>(std::atoi(device.c_str() + 4));
}

struct Wanted {
  std::string device;  // as the worker names it
  std::optional<DeviceInfo> info = {};
};

std::vector<Wanted> wanted_devices(const Context& context, const TuneOptions& options) {
  if (!context.is_gpu()) {
    std::vector<Wanted> wanted;
    for (const std::string& device : options.devices) {
      if (device != "cpu")
        throw Error(ErrorKind::usage, "unknown-device",
                    fmt::format("a search in the executor cannot use '{}'", device),
                    "make the context on a GPU, or use cpu");
      wanted.push_back({.device = device});
    }
    return wanted;
  }
  if (options.devices.empty())
    return {{.device = fmt::format("gpu:{}", context.device().ordinal), .info = context.device()}};
  const std::vector<DeviceInfo> there = devices(context.libraries());
  std::vector<Wanted> wanted;
  for (const std::string& device : options.devices) {
    const std::size_t ordinal = ordinal_of(device);
    if (!device.starts_with("gpu") || ordinal >= there.size())
      throw Error(ErrorKind::usage, "unknown-device", fmt::format("there is no device '{}'", device),
                  fmt::format("there are gpu:0 to gpu:{}", there.size() - 1));
    wanted.push_back({.device = fmt::format("gpu:{}", ordinal), .info = there[ordinal]});
  }
  return wanted;
}

}  // namespace

TuneDevices start_devices(const Context& context, const tune::Task& task, const TuneOptions& options) {
  TuneDevices result;
  const std::span<const std::filesystem::path> overlays = context.specs().overlays();
  std::vector<std::pair<std::string, std::future<std::unique_ptr<tune::Measurer>>>> starting;
  for (const Wanted& one : wanted_devices(context, options)) {
    const std::string name = name_of(one.device, one.info);
    if (one.info && device_key(*one.info) != device_key(context.device())) {
      const Diagnostic why{.code = "device-differs",
                           .message = fmt::format("{} is an {}, but this search is for an {}", name,
                                                  one.info->name, context.device().name),
                           .hint = "tune each kind of GPU separately"};
      result.left_out.push_back({.name = name, .left_out = why});
      continue;
    }
    tune::WorkerOptions worker{.device = one.device,
                               .candidate_seconds = options.candidate_seconds,
                               .name = name,
                               .turns = turns_of(context, name),
                               .specs = {overlays.begin(), overlays.end()},
                               .libraries = context.libraries().options(),
                               .log = context.log()};
    starting.emplace_back(name, std::async(std::launch::async, [&task, worker = std::move(worker)] {
                            return tune::make_worker(task, worker);
                          }));
  }
  for (auto& [name, one] : starting) {
    try {
      result.workers.push_back(one.get());
      result.measurers.push_back(result.workers.back().get());
    } catch (const Error& error) {
      if (result.workers.empty()) throw;
      result.left_out.push_back({.name = name, .left_out = error.diagnostics().front()});
    }
  }
  return result;
}

}  // namespace ptxloom::api
