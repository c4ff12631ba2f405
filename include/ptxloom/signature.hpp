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

// What a kernel expects at launch: its parameters in order, each at its place in the parameter buffer, which
// is laid out as C lays out a struct. Launching packs and checks arguments against it, on GPU and executor
// alike.
namespace [[gnu::visibility("default")]] ptxloom {

struct KernelParameter {
  std::string name{};
  Type type{};
  std::uint32_t count = 0;      ///< elements of an array parameter, 0 for a scalar
  std::uint32_t offset = 0;     ///< bytes from the start of the parameter buffer
  std::uint32_t size = 0;       ///< bytes
  std::uint32_t alignment = 0;  ///< bytes
  bool pointer = false;         ///< declared `.ptr`: takes device memory
};

struct KernelSignature {
  std::string name{};
  std::vector<KernelParameter> parameters{};
  std::optional<std::array<std::uint32_t, 3>> cluster{};  ///< .reqnctapercluster: no other will do

  /// Bytes of the parameter buffer.
  std::uint32_t size() const {
    return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
  }

  /// Appends a parameter, filling in the size, the natural alignment where none is given, and the offset.
  KernelParameter& append(KernelParameter parameter) {
    const auto bytes = static_cast<std::uint32_t>(parameter.type.bytes());
    parameter.size = bytes * std::max(parameter.count, 1U);
    parameter.alignment = std::max({parameter.alignment, bytes, 1U});
    parameter.offset = (size() + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    return parameters.emplace_back(std::move(parameter));
  }
};

}  // namespace ptxloom
