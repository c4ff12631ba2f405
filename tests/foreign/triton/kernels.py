# SPDX-License-Identifier: Apache-2.0
"""Triton kernels that judge.py compiles without a GPU and runs in the executor.

A row of CASES is one run: the kernel, its constants, the types of its arguments, the grid, and the arguments as
`ptxloom sanitize` takes them. `f32[1000]` is random data of that shape, `out:f32[1000]` is an output.
"""
from dataclasses import dataclass, field

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + column, mask=column < n, other=float("-inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + column, powers / tl.sum(powers, axis=0), mask=column < n)


@triton.jit
def layer_norm(x, weight, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + column, mask=column < n, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / n
    centred = tl.where(column < n, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + 1e-5)
    result = centred * scale * tl.load(weight + column, mask=column < n, other=0.0)
    tl.store(out + row * n + column, result, mask=column < n)


@triton.jit
def transpose(x, out, m, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)
    tile = tl.load(x + i[:, None] * n + j[None, :], mask=(i[:, None] < m) & (j[None, :] < n))
    tl.store(out + j[:, None] * m + i[None, :], tl.trans(tile), mask=(j[:, None] < n) & (i[None, :] < m))


@triton.jit
def scan(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + column, mask=column < n, other=0)
    tl.store(out + row * n + column, tl.cumsum(values, axis=0), mask=column < n)


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0) & (BINS - 1), BINS)
    tl.store(out + tl.program_id(0) * BINS + tl.arange(0, BINS), counts)


@triton.jit
def atomic_sum(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def spin_lock_sum(x, total, lock, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def matmul(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    accumulator = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        at = first + tl.arange(0, K)
        left = tl.load(a + i[:, None] * k + at[None, :], mask=(i[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None] * n + j[None, :], mask=(at[:, None] < k) & (j[None, :] < n), other=0.0)
        accumulator = tl.dot(left, right, accumulator)
    tl.store(out + i[:, None] * n + j[None, :], accumulator, mask=(i[:, None] < m) & (j[None, :] < n))


@triton.jit
def matmul_by_descriptors(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    right = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    result = tl.make_tensor_descriptor(out, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    i = tl.program_id(0) * M
    j = tl.program_id(1) * N
    accumulator = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        accumulator = tl.dot(left.load([i, first]), right.load([j, first]).T, accumulator)
    result.store([i, j], accumulator.to(tl.float16))


@triton.jit
def attention(q, k, v, out, length, scale, ROWS: tl.constexpr, STEP: tl.constexpr, WIDTH: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, WIDTH)
    queries = tl.load(q + i[:, None] * WIDTH + d[None, :], mask=i[:, None] < length, other=0.0)
    largest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    accumulator = tl.zeros((ROWS, WIDTH), tl.float32)
    for first in range(0, length, STEP):
        j = first + tl.arange(0, STEP)
        keys = tl.load(k + j[None, :] * WIDTH + d[:, None], mask=j[None, :] < length, other=0.0)
        scores = tl.where(j[None, :] < length, tl.dot(queries, keys) * scale, float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp(scores - larger[:, None])
        shrink = tl.exp(largest - larger)
        values = tl.load(v + j[:, None] * WIDTH + d[None, :], mask=j[:, None] < length, other=0.0)
        accumulator = tl.dot(powers.to(values.dtype), values, accumulator * shrink[:, None])
        total = total * shrink + tl.sum(powers, 1)
        largest = larger
    tl.store(out + i[:, None] * WIDTH + d[None, :], accumulator / total[:, None], mask=i[:, None] < length)


@dataclass
class Case:
    name: str
    kernel: object
    types: list
    constants: dict
    grid: tuple
    arguments: list
    targets: tuple = (80, 90, 120)
    options: dict = field(default_factory=dict)


def _matmul(name, kernel, type_, m, n, k, tile, targets=(80, 90, 120), **options):
    transposed = kernel is matmul_by_descriptors
    size = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "i8": "s8"}[type_]
    result = "f16" if transposed else "f32"
    return Case(name, kernel, [f"*{type_}", f"*{type_}", "*fp16" if transposed else "*fp32", "i32", "i32", "i32"],
                dict(zip("MNK", tile)), (-(-m // tile[0]), -(-n // tile[1]), 1),
                [f"{size}[{m},{k}]", f"{size}[{n if transposed else k},{k if transposed else n}]",
                 f"out:{result}[{m},{n}]", m, n, k], targets, options)


CASES = [
    Case("add", add, ["*fp32", "*fp32", "*fp32", "i32"], {"BLOCK": 256}, (4, 1, 1),
         ["f32[1000]", "f32[1000]", "out:f32[1000]", 1000]),
    Case("softmax", softmax, ["*fp32", "*fp32", "i32"], {"BLOCK": 1024}, (7, 1, 1),
         ["f32[7,777]", "out:f32[7,777]", 777]),
    Case("softmax of 8 warps", softmax, ["*fp16", "*fp16", "i32"], {"BLOCK": 4096}, (3, 1, 1),
         ["f16[3,3001]", "out:f16[3,3001]", 3001], options={"num_warps": 8}),
    Case("layer norm", layer_norm, ["*fp16", "*fp16", "*fp16", "i32"], {"BLOCK": 1024}, (5, 1, 1),
         ["f16[5,900]", "f16[900]", "out:f16[5,900]", 900]),
    Case("transpose", transpose, ["*fp16", "*fp16", "i32", "i32"], {"TILE": 64}, (2, 3, 1),
         ["f16[100,150]", "out:f16[150,100]", 100, 150]),
    Case("scan", scan, ["*i32", "*i32", "i32"], {"BLOCK": 1024}, (3, 1, 1), ["s32[3,1000]", "out:s32[3,1000]", 1000]),
    Case("sort", sort, ["*i32", "*i32"], {"BLOCK": 512}, (3, 1, 1), ["s32[1536]", "out:s32[1536]"]),
    Case("histogram", histogram, ["*i32", "*i32", "i32"], {"BLOCK": 1024, "BINS": 64}, (3, 1, 1),
         ["s32[3000]", "out:s32[3,64]", 3000]),
    Case("atomic sum", atomic_sum, ["*fp32", "*fp32", "i32"], {"BLOCK": 256}, (5, 1, 1),
         ["f32[1234]", "zero:f32[1]", 1234]),
    Case("sum under a lock", spin_lock_sum, ["*fp32", "*fp32", "*i32", "i32"], {"BLOCK": 256}, (5, 1, 1),
         ["f32[1234]", "zero:f32[1]", "zero:s32[1]", 1234]),
    _matmul("matmul f16, 3 stages", matmul, "fp16", 150, 130, 200, (64, 64, 32), num_stages=3),
    _matmul("matmul bf16, 4 stages, 8 warps", matmul, "bf16", 128, 128, 256, (128, 128, 32), num_stages=4, num_warps=8),
    _matmul("matmul tf32", matmul, "fp32", 70, 64, 100, (64, 64, 32), num_stages=2),
    _matmul("matmul by descriptors", matmul_by_descriptors, "fp16", 128, 192, 256, (64, 64, 64), (90, 120), num_stages=3),
    Case("attention", attention, ["*fp16"] * 4 + ["i32", "fp32"], {"ROWS": 64, "STEP": 64, "WIDTH": 64}, (2, 1, 1),
         ["f16[128,64]"] * 3 + ["out:f16[128,64]", 128, 0.125], options={"num_stages": 3}),
]
