# SPDX-License-Identifier: Apache-2.0
"""Loops of Triton kernels for loop_model: compiles them without a GPU, into cubins with the interface of frame.cuh.

usage: triton_loops.py FOLDER [--target sm_90a] [--ptxas PTXAS]

Needs `pip install triton` and ptxas. FOLDER gets NAME.WARPS.cubin for each kernel and number of warps; then

    loop_model measure MEASURED.jsonl FOLDER/*.cubin        needs a GPU
    loop_model score MEASURED.jsonl FOLDER/*.cubin

`x` holds 4096 random floats. A kernel reads the clock before and after its loop of n iterations, between barriers, and
stores both for each of its warps.
"""
import argparse
import pathlib
import re
import subprocess

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def clock():
    tl.debug_barrier()
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def note(times, begin, end, WARPS: tl.constexpr):
    warp = 2 * (tl.program_id(0) * WARPS + tl.arange(0, WARPS))
    tl.store(times + warp, begin)
    tl.store(times + warp + 1, end)


@triton.jit
def halves(x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    return tl.load(x + (row[:, None] * COLUMNS + column[None, :]) % 4096).to(tl.float16)


@triton.jit
def triton_polynomial(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    at = tl.arange(0, SIZE)
    value = tl.load(x + at % 4096)
    total = value
    begin = clock()
    for _ in range(n):
        total = ((total * value + 0.25) * value - 0.5) * value + 0.125
    end = clock()
    tl.store(out + (tl.program_id(0) * SIZE + at) % 65536, total)
    note(times, begin, end, WARPS)


@triton.jit
def triton_gelu(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    at = tl.arange(0, SIZE)
    total = tl.load(x + at % 4096)
    begin = clock()
    for _ in range(n):
        total = 0.5 * total * (1 + tl.erf(total * 0.70710678)) + 0.25
    end = clock()
    tl.store(out + (tl.program_id(0) * SIZE + at) % 65536, total)
    note(times, begin, end, WARPS)


@triton.jit
def triton_softmax(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    at = tl.arange(0, SIZE)
    value = tl.load(x + at % 4096)
    begin = clock()
    for _ in range(n):
        powers = tl.exp(value - tl.max(value, axis=0))
        value = powers / tl.sum(powers, axis=0)
    end = clock()
    tl.store(out + (tl.program_id(0) * SIZE + at) % 65536, value)
    note(times, begin, end, WARPS)


@triton.jit
def triton_layer_norm(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    at = tl.arange(0, SIZE)
    value = tl.load(x + at % 4096)
    begin = clock()
    for _ in range(n):
        centred = value - tl.sum(value, axis=0) / SIZE
        value = centred / tl.sqrt(tl.sum(centred * centred, axis=0) / SIZE + 1e-5)
    end = clock()
    tl.store(out + (tl.program_id(0) * SIZE + at) % 65536, value)
    note(times, begin, end, WARPS)


@triton.jit
def triton_row_sums(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    """Loads from L1."""
    at = tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float32)
    begin = clock()
    for i in range(n):
        total += tl.load(x + (at + i * 16) % 4096)
    end = clock()
    tl.store(out + (tl.program_id(0) * SIZE + at) % 65536, total)
    note(times, begin, end, WARPS)


@triton.jit
def triton_prefix(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    at = tl.arange(0, SIZE)
    value = tl.load(x + at % 4096)
    begin = clock()
    for _ in range(n):
        value = tl.cumsum(value * 0.001, axis=0)
    end = clock()
    tl.store(out + (tl.program_id(0) * SIZE + at) % 65536, value)
    note(times, begin, end, WARPS)


@triton.jit
def triton_argmax(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    at = tl.arange(0, SIZE)
    value = tl.load(x + at % 4096)
    begin = clock()
    for _ in range(n):
        place = tl.argmax(value, axis=0)
        value = tl.where(at == place, value * 0.5, value)
    end = clock()
    tl.store(out + (tl.program_id(0) * SIZE + at) % 65536, value)
    note(times, begin, end, WARPS)


@triton.jit
def triton_unpack(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    """Numbers of four bits, with a scale."""
    at = tl.arange(0, SIZE)
    scale = tl.load(x + at % 4096)
    words = (scale * 1e6).to(tl.int32)
    total = scale
    begin = clock()
    for i in range(n):
        for shift in tl.static_range(0, 32, 4):
            total += (((words >> shift) & 15) - 8).to(tl.float32) * scale
        words = words * 1664525 + i
    end = clock()
    tl.store(out + (tl.program_id(0) * SIZE + at) % 65536, total)
    note(times, begin, end, WARPS)


@triton.jit
def triton_product(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    """A chain of matrix products, whose operands do not change."""
    a, b = halves(x, SIZE, 64), halves(x + 7, 64, SIZE)
    total = tl.zeros([SIZE, SIZE], tl.float32)
    begin = clock()
    for _ in range(n):
        total = tl.dot(a, b, total)
    end = clock()
    row, column = tl.arange(0, SIZE), tl.arange(0, SIZE)
    tl.store(out + (row[:, None] * SIZE + column[None, :]) % 1024, total)
    note(times, begin, end, WARPS)


@triton.jit
def triton_attention(x, out, times, n, SIZE: tl.constexpr, WARPS: tl.constexpr):
    """Scores, softmax over what came so far, and the product with the values."""
    q, k, v = halves(x, SIZE, 64), halves(x + 7, 64, 64), halves(x + 11, 64, 64)
    total = tl.zeros([SIZE, 64], tl.float32)
    most = tl.full([SIZE], -1e30, tl.float32)
    weight = tl.zeros([SIZE], tl.float32)
    begin = clock()
    for _ in range(n):
        score = tl.dot(q, k)
        larger = tl.maximum(most, tl.max(score, axis=1))
        powers = tl.exp2(score - larger[:, None])
        factor = tl.exp2(most - larger)
        weight = weight * factor + tl.sum(powers, axis=1)
        total = tl.dot(powers.to(tl.float16), v, total * factor[:, None])
        most = larger
    end = clock()
    row, column = tl.arange(0, SIZE), tl.arange(0, 64)
    tl.store(out + (row[:, None] * 64 + column[None, :]) % 1024, total / weight[:, None])
    note(times, begin, end, WARPS)


# Kernel, elements (or rows) of a warp, numbers of warps.
KERNELS = [
    (triton_polynomial, 256, (1, 4, 8, 16)), (triton_gelu, 128, (1, 4, 8, 16)), (triton_softmax, 128, (1, 4, 8)),
    (triton_layer_norm, 128, (1, 4, 8)), (triton_row_sums, 128, (1, 4, 8, 16)), (triton_prefix, 128, (1, 4, 8)),
    (triton_argmax, 128, (1, 4, 8)), (triton_unpack, 128, (1, 4, 8, 16)), (triton_product, 16, (4, 8)),
    (triton_attention, 16, (4, 8)),
]


def static_shared(ptx, size):
    """loop_model launches without dynamic shared memory."""
    return re.sub(r"\.extern( \.shared \.align \d+ \.b8 \w+)\[\];", rf"\1[{max(size, 1)}];", ptx)


def keep_loops(ptx):
    """An iteration of the machine code must be one of the source."""
    def mark(match):
        loops = re.search(rf"\bbra(\.uni)?\s+{re.escape(match[1])};", ptx[match.end():])
        return match[0] + ('\n\t.pragma "nounroll";' if loops else "")
    return re.sub(r"^(\$\w+):.*$", mark, ptx, flags=re.MULTILINE)


def compile_one(kernel, size, warps, options, folder):
    signature = {"x": "*fp32", "out": "*fp32", "times": "*i64", "n": "i32", "SIZE": "constexpr", "WARPS": "constexpr"}
    source = ASTSource(kernel, signature, {"SIZE": size * warps, "WARPS": warps})
    chip = int(re.search(r"\d+", options.target)[0])
    how = {"num_warps": warps, "num_stages": 1, "ptx_version": 86 if chip <= 100 else 88}
    compiled = triton.compile(source, target=GPUTarget("cuda", chip, 32), options=how)
    stem = folder / f"{kernel.__name__}.{warps}"
    ptx = stem.with_name(stem.name + ".ptx")
    text = static_shared(keep_loops(compiled.asm["ptx"]), compiled.metadata.shared)
    ptx.write_text(text, encoding="utf-8")
    cubin = stem.with_name(stem.name + ".cubin")
    subprocess.run([options.ptxas, f"-arch={options.target}", ptx, "-o", cubin], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--ptxas", default="ptxas")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for kernel, size, counts in KERNELS:
        for warps in counts:
            compile_one(kernel, size, warps, options, options.folder)
            print(f"{kernel.__name__}, {warps} warps")


if __name__ == "__main__":
    main()
