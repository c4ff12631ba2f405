// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/exec.hpp"

// The bytes of global memory that nobody has written, neither the host nor a kernel. Memory keeps them from
// launch to launch; launches that do not collect findings count as writing everything.
namespace ptxloom::exec {

struct Code;

class GlobalShadow {
 public:
  /// `may_discard`: the kernel has a discard.L2.
  GlobalShadow(const Memory& memory, std::span<const Memory::Allocation> allocations, bool may_discard);
  /// The undefined bits of the bytes; empty if all are defined.
  std::span<std::byte> bits(const std::byte* memory, std::size_t bytes);

 private:
  struct Range {
    const std::byte* begin;
    const std::byte* end;
    std::byte* bits;
  };
  std::vector<Range> ranges_;
};

/// "buffer 2 + 0x40"; with the argument that is its address: "buffer 2 + 0x40, allocated as argument 3
/// (out)".
std::string describe_allocated(const Code& code, const Launch& launch,
                               std::span<const Memory::Allocation> allocations, const std::byte* memory);

}  // namespace ptxloom::exec
