// SPDX-License-Identifier: Apache-2.0
#include "base/tensor_map_text.hpp"

#include <fmt/format.h>

#include <charconv>

namespace ptxloom {

std::string to_hex(const TensorMap& map) {
  std::string text;
  for (const std::byte byte : encode_for_executor(map).bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

std::optional<TensorMap> tensor_map_from_hex(std::string_view text) {
  EncodedTensorMap encoded;
  if (text.size() != 2 * encoded.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < encoded.bytes.size(); ++i) {
    unsigned value = 0;
    const char *first = text.data() + 2 * i, *last = first + 2;
    if (std::from_chars(first, last, value, 16).ptr != last) return std::nullopt;
    encoded.bytes[i] = static_cast<std::byte>(value);
  }
  return decode_for_executor(encoded.bytes);
}

}  // namespace ptxloom
