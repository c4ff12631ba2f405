// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/block_scales.hpp"

#include <fmt/format.h>

#include "exec/machine/fault.hpp"

namespace ptxloom::exec {

BlockScales::BlockScales(const Decoder& decoder, std::string_view data, std::string_view byte_id,
                         std::string_view thread_id)
    : fragment_(decoder, data, byte_id, thread_id),
      data_(static_cast<std::size_t>(decoder.operand(data))),
      byte_id_(static_cast<std::size_t>(decoder.operand(byte_id))),
      thread_id_(static_cast<std::size_t>(decoder.operand(thread_id))) {}

const Fragment& BlockScales::fragment(Warp& warp, const Operation& op) const {
  const auto value = [&](std::size_t operand) {
    return static_cast<std::uint32_t>(Lanes<std::uint16_t>(warp.registers(), op.slot(operand))[0]);
  };
  const std::uint32_t byte_id = value(byte_id_), thread_id = value(thread_id_);
  const Fragment* fragment = fragment_.find(byte_id, thread_id);
  if (fragment == nullptr) {
    fault(warp, op, 1, "mma-selector",
          fmt::format("there are no scale factors at byte {}, thread {}", byte_id, thread_id),
          "use a byte-id and a thread-id that the scale_vec of the instruction has");
  }
  return *fragment;
}

std::vector<std::uint32_t> BlockScales::gather(Warp& warp, const Operation& op) const {
  std::vector<std::uint32_t> scales;
  fragment(warp, op).gather(warp.registers(), slots(op), scales);
  return scales;
}

}  // namespace ptxloom::exec
