// SPDX-License-Identifier: Apache-2.0
#include "launch/module.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cuda/nvjitlink.hpp"
#include "launch/cubin.hpp"

namespace ptxloom {
namespace {

/// Every driver provides this much shared memory without an opt-in.
constexpr int kPlainShared = 48 * 1024;

constexpr std::array kRequiredCluster{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
                                      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH};

[[noreturn]] void throw_load_failed(const DeviceContext::State& context, CUresult result) {
  if (context.libraries.has_nvjitlink()) {
    const int linker = static_cast<int>(context.libraries.nvjitlink().major);
    if (auto problem = check_driver_version(context.driver.api_version, linker)) {
      throw Error(ErrorKind::missing, {std::move(*problem)});
    }
  }
  const DeviceInfo& info = context.info;
  throw Error(ErrorKind::link_failure, "load-failed",
              fmt::format("device {} refused the cubin: {}", info.ordinal, context.driver.describe(result)),
              fmt::format("link for this device, {} with compute capability {}.{}", info.name, info.major,
                          info.minor))
      .with_cuda_result(result);
}

std::string names_of_functions(const DeviceModule::State& module) {
  const cuda::Driver& driver = module.context->driver;
  unsigned count = 0;
  if (driver.cuModuleGetFunctionCount(&count, module.module) != CUDA_SUCCESS) return {};
  std::vector<CUfunction> functions(count);
  if (driver.cuModuleEnumerateFunctions(functions.data(), count, module.module) != CUDA_SUCCESS) return {};
  std::vector<std::string> names;
  for (const CUfunction function : functions) {
    const char* name = nullptr;
    if (driver.cuFuncGetName(&name, function) == CUDA_SUCCESS) names.emplace_back(name);
  }
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The parameter buffer as the driver reports it: scalars by size, everything else as bytes.
KernelSignature driver_signature(const cuda::Driver& driver, CUfunction function, std::string name) {
  KernelSignature signature{.name = std::move(name)};
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0; driver.cuFuncGetParamInfo(function, i, &offset, &size) == CUDA_SUCCESS; ++i) {
    constexpr std::array kScalars = {b8, b16, b32, b64};
    const auto scalar = std::ranges::find(kScalars, static_cast<int>(size), &Type::bytes);
    const bool is_scalar = scalar != kScalars.end();
    signature.parameters.push_back({.name = std::to_string(i),
                                    .type = is_scalar ? *scalar : b8,
                                    .count = is_scalar ? 0 : static_cast<std::uint32_t>(size),
                                    .offset = static_cast<std::uint32_t>(offset),
                                    .size = static_cast<std::uint32_t>(size),
                                    .alignment = is_scalar ? static_cast<std::uint32_t>(size) : 1});
  }
  return signature;
}

/// The signature with the offsets that the driver gives its parameters. They are those of a C struct, except
/// for parameters aligned to more than 16 bytes: their alignment applies in constant memory, where the
/// parameters of sm_90 start at 0x210, so a tensor map is at offset 48 of the buffer, not 64.
KernelSignature placed(KernelSignature wanted, const KernelSignature& actual) {
  constexpr std::uint32_t kStart = 16;  // alignment of the first parameter on every target
  const auto refuse = [&](std::string message) {
    throw Error(ErrorKind::usage, "signature-mismatch", std::move(message),
                "use the signature of the module that the cubin was made from");
  };
  if (wanted.parameters.size() != actual.parameters.size()) {
    refuse(fmt::format("`{}` has {} parameters, but its signature has {}", wanted.name,
                       actual.parameters.size(), wanted.parameters.size()));
  }
  bool aligned_further = false;
  for (std::size_t i = 0; i < wanted.parameters.size(); ++i) {
    KernelParameter& want = wanted.parameters[i];
    const KernelParameter& have = actual.parameters[i];
    aligned_further = aligned_further || want.alignment > kStart;
    if ((aligned_further || want.offset == have.offset) && want.size == have.size) {
      want.offset = have.offset;
      continue;
    }
    refuse(
        fmt::format("`{}` has {} bytes at {} for parameter {}, but its signature has {} bytes at {} for `{}`",
                    wanted.name, have.size, have.offset, i + 1, want.size, want.offset, want.name));
  }
  return wanted;
}

}  // namespace

DeviceModule::State::State(std::shared_ptr<DeviceContext::State> owner, std::span<const std::byte> cubin)
    : context(std::move(owner)) {
  if (const auto damage = launch::damage_of_cubin(cubin)) {
    throw Error(ErrorKind::link_failure, "load-failed", "this cubin cannot be loaded: " + *damage,
                "make it with ptxloom compile");
  }
  const auto current = context->make_current();
  const cuda::DuringCapture allowed(context->driver);
  const CUresult result = context->driver.cuModuleLoadData(&module, cubin.data());
  if (result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
      result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_INVALID_SOURCE) {
    throw_load_failed(*context, result);
  }
  context->check(result, "loading a cubin");
}

DeviceModule::State::~State() try {
  if (module == nullptr) return;
  const auto current = context->make_current();
  const cuda::DuringCapture allowed(context->driver);
  context->driver.cuModuleUnload(module);
} catch (const Error&) {
  // The context is gone, and the module with it.
}

int Function::State::attribute(CUfunction_attribute which) const {
  int value = 0;
  context().check(driver().cuFuncGetAttribute(&value, which, function), "reading a kernel's attributes");
  return value;
}

void Function::State::set_attribute(CUfunction_attribute which, int value) const {
  context().check(driver().cuFuncSetAttribute(function, which, value), "setting a kernel's attributes");
}

DeviceModule::DeviceModule(const DeviceContext& context, std::span<const std::byte> cubin)
    : state_(std::make_shared<State>(context.state(), cubin)) {}

Function DeviceModule::function(KernelSignature signature) const {
  Function function = this->function(signature.name);
  function.state_->signature = placed(std::move(signature), function.state_->signature);
  return function;
}

Function DeviceModule::function(std::string_view name) const {
  const auto current = state_->context->make_current();
  Function function;
  function.state_ = std::make_shared<Function::State>(state_);
  Function::State& state = *function.state_;
  const std::string text(name);
  const CUresult result = state.driver().cuModuleGetFunction(&state.function, state_->module, text.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    throw Error(ErrorKind::usage, "unknown-kernel", fmt::format("the cubin has no kernel `{}`", name),
                "its kernels: " + names_of_functions(*state_));
  }
  state_->context->check(result, "looking for a kernel");
  state.signature = driver_signature(state.driver(), state.function, text);
  state.info = {.registers = state.attribute(CU_FUNC_ATTRIBUTE_NUM_REGS),
                .local_bytes = state.attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
                .shared_bytes = state.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
                .constant_bytes = state.attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
                .max_threads = state.attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                .binary_version = state.attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION)};
  if (state.context().info.major >= 9)
    for (std::size_t axis = 0; axis < 3; ++axis)
      state.required_cluster[axis] = static_cast<std::uint32_t>(state.attribute(kRequiredCluster[axis]));
  state.shared_allowed = static_cast<std::uint32_t>(std::max(0, kPlainShared - state.info.shared_bytes));
  return function;
}

void DeviceModule::write_variable(std::string_view name, std::span<const std::byte> data) const {
  DeviceContext::State& context = *state_->context;
  const auto current = context.make_current();
  const std::string text(name);
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CUresult result = context.driver.cuModuleGetGlobal(&address, &bytes, state_->module, text.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    throw Error(ErrorKind::usage, "unknown-variable", fmt::format("the cubin has no variable `{}`", name),
                "name a .global or .const variable that a kernel of the module uses");
  }
  context.check(result, "looking for a variable");
  if (bytes != data.size()) {
    throw Error(ErrorKind::usage, "variable-size",
                fmt::format("variable `{}` has {} bytes, but {} are given", name, bytes, data.size()),
                "give all of them");
  }
  context.check(context.driver.cuMemcpyHtoD(address, data.data(), data.size()), "writing a variable");
  context.check(context.driver.cuStreamSynchronize(nullptr), "writing a variable");
}

}  // namespace ptxloom
