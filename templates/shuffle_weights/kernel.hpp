// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ptxloom/template.hpp"
#include "shuffle_weights/config.hpp"

namespace ptxloom::shuffle_weights {

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::shuffle_weights
