// SPDX-License-Identifier: Apache-2.0
#include <alloca.h>
// Initial values that are addresses, in structures with and without padding; parameters of all sizes; tables of branches.
__device__ int number = 5;
__device__ double far[100];
__device__ __noinline__ float square(float x) { return x * x + 1; }
typedef float (*Function)(float);
struct Mixed { char c; Function f; short s; int* p; double d; const char* text; };
struct __attribute__((packed)) Packed { char c; int* p; short s; double* q; Function f; };
__device__ Function functions[3] = {square, nullptr, square};
__device__ Mixed mixed[2] = {{'x', square, 3, &number, 2.5, nullptr}, {0, nullptr, -7, &number + 1, -0.0, nullptr}};
__device__ Packed packed[2] = {{1, &number, 0x1234, far + 7, square}, {2, &number + 1, -1, nullptr, nullptr}};
__constant__ Packed constant = {9, &number, 5, far + 3, square};
__constant__ __align__(64) const char* names[] = {"alpha", "beta\n\x01\xff", ""};
static __device__ __align__(128) unsigned char bytes[300] = {1, 2, 255};
__device__ __int128 huge = ((__int128)0x123456789abcdef0ull << 64) | 0xfedcba9876543210ull;
extern __device__ double of_others[];
extern __device__ int another(int, float*);
namespace { __device__ int hidden = 3; }
struct Large { int a[90]; double b; };
struct Small { char a[3]; };
struct alignas(32) Aligned { float4 a, b; };
__device__ __noinline__ Large large(Large x, Small s, Aligned a, __int128 w, bool flag, char c, short h) {
  x.a[s.a[1]] = a.b.x + (long long)w + flag + c + h;
  return x;
}
__device__ __noinline__ Small small(float4 x, int2 y) { return {(char)x.x, (char)y.y, 3}; }
__device__ __noinline__ void leave() { asm volatile("exit;"); __builtin_unreachable(); }
__device__ int branches(int n, int* a) {
#define CASE(i) case i: a[i] = i * i + a[(i * 7) % 50]; a[i + 1] ^= 3;
  switch (n) {
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) break;
    CASE(6) CASE(7) CASE(8) break;
    CASE(9) CASE(11) CASE(12) CASE(13) break;
    CASE(14) CASE(15) CASE(17) return 3;
    CASE(20) CASE(21) CASE(22)
    default: a[0] = 1;
  }
  return a[n & 7];
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define BOUNDS __launch_bounds__(256, 1, 4)
#else
#define BOUNDS __launch_bounds__(256, 1)
#endif
extern "C" __global__ void BOUNDS uses(int* a, float* f, Large l, Aligned al, const __grid_constant__ Large g, int n) {
  static int kept = 4;
  const Small s = small(al.a, int2{n, 3});
  const Large r = large(l, s, al, huge, n > 3, s.a[0], n);
  a[0] = r.a[n] + branches(n, a) + mixed[n].s + packed[n].s + *packed[n].p + names[n][2] + bytes[n] + hidden + g.a[n];
  a[1] = another(n, f) + of_others[n] + (kept += n);
  f[0] = functions[n](f[1]) + mixed[n].f(f[2]) + constant.f(3.f);
  char* room = (char*)alloca(n);
  for (int i = 0; i < n; i++) room[i] = i;
  a[2] = room[n / 2] + bytes[room[1]];
  if (n == 77) leave();
  huge += n;
#pragma unroll 1
  for (int i = 0; i < n; i++) a[i] += i;
#pragma unroll 4
  for (int i = 0; i < n; i++) f[i] *= i;
  const float4 v = ((float4*)f)[n];
  f[9] = v.x + v.w;
  __prof_trigger(3);
}
extern "C" __global__ void __maxnreg__(40) child(int* a) { a[threadIdx.x] = threadIdx.y + blockIdx.z * gridDim.y + warpSize; }
extern "C" __global__ void parent(int* a, int n) {
  child<<<n, 32, 16>>>(a);
  child<<<1, 1, 0, cudaStreamTailLaunch>>>(a + 1);
  child<<<dim3(1, n), 64, 0, cudaStreamFireAndForget>>>(a + 2);
  a[1] = cudaGetLastError();
}
