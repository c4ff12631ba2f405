// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <bit>

#include "exec/machine/fault.hpp"
#include "exec/system/text.hpp"

// __assertfail, which assert of device code calls if its condition does not hold (CUDA programming guide,
// "Assertion").
namespace ptxloom::exec {
namespace {

void run_assert(const SystemCall& call, Mask mask) {
  const int lane = std::countr_zero(mask);
  const auto text = [&](std::size_t index) {
    const std::uint64_t address = call.argument(lane, index);
    return address == 0 ? std::string("?") : read_text(call, lane, address);
  };
  const std::string others = std::popcount(mask) == 1
                                 ? ""
                                 : fmt::format("; lanes {} of the warp fail together", describe_lanes(mask));
  fault(call.warp(), call.op(), mask, "assert",
        fmt::format("assertion `{}` failed at {}:{}, in {}{}", text(0), text(1), call.argument(lane, 2),
                    text(3), others),
        "the kernel checks this itself: look for what makes the condition false");
}

constexpr std::array kFunctions{
    SystemFunction{.name = "__assertfail", .run = run_assert, .parameters = {8, 8, 4, 8, 8}},
};

}  // namespace

std::span<const SystemFunction> assert_functions() { return kFunctions; }

}  // namespace ptxloom::exec
