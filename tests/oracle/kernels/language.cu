// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <cstdio>
struct Aggregate { int a[5]; double d; };
struct Shape { virtual __device__ float area() const = 0; int id; };
struct Square : Shape { float s; __device__ Square(float x) : s(x) { id = 1; } __device__ float area() const override { return s * s; } };
struct Circle : Shape { float r; __device__ Circle(float x) : r(x) { id = 2; } __device__ float area() const override { return 3.14f * r * r; } };
__device__ __noinline__ Aggregate twist(Aggregate x, int k) { Aggregate y = x; for (int i = 0; i < 5; i++) y.a[i] += k * x.a[(i + k) % 5]; y.d *= 2; return y; }
__device__ __noinline__ int factorial(int k) { return k > 1 ? k * factorial(k - 1) : 1; }
__device__ __noinline__ int negate(int k) { return -k; }
__device__ int (*table[3])(int) = {factorial, negate, factorial};
__device__ int matrix[2][3] = {{1, 2, 3}, {4, 5, -6}};
__device__ const char* names[] = {"one", "two", "three"};
__constant__ double weights[4] = {0.1, -2.5, 1e300, 0};
__managed__ int shared_with_host = 7;
__device__ int* inside = &matrix[1][1];
__device__ float4 wide = {1, 2, 3, 4};
extern "C" __global__ void __launch_bounds__(256, 2) calls(Aggregate* p, int n, float* f) {
  extern __shared__ double dynamic[];
  Aggregate s = twist(p[threadIdx.x], n);
  s = twist(s, n + 1);
  p[threadIdx.x] = s;
  p[0].a[1] = factorial(n) + table[n % 3](3) + *inside + matrix[n][1];
  printf("%d %s %f\n", n, names[n], s.d);
  assert(n > 3);
  alignas(16) char a[sizeof(Square)], b[sizeof(Circle)];
  Shape* shapes[2] = {new (a) Square(f[0]), new (b) Circle(f[1])};
  f[threadIdx.x] = shapes[n & 1]->area() + weights[n] + wide.y;
  dynamic[threadIdx.x] = s.d;
  __syncthreads();
  switch (n) {
    case 0: p[1].a[0] = 3; break;
    case 1: p[2].a[0] = factorial(7); break;
    case 2: p[1].a[4] = n; break;
    case 3: p[7].a[4] = n * n; break;
    case 4: p[6].d = dynamic[4]; break;
    case 5: p[4].d = sin(p[5].d); break;
    case 6: p[8].d = factorial(9); break;
    default: shared_with_host = n; break;
  }
}
extern "C" __global__ void assembly(unsigned* o, float* f, unsigned long long l, int n) {
  unsigned v, w;
  asm("{ .reg .pred p; .reg .b32 t<3>; setp.eq.s32 p, %1, 3; @p mov.u32 t1, 7; @!p mov.u32 t1, 9; add.u32 %0, t1, WARP_SZ; }" : "=r"(v) : "r"(n));
  asm volatile("{ .reg .pred p; WAIT: setp.eq.s32 p, %0, 3; @p bra WAIT; }" ::"r"(n));
  asm volatile("{ .reg .pred p; WAIT: setp.eq.s32 p, %0, 5; @p bra WAIT; { .reg .b32 p; mov.b32 p, %1; st.global.u32 [%2], p; } }" ::"r"(n), "r"(v), "l"(o));
  asm("mov.u32 %0, %%laneid; /* comment */ // another\n" : "=r"(w));
  asm("{ .local .align 8 .b8 buffer[16]; .reg .u64 a; mov.u64 a, buffer; st.local.u32 [a+4], %1; ld.local.u32 %0, [buffer+4]; }" : "=r"(w) : "r"(w));
  asm("{ .reg .f32 x; add.f32 x, %1, 0f3F800000; mul.f32 %0, x, 1.5; }" : "=f"(f[0]) : "f"(f[1]));
  asm("vadd4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(v), "r"(w), "r"(n));
  o[threadIdx.x] = v ^ w ^ __dp4a(v, w, (unsigned)n) ^ __vabsdiffu4(v, w) ^ __funnelshift_l(v, w, n) ^ __brev(v) ^ __ffs(n) ^ __clz(n);
  o[1] = __vmaxs2(v, w) + __byte_perm(v, w, 0x3210) + __popcll(l) + __mulhi(n, 3) + atomicCAS(o, v, w) + atomicMax(o + 1, v);
  o[2] = __match_any_sync(~0u, n) + __ballot_sync(~0u, n > 3) + __activemask();
  f[2] = __expf(f[3]) + sinf(f[4]) + __fdividef(f[5], f[6]) + rsqrtf(f[7]) + powf(f[8], f[9]) + fmaf(f[1], f[2], f[3]);
  f[3] = __double2float_rz(__dsqrt_rn(double(f[2]))) + __int_as_float(n) + remainderf(f[1], f[2]) + __frcp_ru(f[4]);
  __nanosleep(20);
  __threadfence_system();
  o[3] = clock() + (unsigned)clock64() + __ldg(o + 4) + __ldcs(o + 5) + __ldcv(o + 6);
  __stwt(o + 7, v);
}
extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* o) {
  const int i = threadIdx.x;
  float4 a = tex2D<float4>(t, i * 0.5f, 0.25f), b = tex3D<float4>(t, 1, 2, i), c = tex1Dfetch<float4>(t, i);
  float4 d = tex2DLod<float4>(t, 1, 2, 3), e = texCubemap<float4>(t, 1, 2, i), g = tex2Dgather<float4>(t, 1, 2, 1);
  float4 h = tex2DGrad<float4>(t, 1, 2, make_float2(1, i), make_float2(3, 4)), k = tex2DLayered<float4>(t, 1, 2, 3);
  surf2Dwrite(a.x + b.y, s, i * 4, 2);
  o[i] = make_float4(a.x + c.x + d.x, b.y + e.y, c.z + g.z + h.x, d.w + k.x + surf1Dread<float>(s, i * 4));
}
