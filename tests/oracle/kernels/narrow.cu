// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
extern "C" __global__ void half_math(const half2* a, const half* h, half2* d, float* f, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  half2 x = a[i], y = a[i + n];
  half2 r = __hfma2(x, y, __hadd2_rn(x, y));
  r = __hmax2_nan(r, __hmin2(x, y));
  r = h2exp2(h2rcp(r));
  r = __hmul2_sat(r, h2sqrt(x));
  d[i] = __hcmadd(r, x, y);
  half s = h[i];
  s = hsin(s) + hlog(s) * htanh_approx(s) - hfloor(s);
  f[i] = __half2float(s) + (__hlt(s, h[1]) ? 1.0f : 2.0f) + __half2int_rn(s) + __half2uint_rz(h[2]);
  atomicAdd(d + n, x);
  d[i + n] = __shfl_xor_sync(0xffffffffu, r, 3);
  f[i + n] = (__hbgt2(x, y) ? 3 : 4) + __hisnan(s);
}
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void bfloat_math(const __nv_bfloat162* a, __nv_bfloat162* d, float* f, int n) {
  const int i = threadIdx.x;
  __nv_bfloat162 x = a[i], y = a[i + n];
  d[i] = __hfma2_relu(x, y, __hneg2(__habs2(x)));
  d[i + 1] = __hmax2(x, h2exp(y));
  f[i] = __bfloat162float(x.x * y.y) + __bfloat162float(hrsqrt(x.y));
  atomicAdd(d + n, x);
  d[i + 7] = __floats2bfloat162_rn(f[3], f[4]);
}
#endif
extern "C" __global__ void narrow(const float4* a, unsigned char* o, float2* d, int n) {
  const int i = threadIdx.x;
  float4 v = a[i];
  __nv_fp8x4_e4m3 e4(v);
  __nv_fp8x4_e5m2 e5(v);
  __nv_fp6x4_e2m3 s2(v);
  __nv_fp6x4_e3m2 s3(v);
  __nv_fp4x4_e2m1 f4(v);
  __nv_fp8_e8m0 u8(v.x);
  *(unsigned*)(o + 4 * i) = e4.__x ^ e5.__x ^ s2.__x ^ s3.__x ^ f4.__x ^ u8.__x;
  d[i] = make_float2(float(__nv_fp8_e4m3(v.y)), float(__nv_fp4_e2m1(v.z)));
  d[i + n] = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(*(unsigned short*)o, __NV_E5M2)));
  d[i + 2 * n] = __half22float2(__half2(__nv_cvt_fp4x2_to_halfraw2(o[1], __NV_E2M1)));
  d[i + 3 * n] = __half22float2(__half2(__nv_cvt_fp6x2_to_halfraw2(*(unsigned short*)(o + 2), __NV_E3M2)));
}
