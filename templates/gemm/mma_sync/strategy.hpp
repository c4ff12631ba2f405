// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/strategy.hpp"

namespace ptxloom::gemm_kernel::mma_sync {

const Strategy& strategy();

}  // namespace ptxloom::gemm_kernel::mma_sync
