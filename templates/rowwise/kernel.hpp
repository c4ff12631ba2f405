// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "config.hpp"
#include "ptxloom/template.hpp"

namespace ptxloom::rowwise_kernel {

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::rowwise_kernel
