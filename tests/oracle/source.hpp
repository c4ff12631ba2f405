// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/target.hpp"

// The kernel around the lines that are judged, one statement a line. ptxas and our own checker read the same
// text, so that each verdict is found by the number of its line.
namespace ptxloom::oracle {

/// What the lines need around them.
struct Surroundings {
  std::string module_decls, body_decls;
  std::string mode = {};  ///< what .target names after the target, "texmode_independent"
};

struct Place {
  const Target& target;
  Version version;
  const Surroundings& around;
};

/// What a refusal is about, as far as the checks tell refusals apart.
enum class Reason : std::uint8_t {
  other,
  expansion,   // what ptxas made of the line: an instruction that does not stand there, or a function of its
               // own
  operands,    // the types of operands
  unreadable,  // the line cannot be parsed
};

/// What a judge says of a line.
struct Verdict {
  bool accepted = true;
  std::string message = {};  // the first that names the line
  bool judged = true;        // false: the judge crashed on it, or did not come back
  Reason reason = Reason::other;
  bool stored = false;  // known from an earlier run, without the message
};

/// Lines use predicates P<i>, registers <class><bits>_<i> (R32_1: .b32, F32_1: .f32, S and U likewise; H32_1:
/// .f16x2), the label L0 and the parameter kp.
class Source {
 public:
  Source(std::span<const std::string> lines, std::span<const std::size_t> live, const Place& place);

  const std::string& text() const { return text_; }
  /// How many lines are judged.
  std::size_t lines() const { return static_cast<std::size_t>(lines_); }
  /// The class of registers ("R128") declared at this line of the text; "" if it declares none.
  std::string_view registers_at(int line) const;
  /// The position among `live` of the line judged there, -1 if it is none.
  int position(int line) const;

 private:
  std::string text_;
  std::vector<std::string> registers_;
  int first_line_ = 0, lines_ = 0;
};

}  // namespace ptxloom::oracle
