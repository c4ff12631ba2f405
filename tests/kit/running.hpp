// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/launch_plan.hpp"

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

/// Runs a kernel with the arguments of a plan.
inline void run(const ir::Module& module, exec::Launch launch, std::span<const ArgumentPlan> arguments,
                const std::vector<Tensor>& tensors) {
  exec::Memory memory;
  std::vector<std::byte> parameters;
  for (const ArgumentPlan& argument : arguments) {
    std::uint64_t bits = argument.bits;
    for (const Tensor& given : tensors)
      if (given.name == argument.tensor)
        bits = memory.map(given.bytes.data(), given.bytes.size(), given.name);
    const auto size = static_cast<std::size_t>(argument.type.bytes());
    parameters.resize((parameters.size() + size - 1) / size * size);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&bits);
    parameters.insert(parameters.end(), bytes, bytes + size);
  }
  launch.parameters = parameters;
  exec::Program(module, "tried").run(memory, launch);
}

inline std::mt19937& random_bits() {
  static std::mt19937 engine(Catch::getSeed());
  return engine;
}

/// Uniform in [-scale, scale].
inline float random_value(float scale = 1) {
  return std::uniform_real_distribution<float>(-scale, scale)(random_bits());
}

}  // namespace ptxloom::kit_test
