// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sass/control_code.hpp"
#include "sass/flow.hpp"
#include "sass/latencies.hpp"
#include "sass/listing.hpp"

// What is in flight between instructions. A State holds, for one place in the code, which registers wait for
// what on any path that leads there: results and operands behind scoreboards, and results of fixed latency
// with the least number of cycles since their instruction. Paths that meet are united, and loops are followed
// until nothing changes.
namespace ptxloom::sass {

struct HazardStep {
  InstructionText text;
  Uses uses;
  ControlCode control;
  std::string_view label;
};

/// A register that must not be used before one of some scoreboards is waited for.
struct Pending {
  RegisterId id = 0;
  std::uint32_t step = 0;   ///< the instruction
  bool operand = false;     ///< it still reads the register; else it will write it
  std::uint8_t any_of = 0;  ///< scoreboards; 0: none tells it
  std::uint8_t later = 0;   ///< instructions that set the same scoreboard after it
  /// It set none itself: it is done when a later one of its order or queue is.
  bool in_order = false;
};

/// A result of fixed latency that was written lately.
struct Recent {
  RegisterUse use;
  std::uint32_t step = 0;
  std::uint8_t elapsed = 0;  ///< cycles since that instruction was issued, at least
};

struct State {
  std::vector<Pending> pending;
  std::vector<Recent> recent;
  std::uint8_t set = 0;  ///< scoreboards that may be set

  /// Adds another path's. Whether this changed anything.
  bool unite(const State& other);
};

/// Two instructions that stand too close, or without a wait.
struct Hazard {
  enum class Kind : std::uint8_t {
    read_result,        ///< a result is read before its scoreboard is waited for
    overwrite_result,   ///< it is overwritten before
    overwrite_operand,  ///< an operand is overwritten that the other instruction may still read
    short_stall,        ///< a result of fixed latency is read too early
    no_scoreboard       ///< the latency is variable, and no scoreboard tells the end
  } kind = Kind::read_result;
  std::size_t step = 0, producer = 0;
  RegisterId id = 0;
  unsigned any_of = 0;
  int have = 0, need = 0;
};

/// What a Walker tells of an instruction, in the final pass.
struct Watch {
  std::function<void(const Hazard&)> hazard;
  /// Scoreboards that are waited for and cannot be set.
  std::function<void(std::size_t step, unsigned scoreboards)> idle_wait;
  /// A fixed-latency result is read: writer, reader, cycles between, cycles that the table demands.
  std::function<void(const Access& writer, const Access& reader, int have, std::optional<int> need)> distance;
};

/// "DEPBAR.LE SB0, 0x1, {4,3}": the scoreboard, how many may remain, and others that must be empty.
struct Drain {
  unsigned scoreboard = 0, remain = 0;
  unsigned others = 0;  ///< a bit for each
};
std::optional<Drain> drain_of(const InstructionText& text);

/// The instructions of a function. They refer to its texts and to the table.
std::vector<HazardStep> steps_of(const ListedFunction& function, const OperandTable& operands, int chip);

/// Follows one section of code.
void follow(const std::vector<HazardStep>& steps, bool kernel, const LatencyTable& latencies,
            const Watch& watch);

}  // namespace ptxloom::sass
