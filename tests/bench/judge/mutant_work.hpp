// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/template.hpp"
#include "ptxloom/tune.hpp"

// Kernels with all that they need to run in the executor, for the programs that break them: judge_mutants and
// sync_mutants.
namespace ptxloom::bench {

using Bytes = std::vector<std::byte>;

/// A kernel, or several that run one after the other, and the buffers that they share.
struct Work {
  struct Argument {
    std::size_t offset = 0;                  ///< in the parameters
    Bytes bytes = {};                        ///< of a scalar
    std::optional<std::size_t> buffer = {};  ///< its address
    std::uint64_t addend = 0;                ///< bytes beyond that
    std::optional<TensorMap> map = {};       ///< of that buffer, in place of the address
  };
  struct Clear {
    std::size_t buffer = 0, offset = 0, bytes = 0;
  };
  struct Step {
    std::string entry;
    exec::Launch launch;
    std::vector<Argument> arguments;
    std::vector<Clear> clear = {};
  };
  struct Buffer {
    Bytes bytes;
    bool output = false;
    bool defined = true;  ///< it holds these bytes before the first step; else nobody has written it
  };
  std::string name, text;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
};

/// What a run of a work is watched with.
struct Watch {
  bool judge = true;
  exec::Findings* findings = nullptr;
  std::uint64_t schedule = 0;
  std::uint64_t step_limit = 200'000;
  std::vector<exec::InstructionStats>* counts = nullptr;  ///< of all steps
};

struct Outcome {
  std::string code = {};  ///< of the fault that ended it, or "illegal"; empty where it ran
  std::vector<Bytes> outputs = {};
};

/// The parameters of a step whose buffers are at these addresses.
inline Bytes parameters_of(const Work::Step& step, const std::vector<std::uint64_t>& addresses) {
  Bytes parameters;
  const auto put = [&](std::size_t offset, const void* from, std::size_t bytes) {
    if (parameters.size() < offset + bytes) parameters.resize(offset + bytes);
    std::memcpy(parameters.data() + offset, from, bytes);
  };
  for (const Work::Argument& argument : step.arguments) {
    if (argument.map) {
      TensorMap map = *argument.map;
      map.address += addresses[*argument.buffer];
      const EncodedTensorMap encoded = encode_for_executor(map);
      put(argument.offset, &encoded, sizeof encoded);
    } else if (argument.buffer) {
      const std::uint64_t address = addresses[*argument.buffer] + argument.addend;
      put(argument.offset, &address, sizeof address);
    } else {
      put(argument.offset, argument.bytes.data(), argument.bytes.size());
    }
  }
  return parameters;
}

/// Runs the work with `module` in place of its own text.
inline Outcome run(const Work& work, const ir::Module& module, const Watch& watch) {
  exec::Memory memory;
  std::vector<std::uint64_t> addresses;
  for (const Work::Buffer& buffer : work.buffers) {
    addresses.push_back(memory.allocate(buffer.bytes.size()));
    if (buffer.defined)
      std::memcpy(memory.at(addresses.back(), buffer.bytes.size()), buffer.bytes.data(), buffer.bytes.size());
  }
  try {
    for (const Work::Step& step : work.steps) {
      for (const Work::Clear& clear : step.clear)
        std::memset(memory.at(addresses[clear.buffer] + clear.offset, clear.bytes), 0, clear.bytes);
      const Bytes parameters = parameters_of(step, addresses);
      exec::Launch launch = step.launch;
      launch.parameters = parameters;
      launch.jobs = 1;
      launch.judge = watch.judge;
      launch.findings = watch.findings;
      launch.schedule = watch.schedule;
      launch.step_limit = watch.step_limit;
      exec::Stats stats;
      exec::Program(module, step.entry).run(memory, launch, watch.counts == nullptr ? nullptr : &stats);
      if (watch.counts != nullptr)
        watch.counts->insert(watch.counts->end(), stats.instructions.begin(), stats.instructions.end());
    }
  } catch (const Error& error) {
    return {.code = error.diagnostics().at(0).code};
  }
  Outcome outcome;
  for (std::size_t i = 0; i < work.buffers.size(); ++i) {
    if (!work.buffers[i].output) continue;
    const std::byte* const begin = memory.at(addresses[i], work.buffers[i].bytes.size());
    outcome.outputs.emplace_back(begin, begin + work.buffers[i].bytes.size());
  }
  return outcome;
}

/// The same for PTX text, which may be illegal.
inline Outcome run(const Work& work, const std::string& text, const std::shared_ptr<const Specs>& specs,
                   const Watch& watch) {
  const ParseResult parsed = parse(text, specs);
  return parsed.ok() ? run(work, parsed.module, watch) : Outcome{.code = "illegal"};
}

/// The first launch plan of a step, with buffers in place of tensors.
inline Work::Step step_of(const LaunchPlan& plan, const std::map<std::string, std::size_t>& buffers) {
  const LaunchConfig config = launch_config_of(plan, 0);
  Work::Step step{.entry = plan.entry,
                  .launch = {.grid = {config.grid.x, config.grid.y, config.grid.z},
                             .block = plan.block,
                             .cluster = plan.cluster,
                             .shared_bytes = plan.shared_bytes,
                             .cooperative = plan.cooperative},
                  .arguments = {}};
  const KernelSignature signature = signature_of(plan);
  for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
    const ArgumentPlan& argument = plan.arguments[i];
    Work::Argument made{.offset = signature.parameters[i].offset, .map = argument.map};
    if (argument.tensor.empty()) {
      const auto* begin = reinterpret_cast<const std::byte*>(&argument.bits);
      made.bytes.assign(begin, begin + argument.type.whole_bytes());
    } else if (const auto found = buffers.find(argument.tensor); found != buffers.end()) {
      made.buffer = found->second;
    } else {
      made.bytes.resize(sizeof(std::uint64_t));  // a tensor that the problem does not have
    }
    step.arguments.push_back(std::move(made));
  }
  for (const ClearPlan& range : plan.clear)
    step.clear.push_back({buffers.at(range.tensor), range.offset, range.bytes});
  return step;
}

