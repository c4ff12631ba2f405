// SPDX-License-Identifier: Apache-2.0
#include "exec/system/text.hpp"

#include <cstring>

#include "exec/judge/judge.hpp"
#include "exec/memory/address.hpp"

namespace ptxloom::exec {

std::uint64_t read_value(const SystemCall& call, int lane, std::uint64_t address, std::uint32_t bytes) {
  const Reach reach{.space = StateSpace::generic, .access = Access::read, .bytes = bytes, .alignment = bytes};
  std::uint64_t value = 0;
  const std::byte* const memory = resolve(call.warp(), call.op(), lane, address, reach);
  std::memcpy(&value, memory, bytes);
  if (Judge* judge = call.warp().judge()) judge->take({&call.warp(), &call.op(), lane}, memory, bytes);
  return value;
}

std::string read_text(const SystemCall& call, int lane, std::uint64_t address, std::size_t most) {
  std::string text;
  for (; text.size() < most; ++address) {
    const auto character = static_cast<char>(read_value(call, lane, address, 1));
    if (character == '\0') break;
    text += character;
  }
  return text;
}

}  // namespace ptxloom::exec
