// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/buffer.hpp"

#include <fmt/format.h>

#include "api/machine.hpp"

namespace ptxloom {
namespace {

void check_range(std::uint64_t size, std::uint64_t offset, std::size_t bytes) {
  if (offset <= size && bytes <= size - offset) return;
  throw Error(ErrorKind::usage, "out-of-range",
              fmt::format("{} bytes from byte {} on reach past the end of the buffer, which has {}", bytes,
                          offset, size),
              "allocate a larger buffer, or copy less");
}

}  // namespace

Buffer::Buffer() = default;
Buffer::Buffer(std::unique_ptr<api::Block> block) : block_(std::move(block)) {}
Buffer::~Buffer() = default;
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;

std::uint64_t Buffer::address() const { return block_ ? block_->address() : 0; }
std::uint64_t Buffer::size() const { return block_ ? block_->size() : 0; }

void Buffer::write(std::span<const std::byte> data, std::uint64_t offset) {
  check_range(size(), offset, data.size());
  if (!data.empty()) block_->write(data, offset);
}

void Buffer::read(std::span<std::byte> data, std::uint64_t offset) const {
  check_range(size(), offset, data.size());
  if (!data.empty()) block_->read(data, offset);
}

void Buffer::fill(std::byte value) {
  if (block_) block_->fill(value);
}

}  // namespace ptxloom
