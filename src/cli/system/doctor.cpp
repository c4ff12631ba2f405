// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>

#include "cli/command.hpp"
#include "cli/common/table.hpp"
#include "jit/ptx_header.hpp"
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
  std::map<std::string, Version> ptx;         ///< the newest that a library reads or makes, by its name
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
      if (error.kind() == ErrorKind::missing && error.code() != "linker-too-old") break;
    }
  }
  return names;
}

void link_probe(const Linker& linker, std::string_view target, Version ptx) {
  linker.link(fmt::format(".version {}\n.target {}\n.address_size 64\n.visible .entry probe() {{ ret; }}\n",
                          to_string(ptx), target),
              {.target = std::string(target)});
}

std::vector<std::string> linker_targets(const Libraries& libraries) {
  const Linker linker(libraries);
  return served([&](const TargetInfo& target) { link_probe(linker, target.name, target.since); });
}

/// The newest known PTX version that the linker reads, tested on one of its targets.
std::optional<Version> linker_ptx(const Libraries& libraries, const std::vector<std::string>& targets) {
  if (targets.empty()) return std::nullopt;
  const Linker linker(libraries);
  for (const Version version : ptx_versions() | std::views::reverse) {
    try {
      link_probe(linker, targets.front(), version);
      return version;
    } catch (const Error&) {
    }
  }
  return std::nullopt;
}

/// The PTX version that the compiler writes.
std::optional<Version> compiler_ptx(const Libraries& libraries, const std::vector<std::string>& targets) {
  if (targets.empty()) return std::nullopt;
  const NvrtcCompiler compiler(libraries);
  return jit::ptx_version_of(compiler.compile("__global__ void probe() {}", {.target = targets.front()}).ptx);
}

/// The release of CUDA that a library is of; nullopt if it is missing, or versioned otherwise.
std::optional<Version> release_of(const LibraryStatus& library) {
  if (library.version.empty() || library.name == "NVML") return std::nullopt;
  return parse_version(library.version);
}

bool is_newer_than_known(const LibraryStatus& library) {
  const std::optional<Version> release = release_of(library);
  return release && *release > toolkits().back().cuda;
}

std::map<std::string, Version> ptx_of_libraries(const Libraries& libraries, const Report& report) {
  std::map<std::string, Version> ptx;
  for (const LibraryStatus& library : report.libraries) {
    const std::optional<Version> release = release_of(library);
    const ToolkitInfo* const toolkit = release ? find_toolkit(*release) : nullptr;
    if (library.name == "driver" && toolkit != nullptr) ptx[library.name] = toolkit->ptx;
  }
  if (const auto version = linker_ptx(libraries, report.linker_targets)) ptx["nvJitLink"] = *version;
  if (const auto version = compiler_ptx(libraries, report.compiler_targets)) ptx["NVRTC"] = *version;
  return ptx;
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
  report.ptx = ptx_of_libraries(libraries, report);
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
    const auto ptx = report.ptx.find(library.name);
    libraries.push_back({{"name", library.name},
                         {"path", library.path},
                         {"version", library.version},
                         {"ptx", ptx == report.ptx.end() ? "" : to_string(ptx->second)},
                         {"newer_than_known", is_newer_than_known(library)},
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

/// "sm_107a sm_107f need CUDA 13.4", for targets that this release lacks.
std::vector<std::string> lacking(const LibraryStatus& library, const std::vector<std::string>& served) {
  std::map<Version, std::string> targets_by_release;
  for (const TargetInfo& target : targets()) {
    const ToolkitInfo* const toolkit = toolkit_for_ptx(target.since);
    if (std::ranges::find(served, target.name) != served.end() || toolkit == nullptr) continue;
    if (toolkit->cuda > release_of(library))
      targets_by_release[toolkit->cuda].append(target.name).append(" ");
  }
  std::vector<std::string> lines;
  for (const auto& [release, names] : targets_by_release)
    lines.push_back(fmt::format("{}need CUDA {}", names, to_string(release)));
  return lines;
}

/// What a library can serve.
void add_service(std::vector<std::vector<std::string>>& rows, const Report& report,
                 const LibraryStatus& library) {
  const auto ptx = report.ptx.find(library.name);
  if (ptx != report.ptx.end()) {
    const std::string version = to_string(ptx->second);
    const bool links = library.name == "nvJitLink", compiles = library.name == "NVRTC";
    rows.push_back(
        {library.name + " serves", compiles ? "makes PTX " + version
                                   : links  ? "PTX up to " + version
                                            : fmt::format("PTX up to {}; machine code of CUDA {} and before",
                                                          version, release_of(library)->major)});
    const auto& targets = links ? report.linker_targets : report.compiler_targets;
    if (links || compiles) {
      rows.push_back({"", fmt::format("{}", fmt::join(targets, " "))});
      for (std::string& line : lacking(library, targets)) rows.push_back({"", std::move(line)});
    }
  }
  if (is_newer_than_known(library))
    rows.push_back(
        {"", fmt::format("newer than CUDA {}, the last that ptxloom knows: what is new in it is not used",
                         to_string(toolkits().back().cuda))});
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
    add_service(rows, report, library);
  }
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
