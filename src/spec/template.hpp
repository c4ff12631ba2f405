// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec_error.hpp"

// A text with slots: "m<M>n8k<K>", "<.v w>", "<M*K/32/p>". Slots are numbered per form; values are indexed by
// these numbers.
namespace ptxloom::spec {

/// Assigns numbers to slot names.
class SlotNames {
 public:
  int add(std::string_view name);
  int find(std::string_view name) const;  // -1 if there is none
  std::string_view name(int slot) const { return names_[static_cast<std::size_t>(slot)]; }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string_view> names_;
};

using Values = std::span<const std::string_view>;

class Template {
 public:
  /// `~`, the end of an opcode's head, becomes an empty piece. Throws "spec-text".
  static Template parse(std::string_view text, SlotNames& slots, Place place);

  /// How an absent slot prints.
  enum class Absent { nothing, dash };
  void render(Values values, Absent absent, std::string& out) const;
  std::string render(Values values, Absent absent = Absent::nothing) const;

  /// A factor of <M*K/32/p>: a slot or a number, multiplied or divided from left to right.
  struct Factor {
    bool divides = false;
    int slot = -1;
    int number = 0;
  };
  struct Piece {
    std::string_view literal;     // before the bracket, or the whole piece
    std::string_view prefix;      // inside the bracket: "." of <.ftz>
    std::vector<Factor> factors;  // empty: no bracket
  };
  std::span<const Piece> pieces() const { return pieces_; }
  /// The distinct slots that it mentions.
  std::vector<int> slots() const;

 private:
  void add_bracket(std::string_view inside, SlotNames& slots, Place place);
  std::vector<Piece> pieces_;
};

}  // namespace ptxloom::spec
