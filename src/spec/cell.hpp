// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "spec/arena.hpp"
#include "spec/form_data.hpp"
#include "spec/spec_error.hpp"

// A cell of a table: the values that it allows for its column's slot.
namespace ptxloom::spec {

inline constexpr std::string_view kAbsent = "-";

/// Whether a value is printed in an opcode. Where tables differ, the greater applies.
enum class Spelling : std::uint8_t {
  written,   // f16
  optional,  // rn?       may be omitted, with the same meaning
  implied,   // (release) never written
};

struct Alternative {
  std::string_view value;
  Spelling spelling = Spelling::written;
};

struct Cell {
  enum class Kind : std::uint8_t { any, one_of, none_of, same_as };
  Kind kind = Kind::any;
  std::span<const Alternative> values;  // one_of, none_of
  std::string_view column;              // same_as
  int slot = -1;                        // same_as: the column's slot
};

/// The sets visible to a form: its own, then those of its file. Each is expanded once.
class Sets {
 public:
  Sets(std::span<const Entry> own, std::span<const Entry> shared, Arena& arena, Place place);

  /// The values of a choice: "f16|@f8|8..256/8|rn?|(release)".
  std::span<const Alternative> expand(std::string_view choice);
  /// The text of a set, for needs; throws "spec-unknown-set".
  std::string_view text(std::string_view name) const;

 private:
  void expand_into(std::string_view choice, std::vector<Alternative>& out);
  std::span<const Alternative> expand_set(std::string_view name);
  bool expand_range(std::string_view word, std::vector<Alternative>& out);

  struct Set {
    std::string_view name, text;
    std::span<const Alternative> values;
    bool expanded = false, expanding = false;
  };
  std::vector<Set> sets_;
  std::vector<Alternative> scratch_;  // scratch space for the choice being expanded
  Arena& arena_;
  Place place_;
};

Cell parse_cell(std::string_view text, Sets& sets);

/// The parts of "a|b|c" or of a blank-separated line.
std::vector<std::string_view> split(std::string_view text, char separator);
/// The same, appended.
void split(std::string_view text, char separator, std::vector<std::string_view>& parts);

}  // namespace ptxloom::spec
