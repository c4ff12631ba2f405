// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
using cuda::atomic_ref, cuda::atomic_thread_fence, cuda::barrier, cuda::thread_scope, cuda::thread_scope_block,
    cuda::thread_scope_device, cuda::thread_scope_system;
using cuda::memory_order_acq_rel, cuda::memory_order_acquire, cuda::memory_order_relaxed, cuda::memory_order_release,
    cuda::memory_order_seq_cst;
template <class T, thread_scope Scope> __device__ T numbers(T* p) {
  atomic_ref<T, Scope> a(*p);
  T v = a.load(memory_order_acquire), expected = v;
  a.store(v + T(1), memory_order_release);
  a.store(v + T(2), memory_order_seq_cst);
  a.compare_exchange_strong(expected, v + T(3), memory_order_acq_rel, memory_order_acquire);
  a.compare_exchange_weak(expected, v + T(3), memory_order_relaxed);
  v += a.exchange(T(5), memory_order_acq_rel) + a.fetch_add(T(7), memory_order_seq_cst) + a.fetch_sub(T(2));
  return v + a.fetch_min(T(2), memory_order_release) + a.fetch_max(T(9), memory_order_acquire);
}
template <class T, thread_scope Scope> __device__ T bits(T* p) {
  atomic_ref<T, Scope> a(*p);
  return a.fetch_and(T(5)) + a.fetch_or(T(8), memory_order_relaxed) + a.fetch_xor(T(3), memory_order_acq_rel);
}
template <class T> __device__ void of_numbers(void* p, void* out) {
  ((T*)out)[0] = numbers<T, thread_scope_system>((T*)p);
  ((T*)out)[1] = numbers<T, thread_scope_device>((T*)p);
  ((T*)out)[2] = numbers<T, thread_scope_block>((T*)p);
}
extern "C" __global__ void all_types(void* p, void* out) {
  of_numbers<int>(p, out);
  of_numbers<unsigned long long>(p, out);
  of_numbers<float>(p, out);
  of_numbers<double>(p, out);
  of_numbers<short>(p, out);
  of_numbers<unsigned char>(p, out);
  *(int*)out = bits<int, thread_scope_system>((int*)p);
  *(uint64_t*)out = bits<uint64_t, thread_scope_block>((uint64_t*)p);
  *(uint16_t*)out = bits<uint16_t, thread_scope_device>((uint16_t*)p);
  *(uint8_t*)out = bits<uint8_t, thread_scope_device>((uint8_t*)p);
}
extern "C" __global__ void in_shared_memory(int* out) {
  __shared__ int i;
  __shared__ unsigned long long u;
  __shared__ double d;
  __shared__ unsigned char c;
  numbers<int, thread_scope_block>(&i);
  numbers<unsigned long long, thread_scope_device>(&u);
  numbers<double, thread_scope_block>(&d);
  numbers<unsigned char, thread_scope_block>(&c);
  atomic_ref<int, thread_scope_block> a(i);
  a.notify_all();
  a.wait(3);
  out[0] = i + (int)d + c;
}
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MINOR__ >= 5  // that of CUDA 13.0 writes PTX which ptxas refuses
struct alignas(16) Wide { long long a, b; };
extern "C" __global__ void of_128_bits(Wide* p, int* out) {
  __shared__ Wide s;
  atomic_ref<Wide, thread_scope_device> a(*p);
  atomic_ref<Wide, thread_scope_block> b(s);
  Wide w = a.load(memory_order_acquire);
  w.a++;
  a.store(w, memory_order_release);
  out[0] = a.exchange(w).b + b.exchange(w).a + b.load(memory_order_relaxed).b;
}
#endif
extern "C" __global__ void intrinsics(unsigned* a, unsigned long long* b, unsigned short* s, float* f, int n) {
  a[1] = atomicCAS(a, 3u, 4u) + atomicCAS_block(a, 3u, 4u) + atomicInc(a, 3) + atomicDec_system(a, 3) + atomicExch_block(a, 4);
  b[1] = atomicMax(b, 3ull) + atomicAnd(b, 5ull) + atomicXor_system(b, 3) + atomicMin_block((int*)a, n) + atomicSub(a, n);
  s[1] = atomicCAS(s, (unsigned short)n, (unsigned short)3);
  atomicAdd(f, 2.0f);
#if __CUDA_ARCH__ >= 900
  atomicAdd((float4*)f + 1, float4{1, 2, 3, 4});
  atomicAdd((float2*)f + 9, float2{1, 2});
#endif
}
extern "C" __global__ void fences() {
  atomic_thread_fence(memory_order_acquire, thread_scope_system);
  atomic_thread_fence(memory_order_release, thread_scope_device);
  atomic_thread_fence(memory_order_acq_rel, thread_scope_block);
  atomic_thread_fence(memory_order_seq_cst, thread_scope_block);
  cuda::std::atomic_signal_fence(cuda::std::memory_order_seq_cst);
}
struct Count { int* n; __device__ void operator()() noexcept { ++*n; } };
using Counted = barrier<thread_scope_block, Count>;
extern "C" __global__ void waits(int* out, cuda::counting_semaphore<thread_scope_device, 4>* semaphore,
                                 cuda::latch<thread_scope_system>* gate, cuda::std::atomic<bool>* flag,
                                 barrier<thread_scope_device>* global) {
  __shared__ barrier<thread_scope_block> b;
  __shared__ int n;
  __shared__ alignas(Counted) char room[sizeof(Counted)];
  Counted* counted = reinterpret_cast<Counted*>(room);
  if (threadIdx.x == 0) {
    init(&b, blockDim.x);
    new (counted) Counted(blockDim.x, Count{&n});
  }
  __syncthreads();
  b.wait(b.arrive());
  b.arrive_and_wait();
  b.try_wait_for(b.arrive(2), cuda::std::chrono::nanoseconds(100));
  b.wait_parity(true);
  b.arrive_and_drop();
  counted->arrive_and_wait();
  global->wait(global->arrive(3));
  semaphore->acquire();
  if (semaphore->try_acquire()) semaphore->release(2);
  gate->count_down(1);
  gate->arrive_and_wait(1);
  flag->wait(false);
  flag->notify_one();
  out[threadIdx.x] = n;
#if __CUDA_ARCH__ >= 900
  b.wait(cuda::device::barrier_arrive_tx(b, 1, 128));
  cuda::device::barrier_expect_tx(b, 64);
  cuda::device::memcpy_async_tx(&n, out, cuda::aligned_size_t<16>(16), b);
#endif
}
