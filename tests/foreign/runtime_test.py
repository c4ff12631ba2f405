#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the runtime library of this folder with a program that nvcc compiles.

usage: runtime_test.py LIBRARY_FOLDER WORK_FOLDER

Exit code 77: nvcc is missing, so nothing was tested.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def expect(condition, what):
    if not condition:
        sys.exit(f"runtime_test.py: {what}")


def compile_program(nvcc, libraries, binary):
    subprocess.run([nvcc, "-std=c++17", "-gencode", "arch=compute_90,code=compute_90", "--no-compress", "--cudart", "none",
                    HERE / "runtime.cu", "-o", binary, f"-L{libraries}", "-lcudart", "-Xlinker", f"-rpath={libraries}"],
                   check=True)


def run(binary, name, folder, **environment):
    report = folder / "report.jsonl"
    report.unlink(missing_ok=True)
    done = subprocess.run([binary, name], capture_output=True, text=True,
                          env=os.environ | {"PTXLOOM_REPORT": str(report)} | environment)
    expect(done.returncode == 0, f"{name}: {done.stdout}{done.stderr}")
    return [json.loads(line) for line in report.read_text().splitlines()]


def main():
    libraries, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    home = os.environ.get("CUDA_HOME")
    nvcc = f"{home}/bin/nvcc" if home and os.path.exists(f"{home}/bin/nvcc") else shutil.which("nvcc")
    if nvcc is None:
        print("nvcc was not found")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    binary = folder / "runtime"
    compile_program(nvcc, libraries, binary)
    for name in ("barrier", "cluster", "cooperative"):
        rows = run(binary, name, folder)
        expect(len(rows) == 1 and rows[0]["findings"] == [] and rows[0]["error"] == "", f"{name}: {rows}")
    rows = run(binary, "no-barrier", folder)
    codes = [finding["code"] for finding in rows[0]["findings"]]
    expect(codes == ["data-race"], f"the missing barrier gives {codes}")
    rows = run(binary, "refused", folder)
    expect(len(rows) == 1 and rows[0]["error"] != "", f"a launch of 2048 threads is not refused: {rows}")
    run(binary, "barrier", folder, PTXLOOM_RECORD=str(folder / "launches"))
    launches = list((folder / "launches").glob("*/launch.json"))
    expect(len(launches) == 1, f"{len(launches)} launches are recorded")
    launch = json.loads(launches[0].read_text())
    expect([each["bytes"] for each in launch["buffers"]] == [256, 256], f"the buffers are {launch['buffers']}")
    first = (launches[0].parent / launch["buffers"][0]["file"]).read_bytes()
    expect(first == b"".join((5 + i).to_bytes(4, "little") for i in range(64)), "the input is not as it was")
    return 0


if __name__ == "__main__":
    sys.exit(main())
