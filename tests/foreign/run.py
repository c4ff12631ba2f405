# SPDX-License-Identifier: Apache-2.0
"""Compiles programs of CUB, runs their kernels in the executor under the judge, and lists what it finds.

usage: run.py BUILD [--only WORD] [--cub FOLDER] [--record] [--schedule N]

BUILD is CMake's folder, with the target foreign_cudart built. nvcc is taken from CUDA_HOME or PATH. CUB is the one of
the toolkit (include/cccl) or FOLDER. --record keeps each kernel's first launch in BUILD/foreign/launches, for
sync_mutants. Findings that confirmed.json explains do not count. Exit code 1: others.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SECONDS = 300  # for one program


def find_nvcc():
    home = os.environ.get("CUDA_HOME")
    nvcc = f"{home}/bin/nvcc" if home else shutil.which("nvcc")
    if not nvcc or not os.path.exists(nvcc):
        sys.exit("run.py: nvcc was not found; set CUDA_HOME")
    return pathlib.Path(nvcc)


class Program:
    def __init__(self, name, source, target, includes):
        self.name, self.source, self.target, self.includes = f"{name}.{target}", source, target, includes

    def build(self, nvcc, folder):
        binary = folder / "programs" / self.name
        binary.parent.mkdir(parents=True, exist_ok=True)
        if binary.exists() and binary.stat().st_mtime > self.source.stat().st_mtime:
            return binary
        code = f"arch=compute_{self.target},code=compute_{self.target}"  # PTX only: ptxas plays no part
        command = [nvcc, "-std=c++17", "-O0", "-w", "-gencode", code, "--no-compress", "--cudart", "none",
                   *(f"-I{each}" for each in self.includes), self.source, "-o", binary, f"-L{folder}", "-lcudart",
                   "-Xlinker", f"-rpath={folder}"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"run.py: {self.source} does not compile:\n{result.stderr[-3000:]}")
        return binary

    def run(self, binary, folder, options):
        report = folder / "programs" / f"{self.name}.jsonl"
        report.unlink(missing_ok=True)
        environment = os.environ | {"PTXLOOM_REPORT": str(report), "PTXLOOM_SCHEDULE": str(options.schedule)}
        if options.record:
            environment["PTXLOOM_RECORD"] = str(folder / "launches" / self.name)
        try:
            done = subprocess.run([binary], capture_output=True, text=True, timeout=SECONDS,
                                  env=environment)
            words = (done.stdout + done.stderr)[-400:]
            outcome = "" if done.returncode == 0 else f"exit code {done.returncode}: {words}"
        except subprocess.TimeoutExpired:
            outcome = f"not finished after {SECONDS} s"
        rows = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        return rows, outcome


def programs(options, nvcc):
    rows = json.loads((HERE / "programs.json").read_text())
    cub = options.cub or nvcc.parent.parent / "include" / "cccl"
    for name in rows["programs"]:
        for target in rows["targets"]:
            yield Program(f"cub-{name}", HERE / "cub" / f"{name}.cu", target, [cub])


class Summary:
    def __init__(self):
        self.confirmed = json.loads((HERE / "confirmed.json").read_text())
        self.kernels, self.launches, self.explained, self.others = set(), 0, collections.Counter(), 0

    def explanation(self, row, finding):
        text = finding["at"]["text"] + " " + finding.get("other", {}).get("text", "")
        for each in self.confirmed:
            same = each["code"] == finding["code"] and re.search(each["kernel"], row["kernel"])
            if same and re.search(each["text"], text):
                return each["name"]
        return None

    def add(self, program, rows, outcome):
        print(f"{program.name}: {len({row['kernel'] for row in rows})} kernels, {len(rows)} launches", flush=True)
        if outcome:
            self.others += 1
            print(f"  {outcome}")
        for row in rows:
            self.kernels.add((program.target, row["kernel"]))
            self.launches += 1
            if row["error"]:
                self.others += 1
                print(f"  {row['kernel']}: {row['error']}")
            for finding in row["findings"]:
                self.add_finding(row, finding)

    def add_finding(self, row, finding):
        name = self.explanation(row, finding)
        if name is not None:
            self.explained[name] += 1
            return
        self.others += 1
        other = finding.get("other")
        print(f"  {row['kernel']}\n    {finding['code']}: {finding['what']}\n    line {finding['at']['line']}: "
              f"{finding['at']['text']}" + (f"\n    line {other['line']}: {other['text']}" if other else ""))

    def print(self):
        print(f"\n{len(self.kernels)} kernels, {self.launches} launches, {self.others} findings that are not explained")
        for name, count in self.explained.items():
            print(f"  {count} times {name} (confirmed.json)")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--cub", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--schedule", type=int, default=0)
    options = parser.parse_args()
    nvcc, folder, summary = find_nvcc(), options.build.resolve() / "foreign", Summary()
    if not (folder / "libcudart.so").exists():
        sys.exit(f"run.py: {folder} has no libcudart.so; build the target foreign_cudart")
    for program in programs(options, nvcc):
        if options.only in program.name:
            rows, outcome = program.run(program.build(nvcc, folder), folder, options)
            summary.add(program, rows, outcome)
    summary.print()
    return 1 if summary.others or not summary.kernels else 0


if __name__ == "__main__":
    sys.exit(main())
