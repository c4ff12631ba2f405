// SPDX-License-Identifier: Apache-2.0
#include <cuda/barrier>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
#include <mma.h>
namespace cg = cooperative_groups;
extern "C" __global__ void groups(int* a, float* f, int n) {
  __shared__ int tile[256];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto eight = cg::tiled_partition<8>(warp);
  cg::memcpy_async(block, tile, a, cuda::aligned_size_t<16>(1024));
  cg::wait(block);
  int v = cg::reduce(warp, tile[threadIdx.x], cg::plus<int>());
  v += cg::inclusive_scan(eight, v, cg::greater<int>());
  f[threadIdx.x] = cg::reduce(warp, f[n], cg::less<float>()) + eight.shfl_down(f[1], 2);
  if (v > n) { auto active = cg::coalesced_threads(); v += active.size() + active.shfl(v, 0); }
  auto part = cg::labeled_partition(warp, v & 3);
  a[threadIdx.x] = v + part.thread_rank() + eight.meta_group_rank();
  cg::this_grid().sync();
#if __CUDA_ARCH__ >= 900
  auto cluster = cg::this_cluster();
  int* remote = cluster.map_shared_rank(tile, (cluster.block_rank() + 1) % cluster.num_blocks());
  cluster.sync();
  a[n] = remote[3];
  cluster.barrier_arrive();
  cluster.barrier_wait();
#endif
}
extern "C" __global__ void matrices(const half* a, const half* b, float* c, double* d, signed char* s) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  fragment<matrix_b, 16, 16, 16, half, col_major> y;
  fragment<accumulator, 16, 16, 16, float> z;
  fill_fragment(z, 0.5f);
  for (int k = 0; k < 4; k++) {
    load_matrix_sync(x, a + 16 * k, 64);
    load_matrix_sync(y, b + 16 * k, 64);
    mma_sync(z, x, y, z);
  }
  store_matrix_sync(c, z, 16, mem_row_major);
  fragment<matrix_a, 32, 8, 16, signed char, row_major> u;
  fragment<matrix_b, 32, 8, 16, signed char, row_major> v;
  fragment<accumulator, 32, 8, 16, int> w;
  load_matrix_sync(u, s, 32);
  load_matrix_sync(v, s + 1024, 32);
  fill_fragment(w, 3);
  mma_sync(w, u, v, w);
  store_matrix_sync((int*)c, w, 32, mem_col_major);
#if __CUDA_ARCH__ >= 800
  fragment<matrix_a, 8, 8, 4, double, row_major> e;
  fragment<matrix_b, 8, 8, 4, double, col_major> f;
  fragment<accumulator, 8, 8, 4, double> g;
  load_matrix_sync(e, d, 8);
  load_matrix_sync(f, d + 64, 8);
  load_matrix_sync(g, d + 128, 8, mem_row_major);
  mma_sync(g, e, f, g);
  store_matrix_sync(d, g, 8, mem_row_major);
#endif
}
