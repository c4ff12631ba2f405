// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/template.hpp"

namespace ptxloom {

/// The template "shuffle_weights": weights of 4 or 8 bits and their scales in the layout that scaled_gemm
/// reads.
const Template& shuffle_weights_template();

}  // namespace ptxloom
