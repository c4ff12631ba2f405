#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the machine instructions of our fallbacks and of those in the CUDA headers, and prints a table.

    lower_sass.py KERNELS NVCC NVDISASM [TARGET...]

KERNELS is build/tests/bench/lower_kernels. Each kernel loads the operands of one thread, converts and stores; loads,
stores and addresses are counted for both sides, padding and the branch to itself behind the end are not. ptxas is the one
beside NVCC. Exit code 1: a fallback of ours is longer than that of the headers.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# Of the headers' storage types: e4m3 is of fp8, e2m3 of fp6.
NARROW = {"e4m3": "fp8", "e5m2": "fp8", "e2m3": "fp6", "e3m2": "fp6"}
SOURCES = {"f32": ("float2", "float2"), "f16x2": ("__half2_raw", "halfraw2"), "bf16x2": ("__nv_bfloat162_raw", "bfloat16raw2")}

INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", re.M)


def kernel_text(source, result, call):
    return (f"#include <cuda_fp8.h>\n#include <cuda_fp6.h>\nextern \"C\" __global__ void convert(const {source}* in, {result}* out)"
            f"\n{{\n  out[threadIdx.x] = {call};\n}}\n")


def conversions():
    """Opcodes with the kernel that does the same by the headers."""
    for narrow, width in NARROW.items():
        name = narrow.upper()
        for source, (type_, word) in SOURCES.items():
            how = f"__NV_SATFINITE, __NV_{name}" if width == "fp8" else f"__NV_{name}, cudaRoundNearest"
            yield (f"cvt.rn.satfinite.{narrow}x2.{source}",
                   kernel_text(type_, "unsigned short", f"__nv_cvt_{word}_to_{width}x2(in[threadIdx.x], {how})"))
        yield (f"cvt.rn.f16x2.{narrow}x2",
               kernel_text("unsigned short", "__half2_raw", f"__nv_cvt_{width}x2_to_halfraw2(in[threadIdx.x], __NV_{name})"))


def count(cubin, nvdisasm):
    text = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True, text=True).stdout
    lines = [line for line in INSTRUCTION.findall(text) if line.strip() != "NOP"]
    ends = [i for i, line in enumerate(lines) if re.search(r"\bEXIT\b", line)]
    if not ends:
        raise SystemExit(f"no EXIT in {cubin}")
    # A branch to itself pads the end; what stands behind the first EXIT otherwise is code that is branched to.
    return len(lines) - (1 if "BRA" in lines[-1] and ends[-1] == len(lines) - 2 else 0)


def main():
    kernels, nvcc, nvdisasm, *targets = sys.argv[1:]
    worse = 0
    print("| conversion | target | ours | CUDA headers |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source, ptx, cubin = folder / "a.cu", folder / "a.ptx", folder / "a.cubin"
        for target in targets or ["sm_75", "sm_80", "sm_86"]:
            for opcode, text in conversions():
                ptx.write_text(subprocess.run([kernels, opcode, target], check=True, capture_output=True, text=True).stdout)
                subprocess.run([pathlib.Path(nvcc).with_name("ptxas"), f"-arch={target}", ptx, "-o", cubin], check=True)
                ours = count(cubin, nvdisasm)
                source.write_text(text)
                subprocess.run([nvcc, f"-arch={target}", "-cubin", source, "-o", cubin], check=True)
                theirs = count(cubin, nvdisasm)
                worse += ours > theirs
                print(f"| `{opcode}` | {target} | {ours} | {theirs} |", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
