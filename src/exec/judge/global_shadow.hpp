// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// An address that no allocation has, by the nearest one; nothing if it is in a released allocation, or if
/// there are none.
struct Beside {
  std::string address;  ///< "buffer 1 + 0x1034"
  std::string where;    ///< "52 bytes past the end of buffer 1 (4096 bytes), allocated as argument 1 (in)"
};
std::optional<Beside> describe_beside(const Code& code, const Launch& launch,
                                      std::span<const Memory::Allocation> allocations,
                                      std::span<const Memory::Allocation> released, std::uint64_t address);

}  // namespace ptxloom::exec
