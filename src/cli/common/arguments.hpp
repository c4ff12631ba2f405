// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/launch.hpp"
#include "ptxloom/npy.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/type.hpp"

// The syntax of `run --arg` for one kernel argument:
//   in=A.npy                 a buffer with the file's bytes
//   out=f32[128,64]:D.npy    a buffer, poisoned first, written to the file afterwards
//   inout=A.npy:D.npy        a buffer with the bytes of one file, written to the other afterwards
//   null                     a null pointer
//   u32=5   s32=-5  f32=1.5  a scalar; an integer fits any integer parameter of its size
//   bytes=00ff               an aggregate
// Prefixed with NAME= it is the argument of that name; for a template's tensors out=D.npy suffices.
namespace ptxloom::cli {

struct RunArgument {
  enum class Kind { in, out, inout, null, scalar, bytes };
  std::string name;   ///< empty: by position
  std::string given;  ///< the text without the name
  Kind kind = Kind::in;
  std::filesystem::path source;       ///< for in and inout
  std::filesystem::path destination;  ///< for out and inout
  Type type;                          ///< of a scalar; of out, if it has a shape
  std::vector<std::uint64_t> shape;   ///< of out; empty if the text gives none
  std::string value;                  ///< of a scalar or an aggregate: the text after "="

  bool is_buffer() const { return kind == Kind::in || kind == Kind::out || kind == Kind::inout; }
};

/// Values are parsed once their parameter is known. Throws Error(usage, "bad-arg"), which says what is wrong
/// with the text.
RunArgument parse_argument(std::string_view text);

/// The file's bytes, which must be those of this tensor. Throws Error(usage, "npy-dtype", "npy-shape").
HostTensor read_tensor(const std::filesystem::path& file, const TensorPlan& plan);
NpyArray to_npy(HostTensor tensor);

}  // namespace ptxloom::cli
