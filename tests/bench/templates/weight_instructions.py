#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the machine instructions by which scaled_gemm converts weights on sm_90a, and prints tables: those that
templates/scaled_gemm/wgmma/demand.cpp and dequantize/strategy.cpp have.

    weight_instructions.py build/ptxloom

The same kernel is linked with one and with two parts of what is converted, and the instructions of its inner loop are compared, as
`ptxloom sass --model` counts them. So all that does not depend on the part cancels out. What warps execute only if a scale is
above 1, behind a branch on a vote, is left out. "weighted": instructions of the integer units (alu) issue in every other
clock and count twice. Needs no GPU; PTXLOOM_NVDISASM names nvdisasm.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SIZE = ["m=4096", "n=8192", "k=8192"]
WEIGHTS = {"bf16": "s4 u4 s4:f32 u4:f32 mxfp4 nvfp4 mxfp6_e2m3 mxfp6_e3m2 s8 e4m3 e5m2 mxfp8_e4m3 mxfp8_e5m2",
           "f16": "s4 u4 mxfp4 nvfp4 mxfp6_e2m3 mxfp6_e3m2 s8 e4m3 mxfp8_e4m3",
           "e4m3": "s4 u4 mxfp4 mxfp6_e2m3 mxfp6_e3m2 nvfp4", "s8": "s4 u4"}
# A word has 8 elements of 4 bits; those of 64 x 128 elements, of a thread.
WORDS = {4: 8, 6: 12, 8: 16}
TILE_M = 32
# For each of TILE_M / 2 accumulators of a thread: one fma; of s8 an addition of integers, one of floats, and it.
PROMOTION, WEIGHTED_PROMOTION = {"e4m3": 1, "s8": 3}, {"e4m3": 1, "s8": 4}
# Opcodes of the integer units among those behind such a branch.
ALU = re.compile("PRMT|LOP3|VIMNMX|SHF|LEA|ISETP|SEL|FSEL|F2FP")
# Activations and weights whose scales above 1 take the branch.
CAPPED = {("bf16", "mxfp4"), ("bf16", "mxfp6_e2m3"), ("bf16", "mxfp6_e3m2"), ("f16", "mxfp4"), ("f16", "mxfp6_e2m3")}


def rare(cubin, first, last):
    """Opcodes behind branches on a vote, from one offset to another."""
    text = subprocess.run([os.environ.get("PTXLOOM_NVDISASM", "nvdisasm"), cubin], check=True, capture_output=True,
                          text=True).stdout
    code, labels = [], {}
    for line in text.splitlines():
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = len(code)
        elif one := re.search(r"/\*(\w{4})\*/\s+(?:@!?(P\d)\s+)?([A-Z]\w*)(.*)", line):
            code.append((int(one[1], 16), *one.groups()[1:]))
    inside = range(*(next(i for i, one in enumerate(code) if one[0] == at) for at in (first, last)))
    votes = {code[i][3].split()[1].rstrip(",") for i in inside if code[i][2] == "VOTE"}
    found = []
    for i in inside:
        target = labels.get(code[i][3].strip(" `();")) if code[i][2] == "BRA" and code[i][1] in votes else None
        if target in inside:
            found += [one[2] for one in code[i + 1:target]]
    return found


def loop(tool, settings):
    """Instructions of the loop with most wgmma, and those of them that are alu."""
    made = subprocess.run([tool, "emit", "scaled_gemm", "--target", "sm_90a", "--set", *SIZE, *settings],
                          check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "kernel.ptx")
        path.write_text(made)
        cubin = path.with_suffix(".cubin")
        subprocess.run([tool, "compile", str(path), "-o", str(cubin)], check=True, capture_output=True)
        found = json.loads(subprocess.run([tool, "sass", str(cubin), "--model", "--format", "json"], check=True,
                                          capture_output=True, text=True).stdout)
        loops = [one for function in found["functions"] for one in function["loops"]
                 if one["inner"] and any(bound["name"] == "tensor" for bound in one["bounds"])]
        most = max(loops, key=lambda one: one["instructions"])
        left_out = rare(cubin, most["first"], most["last"])
    formats = dict(one.split("=") for one in settings)
    assert left_out or (formats["format_a"], formats["format_b"]) not in CAPPED, "found no branch for scales above 1"
    alu = {unit["unit"]: unit["count"] for unit in most["mix"]}["alu"]
    return most["instructions"] - len(left_out), alu - sum(1 for one in left_out if ALU.fullmatch(one))


def difference(tool, settings, less, more):
    small, large = loop(tool, settings + less), loop(tool, settings + more)
    return large[0] - small[0], large[1] - small[1]


def bits(name):
    narrow = {"s4": 4, "u4": 4, "mxfp4": 4, "nvfp4": 4, "mxfp6_e2m3": 6, "mxfp6_e3m2": 6}
    return narrow.get(name, 8)


def weights(tool):
    print("| activations | weights | a word | weighted |\n|---|---|---|---|")
    for a, formats in WEIGHTS.items():
        for one in formats.split():
            b, _, scale = one.partition(":")
            settings = [f"format_a={a}", f"format_b={b}", f"tile_m={TILE_M}", "tile_k=128", "warps_n=4", "stages=3", "share=1"]
            if scale:
                settings.append(f"scale_b={scale}")
            all_, alu = difference(tool, settings, ["tile_n=64"], ["tile_n=128"])
            accumulators, words = TILE_M // 2, WORDS[bits(b)]
            plain = all_ - PROMOTION.get(a, 0) * accumulators
            weighted = all_ + alu - WEIGHTED_PROMOTION.get(a, 0) * accumulators
            name = f"{b}, scales in {scale}" if scale else b
            print(f"| {a} | {name} | {plain / words:.1f} | {weighted / words:.1f} |", flush=True)


def chunks(tool):
    """Of 64 x 64 elements a thread of a warpgroup converts two chunks of 16."""
    print("\n| dequantize_wgmma | a chunk | weighted |\n|---|---|---|")
    for one in "mxfp8_e4m3 mxfp6_e2m3 mxfp4 nvfp4".split():
        settings = [f"format_a={one}", f"format_b={one}", "strategy=dequantize_wgmma", "tile_m=64", "tile_k=64",
                    "warps_m=4", "warps_n=1", "stages=2"]
        all_, alu = difference(tool, settings, ["tile_n=64"], ["tile_n=128"])
        print(f"| {one} | {all_ / 2:.1f} | {(all_ + alu) / 2:.1f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    weights(sys.argv[1])
    chunks(sys.argv[1])
