// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ptxloom/template.hpp"
#include "quantize/config.hpp"

namespace ptxloom::quantize_kernel {

/// Whether the target has what the kernels of this format need.
bool can_quantise(const Specs& specs, const Target& target, const kit::ScaledFormat& format);

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::quantize_kernel
