// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ptxloom {

/// More than any JSON that we read has.
inline constexpr int kDeepestJson = 64;

/// Is there a bracket within more than kDeepestJson others? Asked before parsing: values are copied and
/// written recursively, and a million brackets would end the stack.
bool is_nested_too_deeply(std::string_view json) noexcept;

}  // namespace ptxloom
