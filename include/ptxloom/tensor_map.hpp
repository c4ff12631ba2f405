// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ptxloom/type.hpp"

// A tensor in global memory as the tensor copies of PTX (cp.async.bulk.tensor) see it: its shape, and the box
// that one copy moves. A kernel takes it as 128 opaque bytes, a parameter `.param .align 64 .b8 map[128]`
// whose generic address the copy names. A GPU has its own encoding, which only the driver writes
// (Context::encode, or encode of launch.hpp); the executor has another.
namespace [[gnu::visibility("default")]] ptxloom {

// The numbers are those of tensormap.replace (PTX ISA 9.7.9.28).
enum class TensorInterleave : std::uint8_t { none, by_16_bytes, by_32_bytes };
/// The span in bytes within which chunks of shared memory change places.
enum class TensorSwizzle : std::uint8_t { none, by_32_bytes, by_64_bytes, by_128_bytes, by_96_bytes };
/// What stays together in a swizzle by 128 bytes; with _flip8, eight bytes change places too.
enum class SwizzleAtom : std::uint8_t { of_16_bytes, of_32_bytes, of_32_bytes_flip8, of_64_bytes };
/// What elements outside the tensor read as.
enum class TensorFill : std::uint8_t { zero, nan };
enum class L2Promotion : std::uint8_t { none, to_64_bytes, to_128_bytes, to_256_bytes };

/// How elements lie in memory.
struct TensorUnit {
  std::uint32_t elements = 1;
  std::uint32_t global_bytes = 4;  ///< of that many elements
  std::uint32_t shared_bytes = 4;
};

struct TensorMap {
  Type type = f32;         ///< of 8 to 64 bits, or of 4 or 6, which lie packed in global memory
  bool ftz = false;        ///< of f32 and tf32: subnormals are zero to reductions
  bool padded = false;     ///< 16 elements of 4 bits take 16 bytes of shared memory, as those of 6 always do
  std::uint32_t rank = 1;  ///< 1 to 5; dimension 0 is the innermost
  std::uint64_t address = 0;            ///< in global memory
  std::array<std::uint64_t, 5> dims{};  ///< in elements
  /// Bytes from one element to the next along dimensions 1, 2, ...; 0 = without gaps.
  std::array<std::uint64_t, 4> strides{};
  std::array<std::uint32_t, 5> box{1, 1, 1, 1, 1};  ///< elements walked along each dimension
  std::array<std::uint32_t, 5> element_strides{1, 1, 1, 1, 1};
  TensorInterleave interleave = TensorInterleave::none;
  TensorSwizzle swizzle = TensorSwizzle::none;
  SwizzleAtom atom = SwizzleAtom::of_16_bytes;
  L2Promotion l2 = L2Promotion::none;
  TensorFill fill = TensorFill::zero;

  /// For copies in image mode (im2col), of a tensor C W, C W H or C W H D by N; then there is no box.
  struct Image {
    std::array<std::int16_t, 3> lower{}, upper{};  ///< corners of the box by W, H, D
    std::uint32_t channels = 1, pixels = 1;        ///< that one copy moves
    friend bool operator==(const Image&, const Image&) = default;
  };
  std::optional<Image> image = {};

  TensorUnit unit() const;
  /// The name of the element type as tensor copies know it, and its number for tensormap.replace: "u8" of all
  /// types of eight bits.
  std::string_view element_name() const;
  std::uint32_t element_number() const;
  /// The reverse; false for a number that is none.
  bool set_element(std::uint32_t number);
  /// With the strides that stand for 0.
  TensorMap with_strides() const;
  /// Throws Error(usage, "tensor-map") that names what breaks the rules of cuTensorMapEncodeTiled or
  /// cuTensorMapEncodeIm2col.
  void check() const;
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// What a kernel takes: 128 bytes at a multiple of 64.
struct alignas(64) EncodedTensorMap {
  std::array<std::byte, 128> bytes{};
};

/// For the executor. No check: a kernel may still change the map (tensormap.replace).
EncodedTensorMap encode_for_executor(const TensorMap& map);
/// Nothing for bytes that encode_for_executor did not write.
std::optional<TensorMap> decode_for_executor(std::span<const std::byte, 128> bytes);

}  // namespace ptxloom
