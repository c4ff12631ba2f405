// SPDX-License-Identifier: Apache-2.0
// What samples/softmax.cpp builds, in CUDA C++ with inline PTX. docs/builder.md shows both.

// guide softmax {
// One thread block of 256 threads a row.
__device__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <class Combine>
__device__ float reduce(float x, float* partial, Combine combine) {
  for (int apart : {16, 8, 4, 2, 1}) x = combine(x, __shfl_xor_sync(0xffffffff, x, apart));
  __syncthreads();  // the last reduction has been read
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = partial[0];
#pragma unroll
  for (int i = 1; i < 8; ++i) x = combine(x, partial[i]);
  return x;
}

extern "C" __global__ void __launch_bounds__(256) softmax(unsigned columns, const float* in, float* out) {
  __shared__ float partial[8];
  unsigned row = blockIdx.x * columns;
  float top = -INFINITY;
  for (unsigned i = threadIdx.x; i < columns; i += 256) top = fmaxf(top, in[row + i]);
  top = reduce(top, partial, [](float a, float b) { return fmaxf(a, b); });

  auto power = [&](unsigned i) { return exp2_approximate((in[row + i] - top) * 1.44269504F); };
  float sum = 0;
  for (unsigned i = threadIdx.x; i < columns; i += 256) sum += power(i);
  sum = reduce(sum, partial, [](float a, float b) { return a + b; });
  float scale;
  asm("rcp.approx.f32 %0, %1;" : "=f"(scale) : "f"(sum));
  for (unsigned i = threadIdx.x; i < columns; i += 256) out[row + i] = power(i) * scale;
}
// }
