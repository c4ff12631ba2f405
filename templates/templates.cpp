// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "ptxloom/gemm.hpp"
#include "ptxloom/template.hpp"
#include "rowwise/template.hpp"

namespace ptxloom {

std::span<const Template* const> templates() {
  static const std::array<const Template*, 2> all = {&gemm_template(), &rowwise_template()};
  return all;
}

const Template& find_template(std::string_view name) {
  std::string names;
  for (const Template* known : templates()) {
    if (known->name() == name) return *known;
    names += (names.empty() ? "" : ", ") + std::string(known->name());
  }
  throw Error(ErrorKind::usage, "unknown-template", "there is no template '" + std::string(name) + "'",
              "the templates are: " + names);
}

}  // namespace ptxloom
