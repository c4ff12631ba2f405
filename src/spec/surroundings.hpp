// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "spec/form.hpp"

// How a form is tried on hardware (specs/README.md, "conform"): a text by name, in which a line "&NAME"
// stands for another text, of the form itself or of around.json.
namespace ptxloom::spec {

/// "" if the form does not define it. Throws Error(usage, "spec-around") for a line that names no text.
std::string conform_text(const Form& form, Values values, std::string_view name);

}  // namespace ptxloom::spec
