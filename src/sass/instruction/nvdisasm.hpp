// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ptxloom/error.hpp"

// Text of instructions by nvdisasm, NVIDIA's disassembler. It is a program of the CUDA toolkit and a pip
// package, and is run on a temporary file.
namespace ptxloom::sass {

/// Text and labels of one section of code, by offset.
struct SectionText {
  std::map<std::uint64_t, std::string> instructions;  ///< "@P0 LDG.E R0, desc[UR4][R2.64]"
  std::map<std::uint64_t, std::string> labels;        ///< ".L_x_0", which branches name
};

struct Disassembly {
  std::string version;                                       ///< "13.2"
  std::map<std::string, SectionText, std::less<>> sections;  ///< by the name of the function
  std::optional<Diagnostic> problem;  ///< why it has no text: "no-nvdisasm", "nvdisasm-failed"
};

/// The program: PTXLOOM_NVDISASM names it, or a folder of PTXLOOM_CUDA_PATH, $PATH, $CUDA_HOME/bin or
/// /usr/local/cuda/bin has it. Folders of PTXLOOM_CUDA_PATH may be the lib folder beside its bin folder.
/// Throws Error(missing, "no-nvdisasm") if there is none; its hint says how to get it.
std::filesystem::path find_nvdisasm();

/// The text of a cubin; a problem is returned, since the listing has text of our own too.
Disassembly disassemble(std::span<const std::byte> cubin);

/// Reads what `nvdisasm -c` prints.
std::map<std::string, SectionText, std::less<>> parse_disassembly(std::string_view output);

}  // namespace ptxloom::sass
