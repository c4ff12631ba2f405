// SPDX-License-Identifier: Apache-2.0
// The tables of libraries that need nothing but their symbols.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "cuda/cublaslt.hpp"
#include "cuda/nvjitlink.hpp"
#include "cuda/nvml.hpp"
#include "cuda/nvrtc.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::cuda {
namespace {

void require(const std::string& missing, const std::string& path, const char* code, const char* hint) {
  if (!missing.empty()) throw Error(ErrorKind::missing, code, path + " lacks " + missing, hint);
}

std::string file_identity(const std::filesystem::path& path) {
  std::error_code ignored;
  return fmt::format("{} bytes, written {}", std::filesystem::file_size(path, ignored),
                     std::filesystem::last_write_time(path, ignored).time_since_epoch().count());
}

}  // namespace

NvJitLink NvJitLink::load(const DynamicLibrary& library) {
  NvJitLink table;
  std::string missing;
  PTXLOOM_NVJITLINK_SYMBOLS(PTXLOOM_SYMBOL_LOAD)
  table.library = library;
  require(missing, library.path(), "no-nvjitlink", "install nvJitLink 12.3 or later");
  table.nvJitLinkVersion(&table.major, &table.minor);
  table.identity = fmt::format("{}.{}, {}", table.major, table.minor, file_identity(library.path()));
  return table;
}

Nvrtc Nvrtc::load(const DynamicLibrary& library) {
  Nvrtc table;
  std::string missing;
  PTXLOOM_NVRTC_SYMBOLS(PTXLOOM_SYMBOL_LOAD)
  table.library = library;
  require(missing, library.path(), "no-nvrtc", "install NVRTC 12.0 or later");
  table.nvrtcVersion(&table.major, &table.minor);
  // NVRTC opens its builtins by name, which fails in a folder unknown to the loader unless they are already
  // open.
  const std::filesystem::path folder = std::filesystem::path(library.path()).parent_path();
  DynamicLibrary::open_first({folder}, {fmt::format("libnvrtc-builtins.so.{}.{}", table.major, table.minor)});
  return table;
}

CublasLt CublasLt::load(const DynamicLibrary& library) {
  CublasLt table;
  std::string missing;
  PTXLOOM_CUBLASLT_SYMBOLS(PTXLOOM_SYMBOL_LOAD)
  table.library = library;
  require(missing, library.path(), "no-cublaslt", "install cuBLASLt 12.0 or later");
  const std::size_t version = table.cublasLtGetVersion();  // 130100
  table.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  return table;
}

Nvml Nvml::load(const DynamicLibrary& library) {
  Nvml table;
  std::string missing;
  PTXLOOM_NVML_SYMBOLS(PTXLOOM_SYMBOL_LOAD)
  table.library = library;
  const char* hint = "install the complete NVIDIA driver; without NVML clocks and throttling are not shown";
  require(missing, library.path(), "no-nvml", hint);
  if (table.nvmlInit_v2() != 0) throw Error(ErrorKind::missing, "no-nvml", "NVML does not start", hint);
  std::array<char, 96> version = {};
  if (table.nvmlSystemGetDriverVersion(version.data(), version.size()) == 0)
    table.driver_version = version.data();
  return table;
}

}  // namespace ptxloom::cuda
