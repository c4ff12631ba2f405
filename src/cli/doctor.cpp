// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/table.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/templates.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DoctorFlags {
  bool json = false;
};

struct Report {
  std::vector<LibraryStatus> libraries;
  std::vector<std::string> linker_targets;    ///< tested, not assumed
  std::vector<std::string> compiler_targets;  ///< of NVRTC
  std::vector<DeviceInfo> devices;
  std::optional<Diagnostic> device_problem;
  std::size_t forms = 0;
  Templates templates;
  std::optional<Diagnostic> templates_problem;
  std::filesystem::path cache, records;
  std::optional<Diagnostic> cache_problem;
};

/// The targets for which a tool accepts the smallest kernel.
std::vector<std::string> served(const std::function<void(const TargetInfo&)>& attempt) {
  std::vector<std::string> names;
  for (const TargetInfo& target : targets()) {
    try {
      attempt(target);
      names.emplace_back(target.name);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::missing) break;
    }
  }
  return names;
}

std::vector<std::string> linker_targets(const Libraries& libraries) {
  const Linker linker(libraries);
  return served([&](const TargetInfo& target) {
    linker.link(fmt::format(".version {}\n.target {}\n.address_size 64\n.visible .entry probe() {{ ret; }}\n",
                            to_string(target.since), target.name),
                {.target = std::string(target.name)});
  });
}

std::vector<std::string> compiler_targets(const Libraries& libraries) {
  const NvrtcCompiler compiler(libraries);
  return served([&](const TargetInfo& target) {
    compiler.compile("__global__ void probe() {}", {.target = std::string(target.name)});
  });
}

Report examine(const Tool& tool) {
  const Libraries libraries;
  Report report{.libraries = libraries.status(),
                .linker_targets = linker_targets(libraries),
                .compiler_targets = compiler_targets(libraries)};
  try {
    report.devices = devices(libraries);
  } catch (const Error& error) {
    report.device_problem = error.diagnostics().front();
  }
  report.forms = tool.specs()->forms().size();
  try {
    report.templates = Templates::from_environment();
  } catch (const Error& error) {
    report.templates_problem = error.diagnostics().front();
  }
  const Cache cache = Cache::from_environment();
  if (cache.enabled()) {
    report.cache = cache.folder();
    report.cache_problem = cache.problem();
  }
  report.records = Records::from_environment().folder();
  return report;
}

std::string target_of(const DeviceInfo& device) {
  try {
    return std::string(device.target().name());
  } catch (const Error&) {
    return fmt::format("unknown (compute capability {}.{})", device.major, device.minor);
  }
}

Json problem_json(const std::optional<Diagnostic>& problem) {
  if (!problem) return nullptr;
  return {{"code", problem->code}, {"message", problem->message}, {"hint", problem->hint}};
}

void print_json(const Report& report) {
  auto libraries = Json::array();
  for (const LibraryStatus& library : report.libraries) {
    libraries.push_back({{"name", library.name},
                         {"path", library.path},
                         {"version", library.version},
                         {"problem", problem_json(library.problem)}});
  }
  auto devices = Json::array();
  for (const DeviceInfo& device : report.devices) {
    devices.push_back({{"ordinal", device.ordinal},
                       {"name", device.name},
                       {"target", target_of(device)},
                       {"sms", device.sms},
                       {"memory_bytes", device.memory_bytes},
                       {"driver_api", device.driver_api}});
  }
  auto templates = Json::array();
  for (const Templates::Entry& entry : report.templates.all())
    templates.push_back({{"name", entry.value->name()}, {"library", entry.library.string()}});
  const Json json = {
      {"schema", 1},
      {"version", library_version()},
      {"forms", report.forms},
      {"templates", std::move(templates)},
      {"templates_problem", problem_json(report.templates_problem)},
      {"libraries", std::move(libraries)},
      {"linker_targets", report.linker_targets},
      {"compiler_targets", report.compiler_targets},
      {"devices", std::move(devices)},
      {"device_problem", problem_json(report.device_problem)},
      {"cache", {{"folder", report.cache.string()}, {"problem", problem_json(report.cache_problem)}}},
      {"records", {{"folder", report.records.string()}}}};
  fmt::print("{}\n", json.dump(1));
}

void add_problem(std::vector<std::vector<std::string>>& rows, const std::optional<Diagnostic>& problem) {
  if (!problem) return;
  rows.push_back({"", problem->message});
  if (!problem->hint.empty()) rows.push_back({"", problem->hint});
}

/// "gemm, scale (./libscale.so)"
std::string list_templates(const Templates& templates) {
  std::vector<std::string> names;
  for (const auto& [value, library] : templates.all())
    names.push_back(library.empty() ? std::string(value->name())
                                    : fmt::format("{} ({})", value->name(), library.string()));
  return fmt::format("{}", fmt::join(names, ", "));
}

void print_text(const Report& report) {
  std::vector<std::vector<std::string>> rows = {
      {"ptxloom", fmt::format("{}, {} instruction forms", library_version(), report.forms)},
      {"templates", list_templates(report.templates)}};
  add_problem(rows, report.templates_problem);
  for (const LibraryStatus& library : report.libraries) {
    rows.push_back({library.name,
                    library.path.empty() ? "missing" : fmt::format("{}  {}", library.version, library.path)});
    add_problem(rows, library.problem);
  }
  rows.push_back({"nvJitLink serves", fmt::format("{}", fmt::join(report.linker_targets, " "))});
  rows.push_back({"NVRTC serves", fmt::format("{}", fmt::join(report.compiler_targets, " "))});
  for (const DeviceInfo& device : report.devices) {
    rows.push_back({fmt::format("gpu:{}", device.ordinal),
                    fmt::format("{}, {}, {} SMs, {} GiB", device.name, target_of(device), device.sms,
                                device.memory_bytes >> 30)});
  }
  if (report.device_problem) {
    rows.push_back({"gpu", "none: kernels run in the CPU executor"});
    const auto same = [&](const LibraryStatus& l) {
      return l.problem && l.problem->message == report.device_problem->message;
    };
    if (std::ranges::none_of(report.libraries, same)) add_problem(rows, report.device_problem);
  }
  rows.push_back({"cache", report.cache.empty() ? "off" : report.cache.string()});
  add_problem(rows, report.cache_problem);
  rows.push_back({"records", report.records.string()});
  fmt::print("{}", format_table(rows));
}

/// A missing component is part of the answer, not a failure: without a GPU there is the executor.
int run_doctor(const Tool& tool, const DoctorFlags& options) {
  const Report report = examine(tool);
  options.json ? print_json(report) : print_text(report);
  return 0;
}

}  // namespace

void add_doctor(Tool& tool) {
  tool.command<DoctorFlags>(
      "doctor", "show what is installed, and which targets each part supports",
      [](CLI::App& command, DoctorFlags& options) {
        command.add_flag("--json", options.json, "print JSON (docs/json/doctor.json)");
      },
      run_doctor);
}

}  // namespace ptxloom::cli
