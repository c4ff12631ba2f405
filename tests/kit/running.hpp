// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/launch_plan.hpp"
#include "ptxloom/tensor_map.hpp"

// Kernels made of the kit's parts run in the executor, which judges them.
namespace ptxloom::kit_test {

inline const std::shared_ptr<const Specs>& specs() {
  static const auto all = std::make_shared<const Specs>();
  return all;
}

inline KernelBuilder builder(const char* target = "sm_90a") { return {specs(), "tried", Target(target)}; }

/// The bytes of a tensor by its name.
struct Tensor {
  std::string name;
  std::span<std::byte> bytes;
};

template <class T>
Tensor tensor(std::string name, std::vector<T>& values) {
  return {std::move(name), std::as_writable_bytes(std::span(values))};
}

/// Where the tensors of a launch are.
class Addresses {
 public:
  Addresses(exec::Memory& memory, const std::vector<Tensor>& tensors) {
    for (const Tensor& one : tensors)
      begin_[one.name] = memory.map(one.bytes.data(), one.bytes.size(), one.name);
  }
  /// The bytes of an argument.
  std::vector<std::byte> bytes_of(const ArgumentPlan& argument) const {
    if (argument.map) {
      TensorMap map = *argument.map;
      map.address += begin_.at(argument.tensor);
      const EncodedTensorMap encoded = encode_for_executor(map);
      return {encoded.bytes.begin(), encoded.bytes.end()};
    }
    const std::uint64_t bits = argument.tensor.empty() ? argument.bits : begin_.at(argument.tensor);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&bits);
    return {bytes, bytes + argument.type.bytes()};
  }

 private:
  std::map<std::string, std::uint64_t, std::less<>> begin_;
};

/// Runs a kernel with the arguments of a plan.
inline void run(const ir::Module& module, exec::Launch launch, std::span<const ArgumentPlan> arguments,
                const std::vector<Tensor>& tensors) {
  exec::Memory memory;
  const Addresses addresses(memory, tensors);
  std::vector<std::byte> parameters;
  for (const ArgumentPlan& argument : arguments) {
    const std::vector<std::byte> bytes = addresses.bytes_of(argument);
    const std::size_t alignment = argument.map ? alignof(EncodedTensorMap) : bytes.size();
    parameters.resize((parameters.size() + alignment - 1) / alignment * alignment);
    parameters.insert(parameters.end(), bytes.begin(), bytes.end());
  }
  launch.parameters = parameters;
  exec::Program(module, "tried").run(memory, launch);
}

/// The code of the error that something throws, or "accepted".
template <class F>
std::string verdict(F&& tried) {
  try {
    tried();
  } catch (const Error& error) {
    return error.code();
  }
  return "accepted";
}

inline std::mt19937& random_bits() {
  static std::mt19937 engine(Catch::getSeed());
  return engine;
}

inline std::uint32_t random_word() { return static_cast<std::uint32_t>(random_bits()()); }

inline std::vector<std::byte> random_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_word());
  return bytes;
}

/// Uniform in [-scale, scale].
inline float random_value(float scale = 1) {
  return std::uniform_real_distribution<float>(-scale, scale)(random_bits());
}

}  // namespace ptxloom::kit_test
