// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "dequantize/config.hpp"
#include "ptxloom/template.hpp"

namespace ptxloom::dequantize_kernel {

/// Whether the target has what the kernels of this problem need.
bool can_dequantise(const Specs& specs, const Target& target, const Problem& problem);

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::dequantize_kernel
