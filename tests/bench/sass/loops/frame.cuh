// SPDX-License-Identifier: Apache-2.0
// The kernels that loop_model measures: one loop each, between two readings of the clock. `in` holds kValues
// random floats, none of them zero. An iteration of the loop is one of the machine code, since it is not
// unrolled; what is inside may be.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

constexpr int kValues = 4096;

__device__ inline long long now() {
  long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}

__device__ inline void note(long long* times, long long start, long long end) {
  if (threadIdx.x % 32 != 0) return;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  times[2 * warp] = start;
  times[2 * warp + 1] = end;
}

// `before` declares what the body, the last argument, changes; `after` is a float that depends on all of it.
#define LOOP_OF(threads, name, before, after, ...)                                                          \
  extern "C" __global__ void __launch_bounds__(threads)                                                     \
      name(const float* __restrict__ in, float* out, long long* times, int n) {                             \
    [[maybe_unused]] const int t = threadIdx.x;                                                             \
    before;                                                                                                 \
    __syncthreads();                                                                                        \
    const long long start = now();                                                                          \
    _Pragma("unroll 1") for (int i = 0; i < n; ++i) { __VA_ARGS__; }                                               \
    const long long end = now();                                                                            \
    out[blockIdx.x * blockDim.x + t] = after;                                                               \
    note(times, start, end);                                                                                \
  }
#define LOOP(name, before, after, ...) LOOP_OF(1024, name, before, after, __VA_ARGS__)
#define UNROLL _Pragma("unroll")

/// K values of this thread, the first from place `from` of `in`.
template <int K, typename T>
struct Values {
  T at[K];
  __device__ explicit Values(const float* in, int from = 0) {
    UNROLL for (int k = 0; k < K; ++k) at[k] = make(in[(threadIdx.x * K + from + k) % kValues]);
  }
  __device__ static T make(float value) {
    if constexpr (sizeof(T) == sizeof(float) && static_cast<T>(1.5F) != static_cast<T>(1)) {
      return value;
    } else if constexpr (static_cast<T>(1.5F) != static_cast<T>(1)) {
      return static_cast<T>(value);
    } else {
      return static_cast<T>(__float_as_uint(value));
    }
  }
  __device__ float sum() const {
    float total = 0;
    UNROLL for (int k = 0; k < K; ++k) total += static_cast<float>(at[k]);
    return total;
  }
};

template <int K>
struct Halves {
  __half2 at[K];
  __device__ explicit Halves(const float* in, int from = 0) {
    UNROLL for (int k = 0; k < K; ++k) {
      const int place = (threadIdx.x * K + from + k) % (kValues - 1);
      at[k] = __floats2half2_rn(in[place], in[place + 1]);
    }
  }
  __device__ float sum() const {
    float total = 0;
    UNROLL for (int k = 0; k < K; ++k) total += __low2float(at[k]) + __high2float(at[k]);
    return total;
  }
};

/// Registers of a matrix fragment.
template <int K>
struct Operands {
  unsigned at[K];
  __device__ explicit Operands(const float* in, int from) {
    const Halves<K> values(in, from);
    UNROLL for (int k = 0; k < K; ++k) at[k] = *reinterpret_cast<const unsigned*>(&values.at[k]);
  }
};

/// Shared memory that holds `Count` of the values.
template <int Count>
__device__ inline void fill(float (&shared)[Count], const float* in) {
  for (int i = threadIdx.x; i < Count; i += blockDim.x) shared[i] = in[i % kValues];
}

__device__ inline void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void imma(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void ldmatrix4(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
