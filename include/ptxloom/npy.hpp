// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/type.hpp"

/// \file
/// Matrices in numpy's .npy files, in C order and little-endian. Versions 1.0 to 3.0 are read, 1.0 is
/// written. Types that numpy lacks are stored as unsigned integers with their bits (npy_dtype).
///
/// All functions throw Error(usage) with the name of the file and the numpy call that helps: npy-not-npy,
/// npy-version, npy-header, npy-header-too-large, npy-dtype, npy-byte-order, npy-fortran-order,
/// npy-shape-overflow, npy-truncated, npy-trailing-data, npy-size-mismatch (when writing); unreadable-file
/// and unwritable-file if the system refuses.
namespace [[gnu::visibility("default")]] ptxloom {

/// An array.
struct NpyArray {
  std::string dtype;               ///< as numpy writes it: "<f2" "<f4" "<f8" "|i1" "<i2" ... "<u8" "|b1"
  std::vector<std::size_t> shape;  ///< empty for a single number
  std::vector<std::byte> bytes;    ///< the elements, the last index running fastest
};

/// Reads a file.
NpyArray read_npy(const std::filesystem::path& path);
/// Writes a file, through a temporary one: it is either complete or as it was before.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

/// The array in the content of a file. Messages call it `name`.
NpyArray parse_npy(std::span<const std::byte> content, std::string_view name);
/// The content of a file with this array.
std::vector<std::byte> format_npy(const NpyArray& array);

/// The dtype for a type: "<f4" for f32 and tf32, "<u2" for bf16, "|u1" for e4m3. It is also "|u1" for types
/// of less than 8 bits; their arrays have packed_bytes() elements.
std::string npy_dtype(Type type);

}  // namespace ptxloom
