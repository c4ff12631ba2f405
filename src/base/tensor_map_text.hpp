// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptxloom/tensor_map.hpp"

// A tensor map as text, for another process or a file: the bytes that the executor would be given, in
// hexadecimal.
namespace ptxloom {

std::string to_hex(const TensorMap& map);
/// Nothing for text that to_hex did not write.
std::optional<TensorMap> tensor_map_from_hex(std::string_view text);

}  // namespace ptxloom
