// SPDX-License-Identifier: Apache-2.0
// What kernels of CUDA C++ use beside instructions: see language_test.cpp.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

extern "C" __global__ void prints(int* out, const double* in) {
  const int t = threadIdx.x;
  out[t] = 7;
  if (t % 3 == 1) out[t] = printf("%d:%6.2f|%-5s|%llu|%c%%\n", t, in[t], t % 2 ? "odd" : "even", 1ull << (20 + t), 'a' + t);
  if (t % 3 == 2) out[t] = printf("no arguments\n");
}

extern "C" __global__ void asserts(int* data, int limit) {
  assert(data[threadIdx.x] < limit && "too large");
  data[threadIdx.x] *= 2;
}

// Three phases that need the barrier of the grid.
extern "C" __global__ void grid_sums(int* data, int* out) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned rank = static_cast<unsigned>(grid.thread_rank()), size = static_cast<unsigned>(grid.size());
  data[rank] += 1;
  grid.sync();
  out[rank] = data[(rank + 1) % size] * 10 + data[size - 1 - rank];
  grid.sync();
  data[rank] = out[(rank + 5) % size];
}

// It calls itself twice, and passes pointers to its own array: each call must have one.
__device__ __noinline__ int tree(int depth, int value, const int* above) {
  int mine[4];
  for (int i = 0; i < 4; ++i) mine[i] = value * (i + 1) + above[i];
  if (depth == 0) return mine[value & 3];
  const int left = tree(depth - 1, value + 1, mine);
  const int right = tree(depth - 1, value + 2, mine);
  return left + 3 * right + mine[depth & 3] + above[0];
}

extern "C" __global__ void recurses(int* out) {
  const int above[4] = {1, 2, 3, static_cast<int>(threadIdx.x)};
  out[threadIdx.x] = tree(static_cast<int>(threadIdx.x % 5), static_cast<int>(threadIdx.x), above);
}

__device__ __noinline__ int is_odd(int n);
__device__ __noinline__ int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
__device__ __noinline__ int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1) * 2; }
extern "C" __global__ void calls_each_other(int* out) { out[threadIdx.x] = is_even(static_cast<int>(threadIdx.x)); }

struct Shape {
  __device__ virtual int area(int scale) const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ __noinline__ int area(int scale) const override { return side * side * scale; }
};
struct Pair : Shape {
  const Shape *a, *b;
  __device__ Pair(const Shape* first, const Shape* second) : a(first), b(second) {}
  __device__ __noinline__ int area(int scale) const override { return a->area(scale) + 2 * b->area(scale + 1); }
};

// A virtual function that calls itself on other objects; the destructors, which nothing calls, use free.
extern "C" __global__ void virtual_calls(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const Square one(t), two(t + 1);
  const Pair inner(&one, &two), outer(&inner, t % 2 == 0 ? static_cast<const Shape*>(&inner) : &one);
  const Shape* shape = &outer;
  out[t] = shape->area(3);
}

extern "C" __global__ void allocates(int** out) {
  out[threadIdx.x] = static_cast<int*>(malloc(4));
}

extern "C" __global__ void samples(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 1.0f);
}

extern "C" __global__ void reads_surface(cudaSurfaceObject_t surface, float* out) {
  out[threadIdx.x] = surf2Dread<float>(surface, threadIdx.x * 4, 1);
}
