// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/template.hpp"

namespace ptxloom {

/// The template "dequantize": the values of a matrix in a narrow format with scales.
const Template& dequantize_template();

}  // namespace ptxloom
