// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/builder.hpp"

/// \file
/// How an area of shared memory is divided into named parts. They follow each other in the order in which
/// they are added, each at a multiple of its alignment:
///
///     kit::SharedLayout layout;
///     layout.add("a", 6000, 1024).add("b", 512, 1024).add("barriers", 32, 8);
///
///     0                6000 6144      6656       6688
///     | a              |    | b       | barriers |
///
/// The host takes size() for the launch, and the kernel the addresses of the parts. A layout may be that of a
/// stage, several of which make a part of another layout. Offsets and sizes are in bytes.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// A list of parts.
class SharedLayout {
 public:
  /// Adds a part. Throws Error(usage, "bad-shared-layout") if there is one of this name, if its size in
  /// bytes is negative, or if the alignment is no power of two.
  SharedLayout& add(std::string name, int bytes, int alignment = 16);

  /// Where a part begins, and its size. Throw Error(usage, "bad-shared-layout") if there is none of this
  /// name.
  ///@{
  int offset(std::string_view name) const { return find(name).offset; }
  int bytes(std::string_view name) const { return find(name).bytes; }
  ///@}
  /// The end of the last part.
  int size() const;
  /// The distance between several of these areas that follow each other: the size, rounded up to the largest
  /// alignment.
  int pitch() const;
  /// The largest alignment of a part, to which the area must be aligned.
  int alignment() const;

  /// The address (u32) of a part, in the area that begins at the address `base` (u32), a multiple of
  /// alignment(), in shared memory.
  Reg address(KernelBuilder& k, Reg base, std::string_view name) const;

 private:
  struct Part {
    std::string name;
    int offset = 0, bytes = 0, alignment = 1;
  };
  const Part& find(std::string_view name) const;

  std::vector<Part> parts_;
};

}  // namespace kit
}  // namespace ptxloom
