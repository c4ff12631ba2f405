// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/dynamic_library.hpp"

// Tables of entry points. A library's table is a struct with one member per symbol, with the name and type
// from its header, so that a call reads `driver.cuInit(0)`. The list of symbols is a macro that takes a
// macro: cuda.h renames its functions by macros (cuMemAlloc is cuMemAlloc_v2), and only the preprocessor can
// follow that.
#define PTXLOOM_SYMBOL_NAME(symbol) #symbol
#define PTXLOOM_SYMBOL_MEMBER(symbol) decltype(&::symbol) symbol = nullptr;
// Fills `table` from `library`; `missing` is a string.
#define PTXLOOM_SYMBOL_LOAD(symbol) load_symbol(library, PTXLOOM_SYMBOL_NAME(symbol), table.symbol, missing);

namespace ptxloom::cuda {

/// Records the first symbol that is missing.
template <typename Pointer>
void load_symbol(const DynamicLibrary& library, const char* name, Pointer& pointer, std::string& missing) {
  pointer = reinterpret_cast<Pointer>(library.find(name));
  if (pointer == nullptr && missing.empty()) missing = name;
}

}  // namespace ptxloom::cuda
