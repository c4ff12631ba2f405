#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures configurations of gemm for fit_correction.py, in rounds that learn from those before.

  choice_rounds.py PROGRAM NEAR OUT --seconds S [--rounds R] [--devices 0,1]
    PROGRAM    build/tests/bench/choice_data
    NEAR       what `choice_data near` has printed, in one or more files joined by commas
    OUT        gets the measured problems, a line each
    --seconds  for all rounds together
    --devices  numbers of the GPUs, which share the problems

Each round takes problems that no round had, and times the configurations that the trees think best, some at random, and the
best one of each kind. A last round times, for the problems before, what the trees prefer by now and nobody timed. The first
round has the trees in use. It needs numpy and lightgbm.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

from fit_correction import Problem, fit

BEST, AT_RANDOM, AGAIN = 16, 6, 3
KIND = ("strategy", "swap", "stream_k", "schedule", "multicast")
LAST = 0.2  # of the time is for the last round
OF_CONFIGS = ("configs", "rows", "predicted", "corrected")  # what a problem's line has, an entry for each configuration


def measured(line):
    """The problem with the configurations that ran."""
    ran = [i for i, us in enumerate(line["us"]) if us is not None]
    return line | {key: [line[key][i] for i in ran] for key in (*OF_CONFIGS, "us")}


def expected(line, trees):
    """Corrected times, whose order counts."""
    if trees is None:
        return np.array(line["corrected"])
    return np.array(line["predicted"]) * np.exp(trees.predict(np.array(line["rows"], float)))


def part(line, chosen):
    return {key: line[key] for key in ("problem", "unit", "names")} | {
        key: [line[key][i] for i in chosen] for key in OF_CONFIGS
    }


def choose(line, trees):
    order = list(np.argsort(expected(line, trees)))
    kinds = {}
    for i in order:
        kinds.setdefault(tuple(line["configs"][i].get(name) for name in KIND), i)
    rest = order[BEST:]
    chosen = set(order[:BEST]) | set(kinds.values()) | set(random.sample(rest, min(AT_RANDOM, len(rest))))
    return part(line, sorted(chosen))


def choose_again(line, trees, done):
    order = np.argsort(expected(line, trees))[:AGAIN]
    new = [i for i in order if line["configs"][i] not in done["configs"]]
    return part(line, new) if new else None


def time_all(program, wanted, seconds, devices):
    """Runs `choice_data time` on all devices at once, and returns what they printed."""
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for number, device in enumerate(devices):
            file = pathlib.Path(folder) / f"{number}.jsonl"
            file.write_text("".join(json.dumps(line) + "\n" for line in wanted[number :: len(devices)]))
            out = open(f"{file}.out", "w")
            environment = os.environ | {"CUDA_VISIBLE_DEVICES": device}
            runs.append((subprocess.Popen([program, "time", file, str(seconds)], stdout=out, env=environment), out.name))
        for device, (run, _) in zip(devices, runs):
            if run.wait() != 0:
                print(f"device {device}: exit code {run.returncode}", file=sys.stderr)
        # A run that was killed may have left a part of a line.
        return [measured(json.loads(line)) for _, name in runs for line in open(name) if line.endswith("\n")]


def merge(known, more):
    for line in more:
        old = known.setdefault(json.dumps(line["problem"]), line)
        if old is not line:
            for key in (*OF_CONFIGS, "us"):
                old[key] += line[key]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("program", "near", "out"):
        parser.add_argument(name)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--devices", default="0")
    arguments = parser.parse_args()
    random.seed(1)
    lines = [json.loads(line) for file in arguments.near.split(",") for line in open(file)]
    random.shuffle(lines)
    devices, known, trees = arguments.devices.split(","), {}, None
    seconds = arguments.seconds * (1 - LAST) / arguments.rounds

    def run(wanted, seconds):
        merge(known, time_all(arguments.program, wanted, seconds, devices))
        with open(arguments.out, "w") as out:
            out.write("".join(json.dumps(line) + "\n" for line in known.values()))
        print(f"{sum(len(line['us']) for line in known.values())} times of {len(known)} problems", flush=True)

    for number in range(arguments.rounds):
        run([choose(line, trees) for line in lines[number :: arguments.rounds]], seconds)
        enough = [Problem(line) for line in known.values() if len(line["us"]) > 4]
        trees = fit(enough) if enough else None
    done = [line for line in lines if json.dumps(line["problem"]) in known]
    again = [choose_again(line, trees, known[json.dumps(line["problem"])]) for line in done]
    run([line for line in again if line], arguments.seconds * LAST)


if __name__ == "__main__":
    main()
