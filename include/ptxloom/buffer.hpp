// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>

#include "ptxloom/launch.hpp"

// Memory of a Context: device memory on a GPU, checked memory on the executor. A Buffer owns its bytes, can
// be moved but not copied, and keeps what it came from alive. It starts out uninitialised, unless
// Context::alloc is told what to fill it with. Its address can be offset like a pointer; on the executor an
// access outside the buffer is reported.
namespace [[gnu::visibility("default")]] ptxloom {

namespace api {
class Block;  // src/api/machine.hpp
}

class Buffer {
 public:
  Buffer();
  explicit Buffer(std::unique_ptr<api::Block> block);
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  std::uint64_t address() const;  ///< 0 for an empty buffer
  std::uint64_t size() const;     ///< bytes

  /// Copies wait until the data is there. `offset` is in bytes. Throws Error(usage, "out-of-range").
  void write(std::span<const std::byte> data, std::uint64_t offset = 0);
  void read(std::span<std::byte> data, std::uint64_t offset = 0) const;
  void fill(std::byte value);

  /// From and to a vector, an array or a span of plain values.
  template <std::ranges::contiguous_range Range>
  void copy_from(const Range& values, std::uint64_t offset = 0) {
    write(std::as_bytes(std::span(values)), offset);
  }
  template <std::ranges::contiguous_range Range>
  void copy_to(Range&& values, std::uint64_t offset = 0) const {
    read(std::as_writable_bytes(std::span(values)), offset);
  }

  /// A buffer stands for its address among a kernel's arguments.
  operator Argument() const { return Argument::pointer(address()); }

 private:
  std::unique_ptr<api::Block> block_;
};

}  // namespace ptxloom
