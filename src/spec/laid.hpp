// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "spec/form.hpp"

// A wrong opcode aligned with the units of a form: each word is assigned to the unit that reads it, if there
// is one.
namespace ptxloom::spec {

struct Laid {
  std::vector<const Unit::Text*> texts;  // by unit; null if no word matches it
  std::vector<std::string_view> left;    // words without a unit
  bool in_order = true;
  std::size_t understood = 0;  // characters

  /// A unit that every opcode of the form has, and this one lacks.
  bool lacks(const Form& form, std::size_t unit) const {
    return texts[unit] == nullptr && !form.opcode().units()[unit].optional;
  }
};

Laid lay(const Form& form, std::string_view opcode);

}  // namespace ptxloom::spec
