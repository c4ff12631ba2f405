// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

#include "fake_cuda/fake_cuda.hpp"
#include "ptxloom/libraries.hpp"
#include "support/folders.hpp"

inline std::filesystem::path fake_driver_folder() { return ptxloom::test::build_folder() + "/fake_cuda"; }
inline std::filesystem::path newer_linker_folder() {
  return ptxloom::test::build_folder() + "/fake_newer_linker";
}
inline std::filesystem::path old_driver_folder() { return ptxloom::test::build_folder() + "/fake_old_cuda"; }

/// Libraries whose driver is the fake one; nvJitLink and the others are the machine's own.
inline ptxloom::Libraries fake_libraries() { return ptxloom::Libraries({.folders = {fake_driver_folder()}}); }

/// The state of the fake driver, reset.
inline FakeCuda& fresh_fake() {
  void* library = ::dlopen((fake_driver_folder() / "libcuda.so.1").c_str(), RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  FakeCuda& fake = *reinterpret_cast<FakeCuda* (*)()>(::dlsym(library, "fake_cuda"))();
  fake = {};
  return fake;
}
