// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ptxloom {

/// Deeper than any JSON that we read.
inline constexpr int kDeepestJson = 64;

/// Whether brackets are nested more than kDeepestJson deep. Call before parsing: values are copied and
/// written recursively, and a million brackets would overflow the stack.
bool is_nested_too_deeply(std::string_view json) noexcept;

}  // namespace ptxloom
