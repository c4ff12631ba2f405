// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "api/context_state.hpp"
#include "api/kernel_state.hpp"
#include "api/stopwatch.hpp"
#include "base/kinds.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom {

namespace {

std::shared_ptr<const Specs> read_specs(const ContextOptions& options) {
  std::vector<std::filesystem::path> folders = spec_folders_from_environment();
  folders.insert(folders.end(), options.specs.begin(), options.specs.end());
  return std::make_shared<const Specs>(folders);
}

/// The number in "gpu" or "gpu:N"; nullopt for "cpu".
std::optional<int> gpu_ordinal(const std::string& device) {
  if (device == "cpu") return std::nullopt;
  if (device == "gpu") return 0;
  int ordinal = 0;
  const char* end = device.data() + device.size();
  if (device.starts_with("gpu:")) {
    const auto [stop, error] = std::from_chars(device.data() + 4, end, ordinal);
    if (error == std::errc() && stop == end && ordinal >= 0) return ordinal;
  }
  throw Error(ErrorKind::usage, "unknown-device", fmt::format("there is no device '{}'", device),
              "use gpu, gpu:N (N from 0) or cpu");
}

bool means_no_gpu(const Error& error) {
  const std::string& code = error.diagnostics().front().code;
  return code == "no-driver" || code == "no-device" || code == "no-cuda-support";
}

std::shared_ptr<api::Machine> find_machine(const ContextOptions& options, const Specs& specs,
                                           const Libraries& libraries, const Log& log) {
  if (!options.device.empty()) {
    if (const auto ordinal = gpu_ordinal(options.device)) return api::make_gpu(libraries, *ordinal);
    return api::make_executor(specs.target(options.cpu_target));
  }
  try {
    return api::make_gpu(libraries, 0);
  } catch (const Error& error) {
    if (!means_no_gpu(error)) throw;
    log(LogLevel::warning,
        fmt::format("{}, so kernels run in the CPU executor, thousands of times slower; choose the device "
                    "\"cpu\" to run there without this warning",
                    error.diagnostics().front().message));
    return api::make_executor(specs.target(options.cpu_target));
  }
}

const ir::Kernel& find_entry(const ir::Module& module, std::string_view entry) {
  std::vector<const ir::Kernel*> kernels;
  for (const ir::Function& function : module.functions)
    if (function.entry && function.defined) kernels.push_back(&function);
  if (entry.empty() && kernels.size() == 1) return *kernels.front();
  std::string names;
  for (const ir::Kernel* kernel : kernels) {
    if (kernel->name == entry) return *kernel;
    names += (names.empty() ? "" : ", ") + kernel->name;
  }
  const std::string what = entry.empty() ? fmt::format("the module has {} kernels: name one", kernels.size())
                                         : fmt::format("the module has no kernel '{}'", entry);
  throw Error(ErrorKind::usage, "unknown-kernel", what, names.empty() ? "" : "its kernels are: " + names);
}

/// Logs all of them at the detailed level, else one line per kind.
void log_warnings(const Log& log, std::span<const Diagnostic> warnings) {
  if (log.enabled(LogLevel::info)) {
    for (const Diagnostic& warning : warnings) log(LogLevel::warning, to_string(warning));
  } else {
    for (const std::string& line : one_line_a_kind(warnings)) log(LogLevel::warning, line);
  }
}

/// Throws the errors among them, after logging the warnings; otherwise keeps the warnings.
void judge(std::vector<Diagnostic> found, std::vector<Diagnostic>& kept, const Log& log) {
  const auto first_error = std::ranges::stable_partition(
      found, [](const Diagnostic& d) { return d.severity == Severity::warning; });
  std::move(found.begin(), first_error.begin(), std::back_inserter(kept));
  if (first_error.empty()) return;
  log_warnings(log, kept);
  throw Error(ErrorKind::illegal_ptx, {first_error.begin(), first_error.end()});
}

void check_target(const Target& device, const Target& wanted, const std::string& kernel) {
  if (device.satisfies(wanted.info())) return;
  throw Error(ErrorKind::illegal_ptx, "target-mismatch",
              fmt::format("kernel {} is made for {}, and cannot run on this device, an {}", kernel,
                          wanted.name(), device.name()),
              fmt::format("make it for {} or another target that the device satisfies", device.name()));
}

/// Loads the contents of `state` (PTX, signature, diagnostics so far) on the machine.
Kernel load_on(const Context::State& context, std::shared_ptr<Kernel::State> state,
               const ir::Module& module) {
  state->specs = context.specs;
  state->machine = context.machine;
  const bool gpu = context.machine->device() != nullptr;
  state->target = gpu ? context.machine->target() : context.specs->target(module.target);
  context.machine->load(*state, module, context.linker);
  log_warnings(context.log, state->diagnostics);
  context.log(LogLevel::info,
              fmt::format("kernel {}: check {:.2f} ms, print {:.2f} ms, link {:.2f} ms{}, load {:.2f} ms",
                          state->signature.name, state->times.check, state->times.print, state->times.link,
                          state->cached ? " (cached)" : "", state->times.load));
  return Kernel(std::move(state));
}

}  // namespace

