// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptxloom/type.hpp"

/// \file
/// The signature of a kernel: its parameters in order, with their offsets in the parameter buffer, which is
/// laid out as a C struct. Arguments are checked and packed by it, on a GPU and in the executor.
namespace [[gnu::visibility("default")]] ptxloom {

/// A parameter of a kernel.
struct KernelParameter {
  std::string name{};           ///< may be empty
  Type type{};                  ///< of an element
  std::uint32_t count = 0;      ///< elements of an array; 0: a scalar
  std::uint32_t offset = 0;     ///< bytes from the start of the parameter buffer
  std::uint32_t size = 0;       ///< bytes
  std::uint32_t alignment = 0;  ///< bytes
  bool pointer = false;         ///< declared `.ptr`: it takes device memory
};

/// The parameters of a kernel.
struct KernelSignature {
  std::string name{};                         ///< of the kernel
  std::vector<KernelParameter> parameters{};  ///< in order
  std::optional<std::array<std::uint32_t, 3>>
      cluster{};  ///< .reqnctapercluster: the only cluster it takes, in thread blocks

  /// Size of the parameter buffer in bytes.
  std::uint32_t size() const {
    return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
  }

  /// Appends a parameter and fills in its size, its offset and, if it is not given, its natural alignment.
  KernelParameter& append(KernelParameter parameter) {
    const auto bytes = static_cast<std::uint32_t>(parameter.type.whole_bytes());
    parameter.size = bytes * std::max(parameter.count, 1U);
    parameter.alignment = std::max({parameter.alignment, bytes, 1U});
    parameter.offset = (size() + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    return parameters.emplace_back(std::move(parameter));
  }
};

}  // namespace ptxloom
