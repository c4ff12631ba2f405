// SPDX-License-Identifier: Apache-2.0
#include "foreign/cudart/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "foreign/cudart/report.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::foreign {
namespace {

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

}  // namespace

Device& Device::get() {
  static Device device;
  return device;
}

Device::Device() : specs_(std::make_shared<const Specs>()) {}

Module* Device::add_module(std::string ptx) {
  ParseResult parsed = parse(ptx, specs_);
  if (!parsed.ok()) {
    for (const Diagnostic& each : parsed.diagnostics)
      if (each.severity == Severity::error) throw std::runtime_error(to_string(each));
  }
  modules_.push_back(std::make_unique<Module>(Module{.ptx = std::move(ptx), .ir = std::move(parsed.module)}));
  return modules_.back().get();
}

void Device::add_kernel(Module* module, const void* host, std::string name) {
  const ir::Function* const function = module->ir.find(name);
  if (function == nullptr || !function->entry)
    return fmt::print(stderr, "ptxloom: the PTX has no kernel {}\n", name);
  KernelSignature signature = ir::signature(*function);
  kernels_[host] = {.module = module, .name = std::move(name), .signature = std::move(signature)};
}

void Device::add_variable(Module* module, const void* host, std::string name, std::size_t bytes) {
  variables_[host] = {.module = module, .name = std::move(name), .bytes = bytes};
}

Kernel* Device::find_kernel(const void* host) {
  const auto found = kernels_.find(host);
  return found == kernels_.end() ? nullptr : &found->second;
}

const Variable* Device::find_variable(const void* host) const {
  const auto found = variables_.find(host);
  return found == variables_.end() ? nullptr : &found->second;
}

void Device::set_variable(const Variable& variable, std::span<const std::byte> bytes, std::size_t offset) {
  std::vector<std::byte>& value = variable.module->values[variable.name];
  value.resize(variable.bytes);
  std::ranges::copy(bytes, value.begin() + static_cast<std::ptrdiff_t>(offset));
}

std::uint64_t Device::allocate(std::size_t bytes) {
  const std::uint64_t address = memory_.allocate(bytes);
  allocations_.push_back({.address = address, .bytes = bytes});
  return address;
}

void Device::release(std::uint64_t address) { memory_.release(address); }

Target Device::target() const {
  if (modules_.empty()) throw std::runtime_error("the program has no kernels");
  return Target(modules_.front()->ir.target);
}

void Device::prepare(Kernel& kernel) {
  if (!kernel.program) kernel.program = std::make_unique<exec::Program>(kernel.module->ir, kernel.name);
  for (const auto& [name, bytes] : kernel.module->values) kernel.program->write_variable(name, bytes);
}

bool Device::launch(Kernel& kernel, const LaunchShape& shape, void** arguments) {
  std::vector<std::byte> parameters(kernel.signature.size());
  for (std::size_t i = 0; i < kernel.signature.parameters.size(); ++i) {
    const KernelParameter& parameter = kernel.signature.parameters[i];
    std::memcpy(parameters.data() + parameter.offset, arguments[i], parameter.size);
  }
  record(kernel, shape, parameters, allocations_, memory_);
  exec::Findings findings;
  LaunchReport result{.kernel = kernel, .shape = shape};
  const auto begin = std::chrono::steady_clock::now();
  try {
    prepare(kernel);
    kernel.program->run(memory_, {.grid = shape.grid,
                                  .block = shape.block,
                                  .cluster = shape.cluster,
                                  .shared_bytes = shape.shared_bytes,
                                  .cooperative = shape.cooperative,
                                  .parameters = parameters,
                                  .jobs = 1,
                                  .findings = &findings,
                                  .schedule = number_in("PTXLOOM_SCHEDULE", 0)});
  } catch (const Error& error) {
    result.error = error.what();
  }
  result.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  result.findings = findings.all();
  report(result);
  return result.error.empty() &&
         std::ranges::none_of(result.findings, [](const exec::Finding& each) { return each.fatal; });
}

}  // namespace ptxloom::foreign
