// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "conform/subject.hpp"
#include "ptxloom/tensor_map.hpp"

// Tensor maps for the kernels of conformance: small tensors of random shapes that lie in the slots of a warp,
// with the boxes, strides, swizzles and fills that the rules allow. `map` in the specs says of what kind they
// are: "3d tile f16,bf16", "4d image u8,f32", "4d inside f32" (an image whose box lies in it), "4d tile f32
// without box_dim 2", which the kernel has to set.
namespace ptxloom::conform_kernels {

/// One for each warp; the address is an offset in the slots. Empty where the subject takes no map.
std::vector<TensorMap> tensor_maps(const Subject& subject, std::size_t warps, std::uint64_t seed);

/// Bytes that a copy of its box moves.
std::uint32_t box_bytes(const TensorMap& map);

/// The first coordinate of each start in the threads' records becomes one of its map, at a multiple of 16
/// bytes.
void align_starts(const Subject& subject, const std::vector<TensorMap>& maps, std::span<std::byte> inputs);

/// As kernels find them, kMapBytes apart: the map in the encoding of `encode`, at 128 the bytes of its box,
/// at 136 the value of the field that it is without.
std::vector<std::byte> encode_maps(const Subject& subject, const std::vector<TensorMap>& maps,
                                   std::uint64_t slots,
                                   const std::function<EncodedTensorMap(const TensorMap&)>& encode);

}  // namespace ptxloom::conform_kernels
