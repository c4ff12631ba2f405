// SPDX-License-Identifier: Apache-2.0
#include "cli/common/tool_words.hpp"

#include <string_view>

namespace ptxloom::cli {
namespace {

struct Words {
  std::string_view library, tool;
};

constexpr Words kWords[] = {
    {"give the parameters", "give with --set NAME=VALUE the parameters"},
    {"see LinkOptions::extra", "check --set link=OPTION"},
    {"clear must_hit (TuneOptions, SpecialiseOptions)", "leave out --must-hit"},
    {"allow linking (LinkOptions::cached_only)", "leave out --must-hit"},
    {"raise Launch::step_limit", "raise --step-limit"},
    {"set Launch::cooperative", "give --cooperative"},
    {"make the context on a GPU, or use cpu", "use --device gpu, gpu:N, all or cpu"},
    {"tune each kind of GPU separately",
     "tune each kind of GPU separately: use --device all without mpirun, or --device gpu:N"},
    {"pass device memory, or Argument::pointer(address)",
     "give --arg in=A.npy, out=f32[128,64]:D.npy or inout=A.npy:D.npy"},
    {"pass a value of the parameter's type, such as 2.0f for f32; arrays go through Argument::bytes",
     "give --arg TYPE=VALUE with the parameter's type, such as f32=2; arrays go through --arg bytes=HEX"},
    {"pass a value of the parameter's type: 2.0f for f32, 2.0 for f64, Argument::bits for other formats",
     "give --arg TYPE=VALUE with the parameter's type, such as f32=2 or bf16=2"},
    {"pass a value of the parameter's type", "give --arg TYPE=VALUE with the parameter's type"},
};

}  // namespace

std::string in_tool_words(std::string hint) {
  for (const Words& words : kWords) {
    const std::size_t at = hint.find(words.library);
    if (at != std::string::npos) return hint.replace(at, words.library.size(), words.tool);
  }
  return hint;
}

}  // namespace ptxloom::cli
