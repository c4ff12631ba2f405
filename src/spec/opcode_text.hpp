// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/cell.hpp"
#include "spec/template.hpp"
#include "spec/vocabulary.hpp"

// The opcode of a form's text, cut before each dot into units: "mma", "<.sp>", ".sync", ".m16n8k<K>". The
// head (up to `~`, else up to the first "<.") is fixed. The units after it may be written in any order,
// except that types, state spaces and row/col keep their relative order (the PTX ISA does not mention it;
// ptxas accepts all such permutations).
namespace ptxloom::spec {

/// A slot and the value that an opcode writes there.
using Binding = std::pair<int, std::string_view>;

struct Unit {
  /// One way to write the unit, and its meaning.
  struct Text {
    std::string text;
    std::vector<Binding> bindings;
    int order_class = -1;
  };
  Template text;
  std::vector<Text> texts;
  std::vector<int> slots;
  bool optional = false;
};

class OpcodeText {
 public:
  /// `domain` returns the values that a slot may have.
  using Domain = std::function<std::vector<std::string_view>(int slot)>;
  void parse(std::string_view text, SlotNames& slots, Place place);
  void enumerate(const Domain& domain, std::size_t slot_count, const Vocabulary& vocabulary);

  const std::vector<Unit>& units() const { return units_; }
  std::size_t head() const { return head_; }
  /// The distinct slots it shows, in text order.
  const std::vector<int>& slots() const { return slots_; }

  /// The opcode for these values; slots with hidden[slot] print nothing.
  std::string render(Values values, const std::vector<bool>& hidden) const;

  /// One way to read an opcode: a list of bindings, and whether the words are in the order of the text.
  struct Reading {
    std::vector<Binding> bindings;
    bool in_order = true;
  };
  std::vector<Reading> read(std::string_view opcode) const;

 private:
  std::vector<Unit> units_;
  std::vector<int> slots_;
  std::size_t head_ = 0;
};

}  // namespace ptxloom::spec