/// The kernels of a template for a problem, on random inputs.
inline Work work_of(const std::string& name, const std::shared_ptr<const Specs>& specs, const Target& target,
                    const Template& kernel_template, const Settings& problem, const Settings& config,
                    std::uint64_t seed) {
  const Settings whole = kernel_template.problem(problem);
  const Settings chosen = kernel_template.config(*specs, target, whole, config);
  const Emitted emitted = kernel_template.emit(specs, target, whole, chosen);
  Work work{.name = name, .text = print(emitted.module), .buffers = {}, .steps = {}};
  std::map<std::string, std::size_t> index;
  const std::vector<HostTensor> inputs = kernel_template.inputs(whole, seed);
  for (const TensorPlan& tensor : kernel_template.tensors(whole)) {
    index[tensor.name] = work.buffers.size();
    const auto input =
        std::ranges::find(inputs, tensor.name, [](const HostTensor& each) { return each.plan.name; });
    const bool defined = tensor.role != TensorPlan::Role::out;
    work.buffers.push_back({.bytes = defined ? input->bytes : Bytes(tensor.bytes()),
                            .output = tensor.role != TensorPlan::Role::in,
                            .defined = defined});
  }
  if (const std::uint64_t bytes = workspace_bytes(emitted.launches); bytes != 0) {
    index[std::string(kWorkspace)] = work.buffers.size();
    work.buffers.push_back({.bytes = Bytes(bytes)});
  }
  for (const LaunchPlan& plan : emitted.launches) work.steps.push_back(step_of(plan, index));
  return work;
}

inline Bytes bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// Arguments for a parameter buffer that was recorded with these addresses in it.
inline std::vector<Work::Argument> recorded_arguments(const Bytes& parameters,
                                                      const nlohmann::json& buffers) {
  std::vector<Work::Argument> arguments{{.bytes = parameters}};
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= parameters.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters.data() + at, sizeof value);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const std::uint64_t begin = buffers[i].at("address"), bytes = buffers[i].at("bytes");
      if (value - begin <= bytes) arguments.push_back({.offset = at, .buffer = i, .addend = value - begin});
    }
  }
  return arguments;
}

inline Bytes bytes_of_hex(const std::string& hex) {
  Bytes bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

inline std::vector<Work::Argument> arguments_of(const nlohmann::json& json) {
  if (const auto& buffers = json.at("buffers"); !buffers.empty() && buffers[0].contains("address"))
    return recorded_arguments(bytes_of_hex(json.at("arguments")[0].at("bytes")), buffers);
  std::vector<Work::Argument> arguments;
  std::size_t end = 0;
  for (const auto& each : json.at("arguments")) {
    Work::Argument argument;
    if (each.contains("buffer")) {
      argument.buffer = each.at("buffer").get<std::size_t>();
    } else {
      argument.bytes = bytes_of_hex(each.at("bytes"));
    }
    const std::size_t bytes = argument.buffer ? sizeof(std::uint64_t) : argument.bytes.size();
    argument.offset = (end + bytes - 1) / bytes * bytes;
    end = argument.offset + bytes;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// The launch that launch.json in a folder describes, as tests/foreign writes it.
inline Work work_in(const std::filesystem::path& folder) {
  const auto json = nlohmann::json::parse(std::ifstream(folder / "launch.json"));
  const Bytes text = bytes_of_file(folder / json.at("ptx").get<std::string>());
  Work work{.name = json.at("name"),
            .text = std::string(reinterpret_cast<const char*>(text.data()), text.size()),
            .buffers = {},
            .steps = {}};
  for (const auto& buffer : json.at("buffers"))
    work.buffers.push_back({.bytes = buffer.contains("file")
                                         ? bytes_of_file(folder / buffer.at("file").get<std::string>())
                                         : Bytes(buffer.at("bytes").get<std::size_t>()),
                            .output = buffer.value("output", true),
                            .defined = buffer.value("defined", true)});
  work.steps.push_back({.entry = json.at("entry"),
                        .launch = {.grid = json.at("grid"),
                                   .block = json.at("block"),
                                   .cluster = json.value("cluster", std::array<std::uint32_t, 3>{}),
                                   .shared_bytes = json.at("shared_bytes"),
                                   .cooperative = json.value("cooperative", false)},
                        .arguments = arguments_of(json)});
  return work;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Lines whose instruction some thread executes, and whether there is a guard to it that ever stops one: what
/// does not run, and guards that are always true, cannot be broken.
inline std::map<std::size_t, bool> lines_that_run(const std::vector<exec::InstructionStats>& counts) {
  std::map<std::size_t, bool> lines;
  for (const exec::InstructionStats& each : counts)
    if (each.lanes != 0) lines[each.line] |= each.lanes < 32 * each.executed;
  return lines;
}

}  // namespace ptxloom::bench
