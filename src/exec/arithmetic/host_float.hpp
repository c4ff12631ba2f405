// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "exec/machine/operation.hpp"
#include "ptxloom/numeric.hpp"

// The floating instructions that kernels are full of, by the host's own arithmetic in loops that become
// vector code: the same bits as the exact arithmetic of src/base gives, many times as fast. Each function is
// null for what it does not have.
namespace ptxloom::exec {

/// add, sub and mul of f32, f64, f16, bf16 and pairs of the latter.
Semantic host_arithmetic(std::string_view op, std::string_view type, const Modifiers& modifiers);
Semantic host_fma(std::string_view type, const Modifiers& modifiers);
/// min and max of two f32, f16, bf16 and pairs.
Semantic host_minmax(std::string_view type, bool is_min, bool propagate_nan, bool ftz);
/// neg and abs.
Semantic host_sign(std::string_view type, bool is_abs, bool ftz);
/// Between integers, f32, f16 and bf16; two f32 to a pair of the latter.
Semantic host_conversion(std::string_view to, std::string_view from, std::string_view rounding,
                         const Modifiers& modifiers);

}  // namespace ptxloom::exec
