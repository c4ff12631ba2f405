// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/database.hpp"

// Compares an unreadable opcode with the forms of its mnemonic, as far as its words match: which word no form
// knows, which is missing, or which table has no row for all of them; and the legal opcodes that result when
// one unit of the text (or two) may take any value while the others stay as written. That takes a few joins,
// however many variants there are.
namespace ptxloom::spec {

/// A legal opcode near the wrong one.
struct NearOpcode {
  std::string opcode;
  std::string needs;  // which targets have it, if this one does not
};

/// Words that would be legal replacements for one word: "" means none at all.
struct Exchange {
  std::string from;             // ".m16n8k16"
  std::vector<std::string> to;  // on the target
};

struct Misreading {
  enum class Why {
    unknown_word,  // no form of the mnemonic has it
    missing,       // a word that every such opcode has is missing
    repeated,      // a word occurs twice
    order,         // all words are known, but in an illegal order
    illegal,       // a table has no row for this combination
  };
  Why why = Why::illegal;
  std::string_view word;     // for unknown and repeated: the word of the opcode
  std::string nearest_word;  // a known word similar to the unknown one
  std::string expected;      // for missing: ".aligned"
  std::string form, table;   // for illegal: the nearest form, and the columns of its table without a row
  std::vector<std::string_view> together;  // for illegal: the words in the table's columns
  std::vector<Exchange> legal;
  std::vector<NearOpcode> nearest;
};

/// The mnemonic must be known, and the opcode must not match any documented variant.
Misreading misread(const Database& database, std::string_view opcode, const Target& target);

}  // namespace ptxloom::spec
