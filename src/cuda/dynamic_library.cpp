// SPDX-License-Identifier: Apache-2.0
#include "cuda/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace ptxloom::cuda {

DynamicLibrary::DynamicLibrary(void* handle) : handle_(handle, [](void* opened) { ::dlclose(opened); }) {}

std::optional<DynamicLibrary> DynamicLibrary::open_first(const std::vector<std::filesystem::path>& folders,
                                                         const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const std::filesystem::path& folder : folders) {
      // NODELETE: the driver and the compilers have threads and exit handlers that must not outlive their
      // code.
      void* handle = ::dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
      if (handle != nullptr) return DynamicLibrary(handle);
    }
  }
  return std::nullopt;
}

void* DynamicLibrary::find(const char* symbol) const { return ::dlsym(handle_.get(), symbol); }

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_.get(), RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

}  // namespace ptxloom::cuda
