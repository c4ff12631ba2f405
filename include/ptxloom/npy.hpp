// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/type.hpp"

// Matrices in numpy's .npy files: C order, little-endian, versions 1.0 to 3.0 read and 1.0 written. Types
// that numpy lacks travel as the unsigned bytes or words they are made of (npy_dtype).
//
// Every refusal is an Error(usage) that names the file and the numpy call that mends it: npy-not-npy,
// npy-version, npy-header, npy-header-too-large, npy-dtype, npy-byte-order, npy-fortran-order,
// npy-shape-overflow, npy-truncated, npy-trailing-data, npy-size-mismatch (writing); and unreadable-file and
// unwritable-file for what the system refuses.
namespace [[gnu::visibility("default")]] ptxloom {

struct NpyArray {
  std::string dtype;               ///< as numpy spells it: "<f2" "<f4" "<f8" "|i1" "<i2" … "<u8" "|b1"
  std::vector<std::size_t> shape;  ///< empty for a single number
  std::vector<std::byte> bytes;    ///< the elements, the last index running fastest
};

NpyArray read_npy(const std::filesystem::path& path);
/// The file is complete or as it was before.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

/// The content of a file; `name` is what messages call it.
NpyArray parse_npy(std::span<const std::byte> content, std::string_view name);
std::vector<std::byte> format_npy(const NpyArray& array);

/// The dtype that carries a type: "<f4" for f32 and tf32, "<u2" for bf16, "|u1" for e4m3 and for types below
/// a byte, whose arrays then hold packed_bytes() bytes.
std::string npy_dtype(Type type);

}  // namespace ptxloom
