// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ptxloom/type.hpp"

/// \file
/// Tensor maps: a tensor in global memory as TMA loads and stores (cp.async.bulk.tensor) see it, with its
/// shape and the box that one operation moves. A kernel takes it as 128 opaque bytes, a parameter `.param
/// .align 64 .b8 map[128]` whose generic address the instruction names. A GPU has an encoding of its own,
/// which only the driver writes (Context::encode, or encode of launch.hpp); the executor has another one. The
/// values of the enumerations are those of tensormap.replace (PTX ISA 9.7.9.28).
namespace [[gnu::visibility("default")]] ptxloom {

/// Interleaved layouts of channels.
enum class TensorInterleave : std::uint8_t {
  none,         ///< not interleaved
  by_16_bytes,  ///< NC/8HWC8, with 2 bytes per channel
  by_32_bytes,  ///< NC/16HWC16, with 2 bytes per channel
};
/// The number of bytes of shared memory within which chunks are permuted.
enum class TensorSwizzle : std::uint8_t {
  none,          ///< not swizzled
  by_32_bytes,   ///< 32 bytes
  by_64_bytes,   ///< 64 bytes
  by_128_bytes,  ///< 128 bytes
  by_96_bytes,   ///< 96 bytes
};
/// The chunks that a swizzle by 128 bytes permutes.
enum class SwizzleAtom : std::uint8_t {
  of_16_bytes,        ///< 16 bytes
  of_32_bytes,        ///< 32 bytes
  of_32_bytes_flip8,  ///< 32 bytes, and pairs of 8 bytes are exchanged
  of_64_bytes,        ///< 64 bytes
};
/// What elements outside of the tensor are read as.
enum class TensorFill : std::uint8_t {
  zero,  ///< 0
  nan,   ///< a special NaN, for floating-point types
};
/// The size of the L2 accesses that a TMA load makes.
enum class L2Promotion : std::uint8_t {
  none,          ///< only what it needs
  to_64_bytes,   ///< 64 bytes
  to_128_bytes,  ///< 128 bytes
  to_256_bytes,  ///< 256 bytes
};

/// The smallest group of elements that fills whole bytes in memory.
struct TensorUnit {
  std::uint32_t elements = 1;      ///< elements of the group
  std::uint32_t global_bytes = 4;  ///< its size in global memory
  std::uint32_t shared_bytes = 4;  ///< its size in shared memory
};

/// A tensor, and the box that one TMA load or store moves.
struct TensorMap {
  Type type = f32;   ///< of an element: 8 to 64 bits; or 4 or 6 bits, which are packed in global memory
  bool ftz = false;  ///< for f32 and tf32: reductions flush subnormals to zero
  bool padded =
      false;  ///< 16 elements of 4 bits take 16 bytes of shared memory, as those of 6 bits always do
  std::uint32_t rank = 1;               ///< 1 to 5; dimension 0 is contiguous
  std::uint64_t address = 0;            ///< in global memory
  std::array<std::uint64_t, 5> dims{};  ///< extents in elements
  /// Bytes from one element to the next along dimensions 1, 2, ...; 0: the tensor has no gaps.
  std::array<std::uint64_t, 4> strides{};
  std::array<std::uint32_t, 5> box{1, 1, 1, 1, 1};  ///< extents of the box in elements of the tensor
  std::array<std::uint32_t, 5> element_strides{1, 1, 1, 1, 1};  ///< every n-th element of the box is moved
  TensorInterleave interleave = TensorInterleave::none;         ///< layout of channels
  TensorSwizzle swizzle = TensorSwizzle::none;                  ///< layout of the box in shared memory
  SwizzleAtom atom = SwizzleAtom::of_16_bytes;                  ///< for TensorSwizzle::by_128_bytes
  L2Promotion l2 = L2Promotion::none;                           ///< size of L2 accesses
  TensorFill fill = TensorFill::zero;                           ///< elements outside of the tensor

  /// The bounding box of im2col mode, for tensors with the dimensions C W N, C W H N or C W H D N.
  struct Image {
    std::array<std::int16_t, 3> lower{};  ///< its lower corner along W, H, D
    std::array<std::int16_t, 3> upper{};  ///< its upper corner along W, H, D
    std::uint32_t channels = 1;           ///< channels that one load moves
    std::uint32_t pixels = 1;             ///< pixels that one load moves
    friend bool operator==(const Image&, const Image&) = default;
  };
  std::optional<Image> image = {};  ///< given: im2col mode, and `box` is not used

  TensorUnit unit() const;  ///< the unit of its element type
  /// The element type in the terms of TMA: its name, such as "u8" for all types of 8 bits, and its number for
  /// tensormap.replace.
  ///@{
  std::string_view element_name() const;
  std::uint32_t element_number() const;
  ///@}
  /// Sets the element type by its number. False: there is none.
  bool set_element(std::uint32_t number);
  /// The same map with strides in place of those that are 0.
  TensorMap with_strides() const;
  /// Throws Error(usage, "tensor-map"), with the rule of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col
  /// that the map breaks.
  void check() const;
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// A tensor map as a kernel takes it.
struct alignas(64) EncodedTensorMap {
  std::array<std::byte, 128> bytes{};  ///< opaque
};

/// The executor's encoding. The map is not checked, since a kernel may still change it (tensormap.replace).
EncodedTensorMap encode_for_executor(const TensorMap& map);
/// The map in the executor's encoding; nullopt for other bytes.
std::optional<TensorMap> decode_for_executor(std::span<const std::byte, 128> bytes);

}  // namespace ptxloom
