#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the machine instructions of our fallbacks and of those in the CUDA headers, and prints a table.

    lower_sass.py KERNELS NVCC NVDISASM [narrow|short|alone|matrix...] [TARGET...]

narrow: conversions of narrow types; short: those of 16 bits, min and max; alone: instructions for which the headers have no
fallback; matrix: mma, ldmatrix and stmatrix, for which they have none either. KERNELS is build/tests/bench/lower_kernels. Each
kernel loads the operands of one thread, computes and stores; loads, stores and addresses are counted for both sides, padding
and the branch to itself behind the end are not. ptxas is the one beside NVCC. Exit code 1: a fallback of ours is longer than
that of the headers.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# Of the headers' storage types: e4m3 is of fp8, e2m3 of fp6.
NARROW = {"e4m3": "fp8", "e5m2": "fp8", "e2m3": "fp6", "e3m2": "fp6", "e2m1": "fp4"}
# How each source is loaded, and its name in the headers' functions to types with a sign, and to those without.
SOURCES = {"f32": ("float2", "float2", "float2"), "f16x2": ("__half2_raw", "halfraw2", "half2raw"),
           "bf16x2": ("__nv_bfloat162_raw", "bfloat16raw2", "bfloat162raw")}
ROUNDINGS = {"rn": "cudaRoundNearest", "rz": "cudaRoundZero", "rp": "cudaRoundPosInf"}

INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", re.M)


def kernel_text(source, result, call, helpers=""):
    return (f"#include <cuda_fp8.h>\n#include <cuda_fp6.h>\n#include <cuda_fp4.h>\n{helpers}extern \"C\" __global__ void convert(const {source}* in, {result}* out)"
            f"\n{{\n  out[threadIdx.x] = {call};\n}}\n")


def between(narrow, width):
    """A type with a sign, from and to the wide ones."""
    name = narrow.upper()
    stored = "unsigned char" if width == "fp4" else "unsigned short"
    for source, (type_, word, _) in SOURCES.items():
        how = f"__NV_SATFINITE, __NV_{name}" if width == "fp8" else f"__NV_{name}, cudaRoundNearest"
        yield (f"cvt.rn.satfinite.{narrow}x2.{source}",
               kernel_text(type_, stored, f"__nv_cvt_{word}_to_{width}x2(in[threadIdx.x], {how})"))
    yield (f"cvt.rn.f16x2.{narrow}x2",
           kernel_text(stored, "__half2_raw", f"__nv_cvt_{width}x2_to_halfraw2(in[threadIdx.x], __NV_{name})"))
    upper = f"in[threadIdx.x] >> {4 if width == 'fp4' else 8}"
    half = f"__nv_cvt_{width}_to_bf16raw({{}}, __NV_{name}).x"
    yield (f"cvt.rn.bf16x2.{narrow}x2",
           kernel_text(stored, "ushort2", f"make_ushort2({half.format('(unsigned char)in[threadIdx.x]')}, {half.format(upper)})"))


def unsigned():
    """Types of scales, which have no sign."""
    for source in ("f32", "bf16x2"):
        type_, _, word = SOURCES[source]
        for rounding in ("rz", "rp"):
            for satfinite, how in ((".satfinite", "__NV_SATFINITE"), ("", "__NV_NOSAT")):
                yield (f"cvt.{rounding}{satfinite}.ue8m0x2.{source}",
                       kernel_text(type_, "unsigned short",
                                   f"__nv_cvt_{word}_to_e8m0x2(in[threadIdx.x], {how}, {ROUNDINGS[rounding]})"))
    yield ("cvt.rn.bf16x2.ue8m0x2",
           kernel_text("unsigned short", "__nv_bfloat162_raw", "__nv_cvt_e8m0x2_to_bf162raw(in[threadIdx.x])"))
    for source, (type_, _, word) in SOURCES.items():
        for rounding, how in ROUNDINGS.items():
            yield (f"cvt.{rounding}.satfinite.ue5m3x2.{source}",
                   kernel_text(type_, "unsigned short", f"__nv_cvt_{word}_to_ue5m3x2(in[threadIdx.x], __NV_SATFINITE, {how})"))
    for wide, type_, word in (("f16x2", "__half2_raw", "halfraw2"), ("bf16x2", "__nv_bfloat162_raw", "bf162raw")):
        yield (f"cvt.rn.{wide}.ue5m3x2",
               kernel_text("unsigned short", type_, f"__nv_cvt_ue5m3x2_to_{word}(in[threadIdx.x])"))


def conversions():
    """Opcodes with the kernel that does the same by the headers."""
    for narrow, width in NARROW.items():
        yield from between(narrow, width)
    yield from unsigned()


def short():
    """Conversions to 16 bits, min and max, for targets before sm_80."""
    for rounding in ("rn", "rz", "rm", "rp"):
        how = {"rm": "rd", "rp": "ru"}.get(rounding, rounding)
        yield (f"cvt.{rounding}.bf16.f32",
               kernel_text("float", "__nv_bfloat16", f"__float2bfloat16_{how}(in[threadIdx.x])"))
    yield ("cvt.rn.bf16x2.f32",
           kernel_text("float2", "__nv_bfloat162", "__float22bfloat162_rn(in[threadIdx.x])"))
    for type_, name in (("__half2", "f16x2"), ("__nv_bfloat162", "bf16x2")):
        for op in ("min", "max"):
            for nan, suffix in (("", ""), (".NaN", "_nan")):
                helper = (f"__device__ {type_} choose(uint2 v) {{ return __h{op}2{suffix}(reinterpret_cast<{type_}&>(v.y), "
                          f"reinterpret_cast<{type_}&>(v.x)); }}\n")
                yield (f"{op}{nan}.{name}", kernel_text("uint2", type_, "choose(in[threadIdx.x])", helper))


