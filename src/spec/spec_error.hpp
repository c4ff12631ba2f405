// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ptxloom/error.hpp"

// A malformed spec: the file and form, the row, the error.
namespace ptxloom::spec {

struct Place {
  std::string_view file, form;
};

[[noreturn]] inline void fail(std::string code, Place place, const std::string& why, std::string hint = {}) {
  std::string where(place.file);
  if (!place.form.empty()) where += (where.empty() ? "form '" : ": form '") + std::string(place.form) + '\'';
  throw Error(ErrorKind::usage, std::move(code), where + ": " + why, std::move(hint));
}

inline std::string quote(std::string_view text) { return '\'' + std::string(text) + '\''; }

}  // namespace ptxloom::spec
