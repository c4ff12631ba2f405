// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/template.hpp"

namespace ptxloom {

/// The template "sparse_gemm": products by a matrix that is sparse 2:4.
const Template& sparse_gemm_template();

}  // namespace ptxloom
