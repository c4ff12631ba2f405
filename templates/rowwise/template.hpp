// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/template.hpp"

namespace ptxloom {

/// The template "rowwise": operations on each row of a matrix.
const Template& rowwise_template();

}  // namespace ptxloom
