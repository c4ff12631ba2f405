// SPDX-License-Identifier: Apache-2.0
// The kernels of exec.ptx in GPGPU-Sim's functional mode, for exec_bench to be held against. README.md beside
// this says how it is built and run; no build of ours includes it.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                                       dim3*);

namespace {

// GPGPU-Sim looks a kernel up by this pointer and registers it by this name.
CUfunction function_of(std::string& name) {
  void** const module = reinterpret_cast<void**>(1);  // the first that cuLinkAddFile read
  __cudaRegisterFunction(module, name.data(), name.data(), name.data(), -1, nullptr, nullptr, nullptr,
                         nullptr);
  return reinterpret_cast<CUfunction>(name.data());
}

struct Array {
  std::vector<float> host;
  void* device = nullptr;

  explicit Array(std::size_t size, std::mt19937& random) : host(size) {
    for (float& value : host) value = static_cast<float>(random() % 100);
    cudaMalloc(&device, 4 * size);
    cudaMemcpy(device, host.data(), 4 * size, cudaMemcpyHostToDevice);
  }
};

}  // namespace

// Usage: main vector_add|matrix_multiply, in a folder with exec.ptx and a gpgpusim.config.
int main(int argc, char** argv) {
  std::string name = argc > 1 ? argv[1] : "vector_add";
  const bool matrix = name == "matrix_multiply";
  int n = matrix ? 256 : 1 << 20;
  const std::size_t size = matrix ? 256 * 256 : 1 << 20;

  static char path[4096] = "PTX_JIT_PATH=.";  // GPGPU-Sim appends to it in place
  putenv(path);
  setenv("PTX_SIM_MODE_FUNC", "1", 1);
  CUlinkState link{};
  cuLinkCreate(0, nullptr, nullptr, &link);
  cuLinkAddFile(link, CU_JIT_INPUT_PTX, "exec.ptx", 0, nullptr, nullptr);
  const CUfunction function = function_of(name);

  std::mt19937 random(std::random_device{}());
  Array a(size, random), b(size, random), c(size, random);
  void* arguments[] = {&a.device, &b.device, &c.device, &n};
  const unsigned grid = matrix ? 16 : 4096, rows = matrix ? 16 : 1, block = matrix ? 16 : 256;
  double best = 1e30;
  for (int run = 0; run < 5; ++run) {
    const std::clock_t begin = std::clock();
    cuLaunchKernel(function, grid, rows, 1, block, rows, 1, 0, nullptr, arguments, nullptr);
    cudaThreadSynchronize();
    best = std::min(best, 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::printf("%s: %.1f ms of CPU time; divide the instructions that GPGPU-Sim counted for a launch by it\n",
              name.c_str(), best);
}
