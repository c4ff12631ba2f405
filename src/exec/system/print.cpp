// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/machine/block.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/work.hpp"
#include "exec/system/format.hpp"
#include "exec/system/text.hpp"

// vprintf, which printf of device code calls (CUDA programming guide, "Formatted Output"). The arguments are
// in a buffer, promoted as those of a C function, each aligned to its size. It returns how many the format
// names.
namespace ptxloom::exec {
namespace {

void print(const SystemCall& call, int lane) {
  const std::uint64_t format = call.argument(lane, 0);
  if (format == 0) return call.set_result(lane, static_cast<std::uint32_t>(-1));
  std::uint64_t at = call.argument(lane, 1);
  const PrintArguments arguments{
      .next =
          [&](PrintType type) {
            const std::uint32_t bytes = type == PrintType::word ? 4 : 8;
            at = (at + bytes - 1) / bytes * bytes;
            const std::uint64_t value = read_value(call, lane, at, bytes);
            at += bytes;
            return value;
          },
      .text = [&](std::uint64_t address, std::size_t most) { return read_text(call, lane, address, most); }};
  Formatted done = format_print(read_text(call, lane, format), arguments);
  const Block& block = call.warp().block();
  block.cluster().work().printer().add(
      block.cluster().index(), {.block = block.index(),
                                .thread = unflatten(call.warp().thread(lane), block.grid().launch().block),
                                .text = std::move(done.text)});
  call.set_result(lane, static_cast<std::uint32_t>(done.arguments));
}

void run_print(const SystemCall& call, Mask mask) {
  for (; mask != 0; mask &= mask - 1) print(call, std::countr_zero(mask));
}

constexpr std::array kFunctions{
    SystemFunction{.name = "vprintf", .run = run_print, .parameters = {8, 8}, .result = 4, .prints = true},
};

}  // namespace

std::span<const SystemFunction> print_functions() { return kFunctions; }

}  // namespace ptxloom::exec
