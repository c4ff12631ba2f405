// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/database.hpp"

// An opcode that reads as nothing, laid over the forms of its mnemonic as far as its words go: which word no
// form knows, which is missing, or which table has no row for all of them; and the legal opcodes that come of
// letting one unit of the text (or two) take any value while the others stay as written. So the work is a few
// joins, however many variants there are.
namespace ptxloom::spec {

/// A legal opcode near the wrong one.
struct NearOpcode {
  std::string opcode;
  std::string needs;  // which targets have it, where this one has not
};

/// Words that would be legal if one word became another: "" is none at all.
struct Exchange {
  std::string from;             // ".m16n8k16"
  std::vector<std::string> to;  // on the target
};

struct Misreading {
  enum class Why {
    unknown_word,  // no form of the mnemonic has it
    missing,       // a word that every such opcode has
    repeated,      // a word that stands there already
    order,         // all words are known, but stand in an order that is none
    illegal,       // a table has no row for them
  };
  Why why = Why::illegal;
  std::string_view word;     // of the opcode: unknown, repeated
  std::string nearest_word;  // known, and like the unknown one
  std::string expected;      // missing: ".aligned"
  std::string form, table;   // illegal: the form that came nearest, the columns of its table without a row
  std::vector<std::string_view> together;  // illegal: the words that the table's columns have
  std::vector<Exchange> legal;
  std::vector<NearOpcode> nearest;
};

/// The mnemonic must be known, and the opcode must read as no documented variant.
Misreading misread(const Database& database, std::string_view opcode, const Target& target);

}  // namespace ptxloom::spec
