// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ptxloom/template.hpp"
#include "sparse_gemm/config.hpp"

namespace ptxloom::sparse_gemm::wgmma {

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::sparse_gemm::wgmma
