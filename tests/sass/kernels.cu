// SPDX-License-Identifier: Apache-2.0
// Kernels of many kinds, whose machine code the lint must accept: memory, shared memory, shuffles, votes,
// atomics, double, half and integer arithmetic, conversions, divergence, switches, calls, recursion.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
extern "C" {
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void dots(int n, const double* x, const double* y, double* o) {
  double s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i] * y[i];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) *o = s / n;
}
__global__ void transpose(const float* a, float* b, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = a[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < h && y + j < w) b[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
__global__ void hist(const unsigned char* d, int n, unsigned* h) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[d[i]], 1u);
  __syncthreads();
  atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float sa[16][16], sb[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  float s = 0;
  for (int k = 0; k < n; k += 16) {
    sa[ty][tx] = a[(blockIdx.y * 16 + ty) * n + k + tx];
    sb[ty][tx] = b[(k + ty) * n + blockIdx.x * 16 + tx];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) s += sa[ty][i] * sb[i][tx];
    __syncthreads();
  }
  c[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = s;
}
__global__ void trig(const float* x, float* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n)
    y[i] = sinf(x[i]) * expf(x[i]) + logf(fabsf(x[i])) / sqrtf(x[i] + 2) + powf(x[i], 1.7f) + erff(x[i]) +
           tanhf(x[i]);
}
__global__ void dtrig(const double* x, double* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) y[i] = sin(x[i]) * exp(x[i]) + log(fabs(x[i])) / sqrt(x[i] + 2) + pow(x[i], 1.7);
}
__global__ void halfs(const __half2* x, __half2* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    __half2 a = x[i];
    y[i] = __hfma2(a, a, h2exp(a));
    y[i + n] = __hmax2(a, h2sqrt(a));
  }
}
__global__ void bfs(const __nv_bfloat162* x, __nv_bfloat162* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
#if __CUDA_ARCH__ >= 800
    __nv_bfloat162 a = x[i];
    y[i] = __hfma2(a, a, a);
#endif
  }
}
__global__ void ints(const int* x, long long* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    long long v = x[i];
    y[i] = v * v / 7 + (v % (x[i] | 1)) + __popc(x[i]) + __clz(x[i]) + __brev(x[i]) + __ffs(x[i]) +
           __mul24(x[i], 3) + __umulhi(x[i], x[i]) + __byte_perm(x[i], i, 0x2103) + __dp4a(x[i], x[i], i);
  }
}
__global__ void scan(const int* x, int* y, int n) {
  __shared__ int w[32];
  int i = threadIdx.x + blockIdx.x * blockDim.x, v = i < n ? x[i] : 0, l = threadIdx.x & 31;
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(~0u, v, d);
    if (l >= d) v += u;
  }
  if (l == 31) w[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    int s = w[l];
    for (int d = 1; d < 32; d *= 2) {
      int u = __shfl_up_sync(~0u, s, d);
      if (l >= d) s += u;
    }
    w[l] = s;
  }
  __syncthreads();
  if (threadIdx.x >= 32) v += w[threadIdx.x / 32 - 1];
  if (i < n) y[i] = v;
}
__global__ void votes(const int* x, unsigned* y, int n) {
  int i = threadIdx.x;
  unsigned b = __ballot_sync(~0u, x[i] > 3);
  unsigned m =
#if __CUDA_ARCH__ >= 700
      __match_any_sync(~0u, x[i]);
#else
      0;
#endif
  y[i] = b + m + (__any_sync(~0u, x[i] == 1) ? 5 : 0) + (__all_sync(~0u, x[i]) ? 7 : 0) + __activemask();
#if __CUDA_ARCH__ >= 800
  y[i] += __reduce_add_sync(~0u, x[i]);
#endif
}
__global__ void stencil(const float* a, float* b, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x < w - 1 && y < h - 1) {
    float s = 0;
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) s += a[(y + dy) * w + x + dx] * (dx * dx + dy * dy + 1);
    b[y * w + x] = s;
  }
}
__global__ void nbody(const float4* p, float4* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 m = p[i], s = make_float4(0, 0, 0, 0);
  for (int j = 0; j < n; j++) {
    float4 q = p[j];
    float dx = q.x - m.x, dy = q.y - m.y, dz = q.z - m.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-9f);
    r = r * r * r * q.w;
    s.x += dx * r;
    s.y += dy * r;
    s.z += dz * r;
  }
  v[i] = s;
}
__global__ void mandel(int* o, int w, int h, int it) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  float cr = 3.f * x / w - 2, ci = 2.f * y / h - 1, zr = 0, zi = 0;
  int k = 0;
  while (k < it && zr * zr + zi * zi < 4) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    k++;
  }
  o[y * w + x] = k;
}
__global__ void sw(const int* x, int* y, int n) {
  int i = threadIdx.x;
  switch (x[i]) {
    case 0:
      y[i] = 3;
      break;
    case 1:
      y[i] = y[i] * 5;
      break;
    case 2:
      y[i] = __popc(y[i]);
      break;
    case 3:
      y[i] /= x[i + 1];
      break;
    case 4:
      y[i] = -1;
      break;
    case 5:
      y[i] ^= x[i + 3];
      break;
    default:
      y[i] = x[y[i]];
  }
}
__global__ void cas(unsigned long long* p, double v, int* q) {
  unsigned long long o = *p, a;
  do {
    a = o;
    o = atomicCAS(p, a, __double_as_longlong(v + __longlong_as_double(a)));
  } while (a != o);
  atomicMax(q, (int)v);
  atomicExch(q + 1, 4);
  __threadfence();
  q[2] = (int)o;
}
__global__ void locals(const int* x, int* y, int n) {
  int b[32];
  for (int i = 0; i < 32; i++) b[i] = x[i * n];
  for (int i = 0; i < n; i++) b[x[i] & 31] += b[(x[i] >> 5) & 31];
  y[threadIdx.x] = b[threadIdx.x & 31];
}
__device__ __noinline__ float leaf(float a, float b) { return a * b + sqrtf(a); }
__global__ void calls(float* x, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s = leaf(s, x[i]);
  x[threadIdx.x] = s;
}
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void recurse(int* x) { x[threadIdx.x] = fib(x[threadIdx.x]); }
__global__ void coop(int* x, int n) {
  auto b = cg::this_thread_block();
  auto w = cg::tiled_partition<32>(b);
  int v = x[b.thread_rank()];
  for (int d = w.size() / 2; d; d /= 2) v += w.shfl_down(v, d);
  b.sync();
  if (w.thread_rank() == 0) atomicAdd(x + n, v);
}
__global__ void clocks(long long* o, int n) {
  long long t = clock64();
  int s = clock();
  for (int i = 0; i < n; i++) s = s * 3 + 1;
  o[threadIdx.x] = clock64() - t + s;
}
__global__ void conv(const float* x, double* d, int* i, __half* h, unsigned char* c, int n) {
  int k = threadIdx.x;
  float v = x[k];
  d[k] = v;
  i[k] = (int)v;
  h[k] = __float2half(v);
  c[k] = (unsigned char)v;
  d[k + n] = i[k + n];
  i[k + 2 * n] = __double2int_rn(d[k + 2 * n]);
  i[k + 3 * n] = rintf(v);
  ((long long*)i)[k + 4 * n] = (long long)v;
}
}
