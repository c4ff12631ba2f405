// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>

#include "ptxloom/launch.hpp"

/// \file
/// Memory of a Context: device memory on a GPU, checked memory in the executor. Context::alloc makes it. A
/// program that has no Context, only a DeviceContext, uses DeviceMemory of launch.hpp instead.
namespace [[gnu::visibility("default")]] ptxloom {

namespace api {
class Block;  // src/api/machine.hpp
}

/// Owns its bytes. It can be moved but not copied, and keeps the device that it lies on alive. Its address
/// can be offset like a pointer; in the executor an access outside of the buffer is reported. Const members
/// are thread-safe.
class Buffer {
 public:
  Buffer();  ///< empty: 0 bytes at address 0
  /// Context::alloc calls this.
  explicit Buffer(std::unique_ptr<api::Block> block);
  ~Buffer();
  Buffer(Buffer&&) noexcept;  ///< leaves the other one empty
  Buffer& operator=(Buffer&&) noexcept;

  std::uint64_t address() const;  ///< as kernels use it; 0 if the buffer is empty
  std::uint64_t size() const;     ///< bytes

  /// Copies `data` to the bytes from `offset` on, or these bytes to `data`. Returns when the copy is done.
  /// Throws Error(usage, "out-of-range") if the range reaches past the buffer.
  ///@{
  void write(std::span<const std::byte> data, std::uint64_t offset = 0);
  void read(std::span<std::byte> data, std::uint64_t offset = 0) const;
  ///@}
  /// Sets every byte to `value`. Returns when it is done.
  void fill(std::byte value);

  /// `write` and `read` for a vector, an array or a span of plain values. `offset` is in bytes.
  ///@{
  template <std::ranges::contiguous_range Range>
  void copy_from(const Range& values, std::uint64_t offset = 0) {
    write(std::as_bytes(std::span(values)), offset);
  }
  template <std::ranges::contiguous_range Range>
  void copy_to(Range&& values, std::uint64_t offset = 0) const {
    read(std::as_writable_bytes(std::span(values)), offset);
  }
  ///@}

  /// As a kernel's argument, a buffer is its address.
  operator Argument() const { return Argument::pointer(address()); }

 private:
  std::unique_ptr<api::Block> block_;
};

}  // namespace ptxloom
