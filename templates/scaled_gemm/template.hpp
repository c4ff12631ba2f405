// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/template.hpp"

namespace ptxloom {

/// The template "scaled_gemm": products of matrices in narrow formats with scales.
const Template& scaled_gemm_template();

}  // namespace ptxloom
