// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "spec/form.hpp"

// A wrong opcode laid over the units of a form: each word goes to the unit that reads it, as far as there is
// one.
namespace ptxloom::spec {

struct Laid {
  std::vector<const Unit::Text*> texts;  // by unit; null where no word is for it
  std::vector<std::string_view> left;    // words without a unit
  bool in_order = true;
  std::size_t understood = 0;  // characters

  /// A unit that every opcode of the form has, and this one has not.
  bool lacks(const Form& form, std::size_t unit) const {
    return texts[unit] == nullptr && !form.opcode().units()[unit].optional;
  }
};

Laid lay(const Form& form, std::string_view opcode);

}  // namespace ptxloom::spec
