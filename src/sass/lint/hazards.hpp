// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sass/instruction/control_code.hpp"
#include "sass/lint/flow.hpp"
#include "sass/lint/hazard_state.hpp"
#include "sass/lint/latencies.hpp"
#include "sass/listing/listing.hpp"

// What is in flight between instructions: results and operands behind scoreboards, and results of fixed
// latency with the least number of cycles since their instruction. Each block of the code is followed from
// the states that lead to it, and loops until nothing changes.
namespace ptxloom::sass {

struct HazardStep {
  InstructionText text;
  Uses uses;
  ControlCode control;
  std::string_view label;
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

/// From an instruction to one that reads its result.
struct Distance {
  std::size_t writing = 0, reading = 0;  ///< steps
  Access writer, reader;
  int have = 0;             ///< cycles between, at least
  std::optional<int> need;  ///< that the table demands
};

/// A result that is on its way where the instructions around it are not followed or not known.
struct Unseen {
  std::size_t step = 0;                ///< it has come as far as this instruction
  std::optional<std::size_t> writing;  ///< where it was written; nothing: that is what is not known
  int have = 0;                        ///< cycles that it has had, at least
};

/// What a Walker tells of an instruction, in the final pass.
struct Watch {
  std::function<void(const Hazard&)> hazard;
  /// Scoreboards that are waited for and cannot be set.
  std::function<void(std::size_t step, unsigned scoreboards)> idle_wait;
  /// A result of fixed latency is read.
  std::function<void(const Distance&)> distance;
  std::function<void(const Unseen&)> unseen;
  /// How many cycles results are watched for after all readers can have them.
  int longer = 0;
};

/// "DEPBAR.LE SB0, 0x1, {4,3}": the scoreboard, how many may remain, and others that must be empty. Nothing
/// if there is no such scoreboard.
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