# Of these the headers have no fallback.
ALONE = ["add.rn.f32x2", "mul.rn.f32x2", "fma.rn.f32x2", "add.f32.f16", "add.f32.bf16", "fma.rn.f32.f16", "fma.rn.f32.bf16",
         "redux.sync.add.s32", "redux.sync.min.s32", "redux.sync.and.b32", "redux.sync.min.f32", "redux.sync.min.NaN.f32",
         "redux.sync.max.abs.f32", "min.NaN.f32", "min.xorsign.abs.f32", "min.xorsign.abs.f16x2", "min.xorsign.abs.bf16x2",
         "cvt.rna.tf32.f32", "cvt.rn.tf32.f32", "cvt.rn.satfinite.tf32.f32", "cvt.rn.relu.f16.f32", "cvt.rn.relu.f16x2.f32",
         "cvt.rn.satfinite.relu.bf16x2.f32"]

MMA, LOAD, STORE = "mma.sync.aligned.", "ldmatrix.sync.aligned.", "stmatrix.sync.aligned."
MATRIX = ([MMA + rest for rest in ("m16n8k32.row.col.s32.s8.s8.s32", "m16n8k32.row.col.s32.s4.s4.s32",
                                   "m16n8k64.row.col.s32.s4.s4.s32", "m16n8k64.row.col.satfinite.s32.s4.s4.s32",
                                   "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "m8n8k128.row.col.s32.b1.b1.s32.and.popc",
                                   "m16n8k256.row.col.s32.b1.b1.s32.and.popc")] +
          [LOAD + rest for rest in ("m8n16.x4.shared.b8x16.b4x16_p64", "m8n16.x4.shared.b8x16.b6x16_p32",
                                    "m16n16.x2.trans.shared.b8", "m16n16.x2.trans.shared.b8x16.b4x16_p64",
                                    "m16n16.x2.trans.shared.b8x16.b6x16_p32")] +
          [STORE + rest for rest in ("m8n8.x4.shared.b16", "m8n8.x4.trans.shared.b16", "m16n8.x4.trans.shared.b8")])


def count(cubin, nvdisasm):
    text = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True, text=True).stdout
    lines = [line for line in INSTRUCTION.findall(text) if line.strip() != "NOP"]
    ends = [i for i, line in enumerate(lines) if re.search(r"\bEXIT\b", line)]
    if not ends:
        raise SystemExit(f"no EXIT in {cubin}")
    # A branch to itself pads the end; what stands behind the first EXIT otherwise is code that is branched to.
    return len(lines) - (1 if "BRA" in lines[-1] and ends[-1] == len(lines) - 2 else 0)


GROUPS = ["narrow", "short", "alone", "matrix"]


class Counter:
    """Counts the instructions of kernels of ours and of CUDA's."""

    def __init__(self, kernels, nvcc, nvdisasm, folder):
        self.kernels, self.nvcc, self.nvdisasm, self.folder = kernels, nvcc, nvdisasm, pathlib.Path(folder)

    def ours(self, opcode, target):
        """None where the target has the instruction."""
        ptx, cubin = self.folder / "a.ptx", self.folder / "a.cubin"
        text = subprocess.run([self.kernels, opcode, target], check=True, capture_output=True, text=True).stdout
        if "// emulated" not in text:
            return None
        ptx.write_text(text)
        subprocess.run([pathlib.Path(self.nvcc).with_name("ptxas"), f"-arch={target}", ptx, "-o", cubin], check=True)
        return count(cubin, self.nvdisasm)

    def theirs(self, text, target):
        source, cubin = self.folder / "a.cu", self.folder / "a.cubin"
        source.write_text(text)
        subprocess.run([self.nvcc, f"-arch={target}", "-cubin", source, "-o", cubin], check=True)
        return count(cubin, self.nvdisasm)


def main():
    kernels, nvcc, nvdisasm, *arguments = sys.argv[1:]
    groups = [argument for argument in arguments if argument in GROUPS] or GROUPS
    targets = [argument for argument in arguments if argument.startswith("sm_")] or ["sm_75", "sm_80", "sm_86"]
    worse = 0
    print("| instruction | target | ours | CUDA headers |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter(kernels, nvcc, nvdisasm, folder)
        for target in targets:
            rows = list(conversions()) if "narrow" in groups else []
            rows += short() if "short" in groups else []
            rows += [(opcode, None) for opcode in ALONE] if "alone" in groups else []
            rows += [(opcode, None) for opcode in MATRIX] if "matrix" in groups else []
            for opcode, text in rows:
                ours = counter.ours(opcode, target)
                if ours is None:
                    continue
                theirs = counter.theirs(text, target) if text else "-"
                worse += text is not None and ours > theirs
                print(f"| `{opcode}` | {target} | {ours} | {theirs} |", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
