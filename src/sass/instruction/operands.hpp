// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sass/instruction/instruction_text.hpp"

// Which registers an instruction reads and writes, by its text and the data of specs/sass/operands.json.
namespace ptxloom::sass {

enum class RegisterFile : std::uint8_t { general, uniform, predicate, uniform_predicate };

/// All registers of a thread and of its warp, numbered from 0: R, UR, P, UP.
using RegisterId = std::uint16_t;
inline constexpr RegisterId kFirstUniform = 256, kFirstPredicate = 512, kFirstUniformPredicate = 520,
                            kRegisterIds = 528;
RegisterFile file_of(RegisterId id);
/// Of "UR4"; nothing for RZ, PT and other words.
std::optional<RegisterId> register_of(std::string_view word);
/// "UR4"
std::string register_name(RegisterId id);

/// One register of an operand.
struct RegisterUse {
  RegisterId id = 0;
  char operand = 'a';      ///< d: the result; a, b, c, e...: sources in order; p: predicates; g: the guard
  std::uint8_t index = 0;  ///< within the operand: 1 is the second register of a pair

  bool operator==(const RegisterUse&) const = default;
};

/// How long the results of a class of instructions take.
enum class Results : std::uint8_t {
  fixed,     ///< a known number of cycles, so the stall count covers them
  variable,  ///< a scoreboard tells when they are there
  either,    ///< as the chip has it: the scoreboard, if the instruction sets one
  other      ///< by means that are not looked at: wgmma has groups
};

/// Where execution goes on.
enum class Flow : std::uint8_t { next, branch, end, call, region, sync, collective };

struct Uses {
  std::string_view type;  ///< class of latencies: "alu"; empty: the opcode is unknown
  Results results = Results::other;
  std::string_view order;  ///< its results are written in the order of instructions with the same name here
  /// It reads registers some time after it was issued, in the order of instructions with the same name here;
  /// empty: it reads them as it is issued. On chips where its latency is fixed it does that too.
  std::string_view queue;
  bool late_uniform = false;  ///< it reads uniform registers late too
  std::string_view drains;    ///< the queue that is empty when the next instruction is issued
  bool clears = false;        ///< the predicates that it writes become false
  Flow flow = Flow::next;
  std::vector<RegisterUse> reads, writes;
};

class OperandTable {
 public:
  OperandTable();
  /// One for all: reading the data takes longer than checking most kernels.
  static const OperandTable& compiled();
  /// The views in the result are of this table.
  Uses uses_of(const InstructionText& text, int chip) const;

 private:
  struct Type {
    Results results = Results::other;
    std::string order, queue;
    bool late_uniform = false;
  };
  struct Role {
    std::string modifiers;
    std::string_view type;
    int predicates = 0, registers = 0, carries = 0;
  };
  struct Width {
    std::string modifiers;
    char operand = '*';  ///< '*': all
    int registers = 1;
  };
  const Role* role_of(const InstructionText& text) const;
  /// Registers of an operand; less than 0: what its text says.
  int width_of(const InstructionText& text, std::string_view operand, char letter) const;

  std::map<std::string, Type, std::less<>> types_;
  std::map<std::string, std::vector<Role>, std::less<>> roles_;
  std::map<std::string, std::vector<Width>, std::less<>> widths_;
  std::map<std::string, std::vector<std::pair<std::string, int>>, std::less<>> suffixes_;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>, std::less<>> drains_;
  std::map<std::string, std::string, std::less<>> clears_;
  std::map<std::string, Flow, std::less<>> flows_;
};

}  // namespace ptxloom::sass
