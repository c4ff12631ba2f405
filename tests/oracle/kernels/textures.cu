// SPDX-License-Identifier: Apache-2.0
template <class T> __global__ void fetches(cudaTextureObject_t t, T* o, float x, float y, float z, int n) {
  const float2 u{x, y}, v{z, x};
  const float4 p{x, y, z, 0}, q{y, z, x, 0};
  o[0] = tex1D<T>(t, x);
  o[1] = tex1DLod<T>(t, x, y);
  o[2] = tex1DGrad<T>(t, x, y, z);
  o[3] = tex1DLayered<T>(t, x, n);
  o[4] = tex1DLayeredLod<T>(t, x, n, y);
  o[5] = tex1Dfetch<T>(t, n);
  o[6] = tex2D<T>(t, x, y);
  o[7] = tex2DLayeredGrad<T>(t, x, y, n, u, v);
  o[8] = tex3DLod<T>(t, x, y, z, y);
  o[9] = tex3DGrad<T>(t, x, y, z, p, q);
  o[10] = texCubemap<T>(t, x, y, z);
  o[11] = texCubemapLayered<T>(t, x, y, z, n);
  o[12] = texCubemapLod<T>(t, x, y, z, x);
  o[13] = texCubemapGrad<T>(t, x, y, z, p, q);
  o[14] = texCubemapLayeredLod<T>(t, x, y, z, n, y);
  bool resident;
  o[15] = tex3D<T>(t, x, y, z, &resident);
  if (resident) o[16] = tex2DLod<T>(t, x, y, z, &resident);
  if (resident) o[17] = tex2DGrad<T>(t, x, y, u, v, &resident);
}
template __global__ void fetches(cudaTextureObject_t, float*, float, float, float, int);
template __global__ void fetches(cudaTextureObject_t, int2*, float, float, float, int);
template __global__ void fetches(cudaTextureObject_t, uchar4*, float, float, float, int);
template __global__ void fetches(cudaTextureObject_t, short*, float, float, float, int);
extern "C" __global__ void gathers(cudaTextureObject_t t, float4* f, int4* s, uint4* u, float x, float y) {
  bool resident;
  f[0] = tex2Dgather<float4>(t, x, y, 0);
  s[0] = tex2Dgather<int4>(t, x, y, 1);
  u[0] = tex2Dgather<uint4>(t, x, y, 2);
  f[1] = tex2Dgather<float4>(t, x, y, &resident, 3);
  s[1].x = resident;
}
template <class T> __device__ void reads_and_writes(cudaSurfaceObject_t s, T* o, int x, int y, int z, cudaSurfaceBoundaryMode mode) {
  o[0] = surf1Dread<T>(s, x, mode);
  o[1] = surf2Dread<T>(s, x, y, mode);
  o[2] = surf3Dread<T>(s, x, y, z, mode);
  o[3] = surf1DLayeredread<T>(s, x, z, mode);
  o[4] = surf2DLayeredread<T>(s, x, y, z, mode);
  o[5] = surfCubemapread<T>(s, x, y, z, mode);
  o[6] = surfCubemapLayeredread<T>(s, x, y, z, mode);
  surf1Dwrite(o[1], s, x, mode);
  surf2Dwrite(o[2], s, x, y, mode);
  surf3Dwrite(o[3], s, x, y, z, mode);
  surf1DLayeredwrite(o[4], s, x, z, mode);
  surf2DLayeredwrite(o[5], s, x, y, z, mode);
  surfCubemapwrite(o[6], s, x, y, z, mode);
  surfCubemapLayeredwrite(o[7], s, x, y, z, mode);
}
template <class T> __global__ void surfaces(cudaSurfaceObject_t s, T* o, int x, int y, int z) {
  reads_and_writes(s, o, x, y, z, cudaBoundaryModeTrap);
  reads_and_writes(s, o, x, y, z, cudaBoundaryModeZero);
  reads_and_writes(s, o, x, y, z, cudaBoundaryModeClamp);
}
template __global__ void surfaces(cudaSurfaceObject_t, char*, int, int, int);
template __global__ void surfaces(cudaSurfaceObject_t, short2*, int, int, int);
template __global__ void surfaces(cudaSurfaceObject_t, int4*, int, int, int);
template __global__ void surfaces(cudaSurfaceObject_t, long long*, int, int, int);
template __global__ void surfaces(cudaSurfaceObject_t, longlong2*, int, int, int);
