// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda/atomic>
#include <cuda/std/complex>
namespace ptx = cuda::ptx;
extern "C" __global__ void pipelines(const int* in, int* out, int n) {
  __shared__ alignas(16) int tile[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int i = 0; i < n; i++) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, tile[i & 1], in + 128 * i, cuda::aligned_size_t<16>(512), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    out[128 * i + threadIdx.x] = tile[i & 1][127 - threadIdx.x];
    pipe.consumer_release();
  }
  cuda::atomic_ref<int, cuda::thread_scope_system> ref(out[n]);
  ref.fetch_add(3, cuda::memory_order_release);
  ref.fetch_max(7, cuda::memory_order_relaxed);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  out[n + 1] = ptx::get_sreg_smid() + ptx::get_sreg_warpid() + ptx::get_sreg_globaltimer_lo();
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void bulk(const __grid_constant__ int4 parameter, const int* in, int* out, const void* map) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(8) uint64_t bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, 1024, &bar);
    const int coords[2] = {1, 2};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, map, coords, &bar);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 1024);
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
  ptx::fence_proxy_async(ptx::space_shared);
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, 1024);
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, 512);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  ptx::barrier_cluster_arrive(ptx::sem_release);
  ptx::barrier_cluster_wait();
  ptx::red_async(ptx::op_add, (int*)tile, 3, &bar);
  out[threadIdx.x] = parameter.y ;
}
#endif
