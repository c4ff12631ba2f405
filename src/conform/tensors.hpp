// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "conform/subject.hpp"
#include "ptxloom/tensor_map.hpp"

// Tensor maps for conformance kernels: small tensors of random shapes in the slots of a warp, with boxes,
// strides, swizzles and fills that the rules allow. `map` in the specs gives their kind: "3d tile f16,bf16",
// "4d image u8,f32", "4d inside f32" (an image whose box stays inside it), "4d tile f32 without box_dim 2"
// (which the kernel must set).
namespace ptxloom::conform_kernels {

/// One per warp; the address is an offset in the slots. Empty if the subject uses no map.
std::vector<TensorMap> tensor_maps(const Subject& subject, std::size_t warps, std::uint64_t seed);

/// Bytes that a copy of its box moves.
std::uint32_t box_bytes(const TensorMap& map);

/// Changes the first coordinate of each start in the threads' records to one of its map, at a multiple of 16
/// bytes.
void align_starts(const Subject& subject, const std::vector<TensorMap>& maps, std::span<std::byte> inputs);

/// The maps as kernels read them, kMapBytes apart: the map as encoded by `encode`, at offset 128 the bytes of
/// its box, at 136 the value of the field that is missing.
std::vector<std::byte> encode_maps(const Subject& subject, const std::vector<TensorMap>& maps,
                                   std::uint64_t slots,
                                   const std::function<EncodedTensorMap(const TensorMap&)>& encode);

}  // namespace ptxloom::conform_kernels
