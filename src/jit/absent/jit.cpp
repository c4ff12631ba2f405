// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: requesting a library throws, with the reason.
#include "ptxloom/jit.hpp"

#include <utility>

namespace ptxloom {

Linker::Linker(Libraries libraries, Cache cache)
    : libraries_(std::move(libraries)), cache_(std::move(cache)) {}

LinkResult Linker::link(std::string_view, const LinkOptions&) const {
  libraries_.nvjitlink();
  return {};
}

Version Linker::version() const {
  libraries_.nvjitlink();
  return {};
}

bool Linker::serves(std::string_view) const { return false; }

NvrtcCompiler::NvrtcCompiler(Libraries libraries) : libraries_(std::move(libraries)) {}

CompileResult NvrtcCompiler::compile(std::string_view, const CompileOptions&) const {
  libraries_.nvrtc();
  return {};
}

Version NvrtcCompiler::version() const {
  libraries_.nvrtc();
  return {};
}

bool NvrtcCompiler::serves(std::string_view) const { return false; }

}  // namespace ptxloom
