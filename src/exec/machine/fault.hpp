// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "exec/judge/horizon.hpp"
#include "exec/machine/lanes.hpp"
#include "exec/machine/operation.hpp"
#include "ptxloom/findings.hpp"

// Errors of a kernel, as an Error that names the instruction, the thread block and the thread.
namespace ptxloom::exec {

/// Throws Error(refused, code): "`ld.global.u32 …;` in kernel k, block (0,0,0), thread (5,0,0): <what>". The
/// thread is the lowest of `lanes`.
[[noreturn]] void fault(const Warp& warp, const Operation& op, Mask lanes, std::string_view code,
                        const std::string& what, std::string hint);

/// The thread that performs an action: named by a fault that is found later.
struct Actor {
  Warp* warp;
  const Operation* op;
  int lane;
};
[[noreturn]] void fault(const Actor& actor, std::string_view code, const std::string& what, std::string hint);

/// What a finding is about besides the thread that performs the action.
struct Misuse {
  std::string_view code;
  const Warp* other_warp = nullptr;     ///< of the other side; null: an asynchronous copy
  const Operation* other_op = nullptr;  ///< null: there is no other side
  int other_lane = -1;
  /// The thread block and the warp of the other side, if that warp has ended.
  std::optional<std::array<std::uint32_t, 3>> other_block = {};
  std::uint32_t other_number = 0;
  std::string address = {};
  std::optional<Time> since = {};  ///< when the other side was, if it is an access of this cluster
};
/// A misuse after which the kernel cannot go on.
[[noreturn]] void fault(const Actor& actor, const Misuse& misuse, const std::string& what, std::string hint);
/// A misuse after which the kernel can go on: a fault, unless the launch collects findings.
void report(const Actor& actor, const Misuse& misuse, const char* hint,
            const std::function<std::string()>& what);

/// A finding for this list, whether or not the launch collects findings. Returns what it is counted as.
Findings::Key report_to(Findings& findings, const Actor& actor, const Misuse& misuse, const char* hint,
                        const std::function<std::string()>& what);

/// "`bar.sync 0;`".
std::string describe(const Warp& warp, const Operation& op);
/// "`bar.sync 0;` (line 12)": an instruction other than the faulting one. Without a line if it was built.
std::string describe_with_line(const Warp& warp, const Operation& op);
std::string describe_address(std::uint64_t address);  ///< "0x1000000004"
std::string describe_lanes(Mask lanes);               ///< "0-7, 16"
std::string describe_count(std::uint32_t count);      ///< of a barrier: "64 threads", "all threads"

}  // namespace ptxloom::exec
