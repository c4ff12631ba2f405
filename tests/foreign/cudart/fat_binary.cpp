// SPDX-License-Identifier: Apache-2.0
#include "foreign/cudart/fat_binary.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

// NVIDIA does not document the format. These are the fields of uncompressed images, as nvcc 13.0 writes them.
namespace ptxloom::foreign {
namespace {

struct Wrapper {
  std::uint32_t magic, version;
  const std::byte* images;
};
constexpr std::uint32_t kWrapperMagic = 0x466243b1;

struct Header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  // of all images
};
constexpr std::uint32_t kMagic = 0xba55ed50;

struct Image {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
};
constexpr std::uint16_t kPtx = 1;

template <typename T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

std::string ptx_of_fat_binary(const void* wrapper) {
  const auto outer = read<Wrapper>(static_cast<const std::byte*>(wrapper));
  if (outer.magic != kWrapperMagic) throw std::runtime_error("this is not a fat binary of nvcc");
  const auto header = read<Header>(outer.images);
  if (header.magic != kMagic) throw std::runtime_error("this is not a fat binary of nvcc");
  const std::byte* const end = outer.images + header.header_bytes + header.bytes;
  for (const std::byte* at = outer.images + header.header_bytes; at < end;) {
    const auto image = read<Image>(at);
    const std::string_view text(reinterpret_cast<const char*>(at) + image.header_bytes, image.bytes);
    if (image.kind == kPtx && text.find(".version") != std::string_view::npos)
      return std::string(text.substr(0, text.find('\0')));
    at += image.header_bytes + image.bytes;
  }
  throw std::runtime_error(
      "the program has no PTX that can be read: compile it with -gencode arch=compute_XX,code=compute_XX "
      "--no-compress");
}

}  // namespace ptxloom::foreign
