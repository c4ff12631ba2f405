// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sass/cubin/cubin_view.hpp"

namespace ptxloom::sass {

/// Fills in what .nv.info and .nv.info.NAME say of the functions. What is damaged there is skipped.
void read_attributes(const ElfView& file, const std::vector<ElfSymbol>& symbols,
                     std::vector<CubinFunction>& functions);

/// Whether the code is for one chip alone ("sm_90a"), as .nv.compat says; compilers before CUDA 13 do not say
/// it.
bool for_one_chip(const ElfView& file);

}  // namespace ptxloom::sass