std::vector<std::filesystem::path> spec_folders_from_environment() {
  std::vector<std::filesystem::path> folders;
  const char* variable = std::getenv("PTXLOOM_SPECS");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (!folder.empty()) folders.emplace_back(folder);
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return folders;
}

Context::Context(ContextOptions options) {
  api::Stopwatch watch;
  StartTimes start;
  const Log log = options.log ? *options.log : Log::from_environment();
  auto specs = read_specs(options);
  const Libraries libraries(options.libraries);
  const Cache cache = options.cache_folder ? Cache(*options.cache_folder, log) : Cache::from_environment(log);
  Records records =
      options.records_folder ? Records(*options.records_folder, log) : Records::from_environment(log);
  start.rest = watch.lap();
  auto machine = find_machine(options, *specs, libraries, log);
  if (machine->device() != nullptr) start.device = watch.lap();
  log(LogLevel::info,
      fmt::format("running on {}, target {}", machine->info().name, machine->target().name()));
  state_ = std::make_shared<const State>(State{.log = log,
                                               .specs = std::move(specs),
                                               .libraries = libraries,
                                               .linker = Linker(libraries, cache),
                                               .records = std::move(records),
                                               .machine = std::move(machine),
                                               .start = start});
}

bool Context::is_gpu() const { return state_->machine->device() != nullptr; }
const DeviceInfo& Context::device() const { return state_->machine->info(); }
const Target& Context::target() const { return state_->machine->target(); }
const Specs& Context::specs() const { return *state_->specs; }
Context::operator std::shared_ptr<const Specs>() const { return state_->specs; }
const Libraries& Context::libraries() const { return state_->libraries; }
const Linker& Context::linker() const { return state_->linker; }
const Records& Context::records() const { return state_->records; }
const Log& Context::log() const { return state_->log; }
const StartTimes& Context::start_times() const { return state_->start; }
void* Context::attached(const std::type_info& type, std::shared_ptr<void> (*make)()) const {
  return state_->attachments->find(type, make);
}

Buffer Context::alloc(std::uint64_t bytes, std::optional<std::byte> fill) const {
  Buffer buffer(state_->machine->allocate(bytes));
  if (fill) buffer.fill(*fill);
  return buffer;
}

void Context::register_memory(void* data, std::size_t bytes) const {
  if (data == nullptr || bytes == 0)
    throw Error(
        ErrorKind::usage, "bad-memory",
        data == nullptr ? "register_memory is given a null pointer" : "register_memory is given 0 bytes",
        "pass the address and the size of memory that kernels may use");
  state_->machine->register_memory(data, bytes);
}
void Context::unregister_memory(void* data) const { state_->machine->unregister_memory(data); }
EncodedTensorMap Context::encode(const TensorMap& map) const { return state_->machine->encode(map); }
void Context::synchronize(CUstream_st* stream) const { state_->machine->synchronize(stream); }

const DeviceContext& Context::device_context() const {
  if (const DeviceContext* device = state_->machine->device()) return *device;
  throw Error(ErrorKind::missing, "no-device", "this needs a GPU, but the context is the CPU executor",
              "run on a machine with an NVIDIA GPU and its driver; ptxloom doctor shows what it finds");
}

Kernel Context::load(const ir::Module& module, std::string_view entry, LinkOptions link) const {
  const ir::Kernel& kernel = find_entry(module, entry);
  if (is_gpu()) check_target(target(), specs().target(module.target), kernel.name);
  auto state = std::make_shared<Kernel::State>();
  state->signature = ir::signature(kernel);
  state->link = std::move(link);
  api::Stopwatch watch;
  judge(check(module), state->diagnostics, log());
  state->times.check = watch.lap();
  state->ptx = print(module);
  state->times.print = watch.lap();
  return load_on(*state_, std::move(state), module);
}

Kernel Context::load(std::string_view ptx, const KernelSignature& signature, LinkOptions link) const {
  if (!is_gpu()) return load(ptx, signature.name);
  auto state = std::make_shared<Kernel::State>();
  state->ptx = ptx;
  state->signature = signature;
  state->link = std::move(link);
  return load_on(*state_, std::move(state), {});
}

Kernel Context::load(std::string_view ptx, std::string_view entry) const {
  auto state = std::make_shared<Kernel::State>();
  state->ptx = ptx;
  api::Stopwatch watch;
  ParseResult parsed = parse(ptx, state_->specs);
  state->times.parse = watch.lap();
  if (!is_gpu()) {
    judge(std::move(parsed.diagnostics), state->diagnostics, log());
    judge(check(parsed.module), state->diagnostics, log());
    state->times.check = watch.lap();
  }
  state->signature = ir::signature(find_entry(parsed.module, entry));
  return load_on(*state_, std::move(state), parsed.module);
}

}  // namespace ptxloom
