// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/template.hpp"

namespace ptxloom {

/// The template "quantize": a matrix, rounded to a narrow format with scales.
const Template& quantize_template();

}  // namespace ptxloom
