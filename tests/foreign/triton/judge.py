# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of kernels.py for several targets, without a GPU, and runs each under `ptxloom sanitize`.

usage: judge.py PTXLOOM FOLDER [--only WORD] [--schedules N]

PTXLOOM is the tool; FOLDER gets the PTX, the data and launch.json, which build/tests/bench/sync_mutants repeats. Needs
`pip install triton numpy`. Exit code 1 if there is a finding.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernels import CASES

TYPES = {"f32": "float32", "f16": "float16", "bf16": "uint16", "s32": "int32", "s8": "int8", "u8": "uint8"}


def random_data(kind, shape, random):
    if kind == "bf16":  # as numpy has it: the upper half of f32
        return (random.standard_normal(shape).astype("float32").view("uint32") >> 16).astype("uint16")
    if kind.startswith("f"):
        return random.standard_normal(shape).astype(TYPES[kind])
    return random.integers(-100, 100, shape).astype(TYPES[kind])


class Run:
    """The arguments of one case: for the command line, and for launch.json."""

    def __init__(self, folder, random):
        self.folder, self.random = folder, random
        self.line, self.buffers, self.arguments = [], [], []

    def add(self, argument):
        if isinstance(argument, int):
            self.scalar("s32", argument, "<i4")
        elif isinstance(argument, float):
            self.scalar("f32", argument, "<f4")
        else:
            self.array(argument)

    def scalar(self, kind, value, numpy_type):
        self.line.append(f"{kind}={value}")
        self.arguments.append({"bytes": numpy.array(value, numpy_type).tobytes().hex()})

    def array(self, text):
        role, _, rest = text.rpartition(":")
        kind, _, extents = rest.rstrip("]").partition("[")
        shape = [int(each) for each in extents.split(",")]
        name = f"{len(self.buffers)}"
        result = self.folder / f"{name}.out.npy"
        data = numpy.full(shape, 0xA5, "uint8").repeat(numpy.dtype(TYPES[kind]).itemsize)
        if role in ("out", "scratch"):
            self.line.append(f"out={kind}[{extents}]:{result}")
        else:
            data = numpy.zeros(shape, TYPES[kind]) if role == "zero" else random_data(kind, shape, self.random)
            numpy.save(self.folder / f"{name}.npy", data)
            source = self.folder / f"{name}.npy"
            self.line.append(f"inout={source}:{result}" if role == "zero" else f"in={source}")
        (self.folder / f"{name}.bin").write_bytes(data.tobytes())
        self.arguments.append({"buffer": len(self.buffers)})
        self.buffers.append({"bytes": data.nbytes, "file": f"{name}.bin", "output": role in ("out", "zero"),
                             "defined": role not in ("out", "scratch")})


def compile_case(case, target):
    names = case.kernel.arg_names
    signature = dict(zip(names, case.types)) | {name: "constexpr" for name in case.constants}
    attributes = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(case.types)
                  if kind[0] == "*" or (isinstance(case.arguments[i], int) and case.arguments[i] % 16 == 0)}
    source = ASTSource(case.kernel, signature=signature, constexprs=dict(case.constants), attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", target, 32), options=case.options)


def judge(tool, case, target, root, schedules):
    folder = root / f"{case.name.replace(' ', '_').replace(',', '')}.{target}"
    folder.mkdir(parents=True, exist_ok=True)
    compiled = compile_case(case, target)
    facts = compiled.metadata
    (folder / "kernel.ptx").write_text(compiled.asm["ptx"])
    run = Run(folder, numpy.random.default_rng())
    blocks = case.grid[0] * case.grid[1] * case.grid[2]
    for argument in case.arguments:
        run.add(argument)
    for bytes_ in (facts.global_scratch_size, facts.profile_scratch_size):  # the last parameters of every kernel
        run.array(f"scratch:u8[{max(bytes_ * blocks, 1)}]")
    block = [32 * facts.num_warps, 1, 1]
    launch = {"name": f"triton {case.name}, sm_{target}", "entry": facts.name, "ptx": "kernel.ptx", "grid": case.grid,
              "block": block, "shared_bytes": facts.shared, "arguments": run.arguments, "buffers": run.buffers}
    (folder / "launch.json").write_text(json.dumps(launch, indent=1))
    command = [tool, "sanitize", str(folder / "kernel.ptx"), "--grid", ",".join(map(str, case.grid)), "--block",
               str(block[0]), "--smem", str(facts.shared), "--schedules", str(schedules), "--arg", *run.line]
    result = subprocess.run(command, capture_output=True, text=True)
    print(f"{launch['name']}: {(result.stdout or result.stderr).strip()}", flush=True)
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--schedules", type=int, default=1)
    options = parser.parse_args()
    results = [judge(options.tool, case, target, options.folder, options.schedules)
               for case in CASES if options.only in case.name for target in case.targets]
    print(f"{len(results)} kernels, {results.count(False)} with findings or faults")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
