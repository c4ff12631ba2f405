// SPDX-License-Identifier: Apache-2.0
#include "launch/cubin.hpp"

#include <elf.h>

#include "base/elf_view.hpp"

namespace ptxloom::launch {

std::optional<std::string> damage_of_cubin(std::span<const std::byte> bytes) {
  const ElfView file(bytes);
  if (file.damage()) return file.damage();
  if (file.machine() != EM_CUDA) return "it is not GPU code";
  return std::nullopt;
}

}  // namespace ptxloom::launch
