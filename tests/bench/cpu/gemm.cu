// SPDX-License-Identifier: Apache-2.0
// The kernel that our f16 gemm is compared with for compile time: D = alpha * A * B with A row-major and B column-major,
// a cp.async pipeline into swizzled shared memory, ldmatrix and mma.sync. Sizes and tiles are macros.
#include <cuda_fp16.h>

constexpr int kThreads = 32 * WARPS_M * WARPS_N;
constexpr int kWarpM = TILE_M / WARPS_M, kWarpN = TILE_N / WARPS_N;
constexpr int kAtomsM = kWarpM / 16, kAtomsN = kWarpN / 8;
constexpr int kChunks = TILE_K / 8;  // of 16 bytes in a row

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Rows of 16-byte chunks, the chunk number xored with the row, so that ldmatrix meets every bank once.
__device__ __forceinline__ int swizzled(int row, int chunk) { return row * TILE_K + 8 * (chunk ^ (row & 7 & (kChunks - 1))); }

__device__ __forceinline__ void copy_async(unsigned to, const __half* from, bool inside) {
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

template <int kRows>
__device__ __forceinline__ void load_tile(__half* tile, const __half* matrix, int first_row, int rows, int first_k) {
#pragma unroll
  for (int i = 0; i < (kRows * kChunks + kThreads - 1) / kThreads; ++i) {
    const int index = i * kThreads + static_cast<int>(threadIdx.x);
    if (kRows * kChunks % kThreads != 0 && index >= kRows * kChunks) break;
    const int row = index / kChunks, chunk = index % kChunks;
    const bool inside = first_row + row < rows && first_k + 8 * chunk < SIZE_K;
    const __half* from = matrix + (inside ? static_cast<long long>(first_row + row) * SIZE_K + first_k + 8 * chunk : 0);
    copy_async(shared_address(tile + swizzled(row, chunk)), from, inside);
  }
}

__device__ __forceinline__ void load_matrices(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const __half* a, const __half* b, float* d, float alpha) {
  extern __shared__ __align__(1024) __half tiles[];
  __half* const tiles_a = tiles;
  __half* const tiles_b = tiles + STAGES * TILE_M * TILE_K;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = blockIdx.y * TILE_M, col0 = blockIdx.x * TILE_N;
  const int warp_row = warp / WARPS_N * kWarpM, warp_col = warp % WARPS_N * kWarpN;
  constexpr int kSteps = (SIZE_K + TILE_K - 1) / TILE_K;

  const auto load_stage = [&](int step) {
    const int stage = step % STAGES;
    load_tile<TILE_M>(tiles_a + stage * TILE_M * TILE_K, a, row0, SIZE_M, step * TILE_K);
    load_tile<TILE_N>(tiles_b + stage * TILE_N * TILE_K, b, col0, SIZE_N, step * TILE_K);
  };
#pragma unroll
  for (int step = 0; step < STAGES - 1; ++step) {
    if (step < kSteps) load_stage(step);
    asm volatile("cp.async.commit_group;");
  }

  float sums[kAtomsM][kAtomsN][4] = {};
  for (int step = 0; step < kSteps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    if (step + STAGES - 1 < kSteps) load_stage(step + STAGES - 1);
    asm volatile("cp.async.commit_group;");
    const __half* const tile_a = tiles_a + step % STAGES * TILE_M * TILE_K;
    const __half* const tile_b = tiles_b + step % STAGES * TILE_N * TILE_K;
#pragma unroll
    for (int k = 0; k < TILE_K / 16; ++k) {
      unsigned fa[kAtomsM][4], fb[kAtomsN / 2][4];
#pragma unroll
      for (int i = 0; i < kAtomsM; ++i) {
        load_matrices(fa[i], shared_address(tile_a + swizzled(warp_row + 16 * i + lane % 16, 2 * k + lane / 16)));
      }
#pragma unroll
      for (int j = 0; j < kAtomsN / 2; ++j) {
        load_matrices(fb[j], shared_address(tile_b + swizzled(warp_col + 16 * j + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2)));
      }
#pragma unroll
      for (int i = 0; i < kAtomsM; ++i) {
#pragma unroll
        for (int j = 0; j < kAtomsN; ++j) multiply(sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
      }
    }
  }

#pragma unroll
  for (int i = 0; i < kAtomsM; ++i) {
#pragma unroll
    for (int j = 0; j < kAtomsN; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = row0 + warp_row + 16 * i + lane / 4 + 8 * half;
        const int col = col0 + warp_col + 8 * j + lane % 4 * 2;
        if (row >= SIZE_M || col >= SIZE_N) continue;
        float* const to = d + static_cast<long long>(row) * SIZE_N + col;
        to[0] = alpha * sums[i][j][2 * half];
        if (col + 1 < SIZE_N) to[1] = alpha * sums[i][j][2 * half + 1];
      }
    }
  }
}
