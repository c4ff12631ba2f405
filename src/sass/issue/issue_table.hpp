// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sass/instruction/instruction_text.hpp"

// Which units execute an instruction, and for how long: specs/sass/issue.json for one chip.
namespace ptxloom::sass {

/// A row of "sms": how an SM issues.
struct IssueChip {
  int schedulers = 0;
  double dispatch = 0;  ///< cycles from one instruction of a scheduler to the next
  int banks = 0;        ///< of a scheduler's registers; each gives one register of a warp a cycle
  double window = 0;    ///< cycles in which an instruction of fixed latency must have its operands
  double taken = 0;     ///< cycles from a branch that is taken to the next instruction, at least
  double bubble = 0;    ///< cycles in which its scheduler issues nothing after it
  double wave = 0;  ///< cycles by which each further access to the same bank of shared memory delays a load
};

/// A row of "units".
struct IssueUnit {
  std::string name{};
  bool of_sm = false;    ///< the schedulers share it; else each has one
  bool of_warp = false;  ///< none: it delays the warp that issues the instruction
  int queue = 0;  ///< instructions that may wait for it; 0: an instruction is issued when the unit is free
  bool banks = false;    ///< its instructions read registers through the banks, in the window
  bool assumed = false;  ///< how long instructions occupy it was neither measured on this chip nor published
  std::string what{};
};

/// What amounts depend on, beside the instruction.
struct IssueSize {
  int columns = 0;       ///< n of a wgmma
  bool shared_a = true;  ///< wgmma reads A from shared memory, not from registers
  double bytes = 0;      ///< that bulk copies bring
};

/// `fixed + per_column * n + of_a * a + per_byte * b`: columns n of a wgmma, a = 1 if it reads A from shared
/// memory, bytes b of bulk copies.
struct IssueAmount {
  double fixed = 0, per_column = 0, of_a = 0, per_byte = 0;
  double at(const IssueSize& size) const {
    return fixed + per_column * size.columns + (size.shared_a ? of_a : 0) + per_byte * size.bytes;
  }
};

/// What an instruction does beside occupying units.
enum class IssueEffect : std::uint8_t {
  none,
  copy,        ///< an asynchronous copy: no register waits for it
  commit,      ///< sets its scoreboard when the copies before it are done
  drain,       ///< DEPBAR: waits until at most some of a scoreboard's instructions are in flight
  barrier,     ///< waits for all warps of the thread block
  group,       ///< a wgmma: belongs to the group that the next one with a group operand ends
  group_wait,  ///< waits until at most some groups are in flight
  poll,        ///< asks an mbarrier whether a phase is over
  sleep,       ///< lets time pass until it is asked again
  expect,      ///< tells an mbarrier how many bytes bulk copies bring
  release,     ///< arrives at an mbarrier: a stage of a pipeline may be filled again
};

struct IssueUse {
  std::vector<std::size_t> units{};  ///< indices of units, any of which will do
  IssueAmount cycles{};
};

/// Where the latency of a load comes from.
enum class LoadFrom : std::uint8_t { l1, l2, memory };

/// A row of "instructions".
struct IssueRow {
  std::string modifiers{};
  std::vector<IssueUse> uses{};  ///< it needs all of these; none: it only takes an issue slot
  bool of_class = false;         ///< the row of a class, not of the opcode
  bool banks = false;            ///< whether one of its units has it
  bool fixed = true;             ///< its results take a fixed time, which the control codes know
  bool global = false;           ///< the latency is that of a load, and `latency` is added
  IssueAmount latency{};         ///< until its write scoreboard opens
  double read = 0;               ///< until its read scoreboard opens
  IssueAmount operations{};      ///< of a warp, on floats or in tensor products; a multiply-add is two
  IssueEffect effect = IssueEffect::none;
};

class IssueTable {
 public:
  /// `from`: where loads from global memory find their data.
  IssueTable(int chip, LoadFrom from);

  const IssueChip& chip() const { return chip_; }
  const std::vector<IssueUnit>& units() const { return units_; }
  /// The row of an instruction with this class of operands.json; null if there is none.
  const IssueRow* row_of(const InstructionText& text, std::string_view type) const;
  /// The row of what tells an mbarrier to expect bytes: its amounts by byte are what bulk copies take. Null
  /// if the chip has none.
  const IssueRow* expect_row() const;
  double latency_of(const IssueRow& row, const IssueSize& size) const;
  /// What the text of an instruction tells of its amounts: all but the bytes.
  IssueSize size_of(const InstructionText& text) const;
  /// The operand of what tells an mbarrier to expect bytes that holds their number; empty if it has none.
  std::string_view bytes_operand(const InstructionText& text) const;
  /// Whether the latencies were measured on another chip.
  bool assumed() const { return assumed_; }

 private:
  void read_rows(const std::vector<std::string>& lines);
  IssueUse use_of(std::string_view text) const;
  std::vector<IssueUse> uses_of(const std::string& cell) const;
  void read_loads(const std::vector<std::string>& lines, int chip, LoadFrom from);
  void read_amounts(const std::vector<std::string>& lines);

  IssueChip chip_;
  std::vector<IssueUnit> units_;
  std::map<std::string, std::vector<IssueRow>, std::less<>> opcodes_, types_;
  /// By opcode: what stands before the number of columns in a modifier, which operand A is, and which the
  /// bytes. An operand less than 0 is counted from the end.
  std::map<std::string, std::string, std::less<>> columns_;
  std::map<std::string, int, std::less<>> a_, bytes_;
  double load_ = 0;
  bool assumed_ = false;
};

}  // namespace ptxloom::sass
