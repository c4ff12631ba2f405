// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "jit/compiler_log.hpp"
#include "ptxloom/jit.hpp"

namespace ptxloom {
namespace {

/// Owns a program of NVRTC.
class Program {
 public:
  Program(const cuda::Nvrtc& library, std::string_view source, const CompileOptions& options)
      : library_(library) {
    const std::string text(source);
    check(library_.nvrtcCreateProgram(&program_, text.c_str(), options.name.c_str(), 0, nullptr, nullptr));
    for (const std::string& name : options.name_expressions) {
      check(library_.nvrtcAddNameExpression(program_, name.c_str()));
    }
  }
  ~Program() { library_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& arguments) {
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    return library_.nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string log() const { return terminated(library_.nvrtcGetProgramLogSize, library_.nvrtcGetProgramLog); }
  std::string ptx() const { return terminated(library_.nvrtcGetPTXSize, library_.nvrtcGetPTX); }
  std::vector<std::byte> cubin() const {
    std::size_t size = 0;
    check(library_.nvrtcGetCUBINSize(program_, &size));
    std::vector<std::byte> bytes(size);
    check(library_.nvrtcGetCUBIN(program_, reinterpret_cast<char*>(bytes.data())));
    return bytes;
  }
  std::string symbol(const std::string& name) const {
    const char* lowered = nullptr;
    check(library_.nvrtcGetLoweredName(program_, name.c_str(), &lowered));
    return lowered;
  }

 private:
  void check(nvrtcResult result) const {
    if (result == NVRTC_SUCCESS) return;
    throw Error(ErrorKind::link_failure, "compile-failed",
                fmt::format("NVRTC: {}", library_.nvrtcGetErrorString(result)));
  }
  template <typename GetSize, typename Get>
  std::string terminated(GetSize get_size, Get get) const {
    std::size_t size = 0;
    check(get_size(program_, &size));
    std::string text(size, '\0');
    check(get(program_, text.data()));
    text.resize(std::strlen(text.c_str()));
    return text;
  }

  const cuda::Nvrtc& library_;
  nvrtcProgram program_ = nullptr;
};

std::vector<std::string> arguments_of(const CompileOptions& options, const Libraries& libraries) {
  if (!options.target.starts_with("sm_")) {
    throw Error(ErrorKind::usage, "bad-compile-option", fmt::format("\"{}\" is not a target", options.target),
                "set CompileOptions::target to a target such as sm_90a");
  }
  const char* kind = options.output == CompileOptions::Output::ptx ? "compute_" : "sm_";
  std::vector<std::string> arguments = {
      fmt::format("--gpu-architecture={}{}", kind, options.target.substr(3))};
  for (const std::string& folder : options.include_folders) arguments.push_back("--include-path=" + folder);
  for (const auto& folder : libraries.include_folders())
    arguments.push_back("--include-path=" + folder.string());
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());
  return arguments;
}

[[noreturn]] void throw_compile_failed(const cuda::Nvrtc& library, nvrtcResult result, const std::string& log,
                                       std::vector<Diagnostic> diagnostics) {
  diagnostics.insert(
      diagnostics.begin(),
      Diagnostic{.code = "compile-failed",
                 .message = fmt::format("NVRTC refused this source: {}", library.nvrtcGetErrorString(result)),
                 .hint = diagnostics.empty() ? log : std::string()});
  throw Error(ErrorKind::link_failure, std::move(diagnostics));
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(Libraries libraries) : libraries_(std::move(libraries)) {}

CompileResult NvrtcCompiler::compile(std::string_view source, const CompileOptions& options) const {
  const cuda::Nvrtc& library = libraries_.nvrtc();
  const std::vector<std::string> arguments = arguments_of(options, libraries_);
  Program program(library, source, options);
  const nvrtcResult compiled = program.compile(arguments);
  const std::string log = program.log();
  CompileResult result;
  result.diagnostics = jit::parse_nvrtc_log(log, options.name);
  if (compiled != NVRTC_SUCCESS) throw_compile_failed(library, compiled, log, std::move(result.diagnostics));
  if (options.output == CompileOptions::Output::ptx) {
    result.ptx = program.ptx();
  } else {
    result.cubin = program.cubin();
  }
  for (const std::string& name : options.name_expressions) result.symbols.push_back(program.symbol(name));
  return result;
}

bool NvrtcCompiler::serves(std::string_view target) const {
  const cuda::Nvrtc& library = libraries_.nvrtc();
  int count = 0;
  if (library.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS) return false;
  std::vector<int> numbers(static_cast<std::size_t>(count));
  if (library.nvrtcGetSupportedArchs(numbers.data()) != NVRTC_SUCCESS) return false;
  const std::string_view chip = target.substr(0, target.find_last_of("0123456789") + 1);
  return std::ranges::any_of(numbers, [&](int number) { return chip == fmt::format("sm_{}", number); });
}

Version NvrtcCompiler::version() const {
  const cuda::Nvrtc& library = libraries_.nvrtc();
  return {.major = library.major, .minor = library.minor};
}

}  // namespace ptxloom
