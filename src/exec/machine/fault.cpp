// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/fault.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "exec/machine/block.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/warp.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::exec {
namespace {

std::string describe(const Index3& index) { return fmt::format("({},{},{})", index[0], index[1], index[2]); }

// The statement that an operation belongs to: an instruction or a call.
template <class F>
auto with_statement(const Code& code, const Operation& op, F f) {
  const ir::Function& function = code.function_of(op);
  return op.is_call ? f(function, function.calls[op.instruction])
                    : f(function, function.instructions[op.instruction]);
}

}  // namespace

void fault(const Warp& warp, const Operation& op, Mask lanes, std::string_view code, const std::string& what,
           std::string hint) {
  const Grid& grid = warp.block().grid();
  const int lane = std::countr_zero(lanes);
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.hint = std::move(hint);
  const std::string function =
      op.function == 0 ? "" : fmt::format("function {} of ", grid.code().function_of(op).name);
  diagnostic.message =
      fmt::format("{} in {}kernel {}, block {}, thread {} (warp {}, lane {}): {}", describe(warp, op),
                  function, grid.code().kernel.name, describe(warp.block().index()),
                  describe(unflatten(warp.thread(lane), grid.launch().block)), warp.index(), lane, what);
  with_statement(grid.code(), op, [&](const ir::Function&, const auto& statement) {
    diagnostic.line = static_cast<int>(statement.line);
    diagnostic.column = static_cast<int>(statement.column);
  });
  throw Error(ErrorKind::device_fault, {std::move(diagnostic)});
}

void fault(const Actor& actor, std::string_view code, const std::string& what, std::string hint) {
  fault(*actor.warp, *actor.op, lane_bit(actor.lane), code, what, std::move(hint));
}

std::string describe(const Warp& warp, const Operation& op) {
  const Code& code = warp.block().grid().code();
  return with_statement(code, op, [](const ir::Function& function, const auto& statement) {
    return fmt::format("`{}`", print(function, statement));
  });
}

std::string describe_with_line(const Warp& warp, const Operation& op) {
  const std::uint32_t line =
      with_statement(warp.block().grid().code(), op,
                     [](const ir::Function&, const auto& statement) { return statement.line; });
  return describe(warp, op) + (line == 0 ? "" : fmt::format(" (line {})", line));
}

std::string describe_address(std::uint64_t address) { return fmt::format("{:#x}", address); }

std::string describe_lanes(Mask lanes) {
  std::string text;
  while (lanes != 0) {
    const int first = std::countr_zero(lanes);
    const int length = std::countr_one(lanes >> first);
    if (!text.empty()) text += ", ";
    text += length == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + length - 1);
    lanes &= length == kLanes ? 0 : ~((lane_bit(length) - 1) << first);
  }
  return text;
}

std::string describe_count(std::uint32_t count) {
  return count == 0 ? "all threads of the block" : fmt::format("{} threads", count);
}

}  // namespace ptxloom::exec
