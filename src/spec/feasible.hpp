// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "spec/join.hpp"

namespace ptxloom::spec {

/// For a form whose join with these slots is empty: the first table that has no row left once the values of
/// each slot are narrowed to those that all tables still allow. Null if narrowing does not show it.
const Table* table_without_row(const Form& form, const std::vector<Known>& known);

}  // namespace ptxloom::spec
