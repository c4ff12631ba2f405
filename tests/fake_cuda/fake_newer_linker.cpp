// SPDX-License-Identifier: Apache-2.0
// An nvJitLink of a release of CUDA that nobody knows yet. It links anything for any target, to four bytes.
// Declared by itself, with none of our headers: what we ask of the library is under test.
#include <cstddef>
#include <cstdint>
#include <cstring>

#pragma GCC visibility push(default)

extern "C" {

enum { kSuccess = 0 };

int nvJitLinkVersion(unsigned* major, unsigned* minor) {
  *major = 99;
  *minor = 0;
  return kSuccess;
}

int nvJitLinkCreate(void** handle, std::uint32_t, const char**) {
  static int linker;
  *handle = &linker;
  return kSuccess;
}
int nvJitLinkDestroy(void** handle) {
  *handle = nullptr;
  return kSuccess;
}
int nvJitLinkAddData(void*, int, const void*, std::size_t, const char*) { return kSuccess; }
int nvJitLinkComplete(void*) { return kSuccess; }

int nvJitLinkGetErrorLogSize(void*, std::size_t* size) { return *size = 0, kSuccess; }
int nvJitLinkGetErrorLog(void*, char*) { return kSuccess; }
int nvJitLinkGetInfoLogSize(void*, std::size_t* size) { return *size = 0, kSuccess; }
int nvJitLinkGetInfoLog(void*, char*) { return kSuccess; }

int nvJitLinkGetLinkedCubinSize(void*, std::size_t* size) { return *size = 4, kSuccess; }
int nvJitLinkGetLinkedCubin(void*, void* cubin) {
  std::memcpy(cubin,
              "\x7f"
              "ELF",
              4);
  return kSuccess;
}

}  // extern "C"
