// SPDX-License-Identifier: Apache-2.0
// What samples/mma_tile.cpp builds, in CUDA C++ with inline PTX. docs/builder.md shows both.
#include <cuda_fp16.h>

// guide mma_tile {
// A is row-major, B column-major, so that both are contiguous along k; D is row-major.
__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void copy_16_bytes(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

extern "C" __global__ void __launch_bounds__(32) mma_tile(const half* a, const half* b, float* d) {
  __shared__ __align__(16) half tile_a[16 * 16], tile_b[8 * 16];
  unsigned lane = threadIdx.x, i = lane * 8;
  copy_16_bytes(&tile_a[i], &a[i]);
  if (lane < 16) copy_16_bytes(&tile_b[i], &b[i]);
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncwarp();

  // Each lane names a row of 8 values: of A in quadrants, of B in halves.
  unsigned at_a = shared_address(&tile_a[(lane & 15) * 16 + (lane >> 4 << 3)]);
  unsigned at_b = shared_address(&tile_b[(lane & 7) * 16 + (lane & 8)]);
  unsigned x[4], y[2];
  float sums[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at_a));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(y[0]), "=r"(y[1])
               : "r"(at_b));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(0.0F));
  unsigned at_d = lane * 2;
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(&d[at_d]), "f"(sums[0]), "f"(sums[1]) : "memory");
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(&d[at_d + 64]), "f"(sums[2]), "f"(sums[3])
               : "memory");  // eight rows below
}
// }
