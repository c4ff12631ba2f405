// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/elf_view.hpp"
#include "ptxloom/target.hpp"
#include "sass/cubin/line_table.hpp"

// What a cubin says of its kernels. A cubin is an ELF file: the code of a kernel k lies in the section
// .text.k, its attributes in .nv.info.k and .nv.info, its shared memory in .nv.shared.k.
namespace ptxloom::sass {

/// A parameter of a kernel, by its place in the list.
struct CubinParameter {
  int offset = 0;  ///< bytes from the first parameter
  int size = 0;    ///< bytes
};

/// A function that is called, in the section of the kernel that calls it; or the kernel.
struct CodeLabel {
  std::uint64_t offset = 0;
  std::string_view name;
};

/// One section of code: a kernel with the functions that it calls, or a function that other files call.
struct CubinFunction {
  std::string_view name;
  std::uint32_t section = 0;  ///< index
  bool kernel = false;
  std::span<const std::byte> code;
  std::vector<CodeLabel> labels;  ///< by offset
  int registers = 0;              ///< of a thread
  int max_registers = 0;          ///< what a directive limits them to; 0: none does
  int shared = 0;    ///< bytes of static shared memory of a thread block, with what the driver reserves
  int frame = 0;     ///< bytes of local memory of a thread for this function alone
  int stack = 0;     ///< bytes of local memory of a thread with the functions that are called
  int barriers = 0;  ///< named barriers of a thread block
  int parameter_bytes = 0;
  std::vector<CubinParameter> parameters;
  std::array<int, 3> block{};      ///< threads that .reqntid requires; 0: any
  std::array<int, 3> max_block{};  ///< threads that .maxntid allows; 0: any
  std::array<int, 3> cluster{};    ///< thread blocks of a cluster that is required; 0: any
};

/// A view of a cubin's bytes, which must outlive it.
class CubinView {
 public:
  /// Throws Error(usage, "bad-cubin") if these bytes are no cubin, or are damaged, and Error(usage,
  /// "unknown-target") if its chip is unknown. `name`: of the file, for these messages.
  CubinView(std::span<const std::byte> bytes, std::string_view name);

  int chip() const { return chip_; }                   ///< 90 for sm_90 and sm_90a
  std::string_view target() const { return target_; }  ///< "sm_90a"
  bool relocatable() const { return relocatable_; }    ///< an object file, to be linked: ptxas -c
  std::span<const CubinFunction> functions() const { return functions_; }  ///< in the order of the file

  /// Lines of the source that the .loc directives name; empty without -lineinfo.
  LineTable source_lines(const CubinFunction& function) const;
  /// Lines of ptx_text(); empty without -lineinfo.
  LineTable ptx_lines(const CubinFunction& function) const;
  /// The PTX that the cubin was assembled from, without comments, directives .loc and .file, of several
  /// object files one after the other; empty without -lineinfo.
  std::vector<std::string_view> ptx_text() const;

 private:
  LineTable lines(const CubinFunction& function, std::string_view table) const;

  ElfView file_;
  int chip_ = 0;
  bool relocatable_ = false;
  std::string target_;
  std::vector<CubinFunction> functions_;
};

/// Whether these bytes begin as an ELF file or a fatbin does, or are no text at all, and so are no PTX.
bool is_binary(std::string_view bytes);

}  // namespace ptxloom::sass
