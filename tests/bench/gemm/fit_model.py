#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants of the cost model (specs/targets.json, "model") to measurements.

  fit_model.py CANDIDATES TIMES [DRAM]
    CANDIDATES: what `choice_data candidates` has printed
    TIMES:      what `choice_data time` has printed for some of these configurations
    DRAM:       peak bandwidth of the measured device's memory in GB/s (4917, of an H200)

Prints how good the choices are with the constants as they are and after fitting, and the fitted row. A choice is the
configuration, of those measured, with the least predicted time; its rate is relative to the fastest one measured. The
fit minimises the error of the logarithm of each time relative to others of its problem, and the expected loss of the
choice. It needs numpy and scipy.

The constants of a strategy's demand (templates/gemm/*/demand.cpp) are fixed here: they are part of CANDIDATES.
"""
import json
import math
import pathlib
import sys

import numpy as np
from scipy.optimize import least_squares

TARGETS = pathlib.Path(__file__).resolve().parents[3] / "specs" / "targets.json"
SMS, CLOCK_HZ, SHARED = 132, 1.98e9, 128
SCHEDULERS = 4
REGISTERS, THREADS, BULK = 0, 1, 2  # tune::Loads


def over(amount, rate):
    return np.where(rate > 0, amount / np.maximum(rate, 1e-9), 0)


def predict(d, c, dram):
    """Microseconds, as src/tune/model/model.cpp computes them. d: arrays of demands; c: constants; dram: GB/s."""
    blocks, steps = d["blocks"], np.maximum(d["steps"], 1)
    in_flight, loads = np.maximum(d["in_flight"], 1), d["loads"]
    bulk, persistent, asynchronous = loads == BULK, d["persistent"] > 0, d["asynchronous"] > 0
    moved = d["load_instructions"] / SCHEDULERS + d["l2_bytes"] / blocks / steps / c["transfer"]
    latency = np.where(
        loads == REGISTERS,
        c["load_latency"] + moved,
        (np.where(bulk, c["bulk_latency"], c["async_latency"]) + moved) / in_flight,
    )
    fill = np.where(loads == REGISTERS, c["load_latency"] * in_flight, np.where(bulk, c["bulk_fill"], c["async_fill"]))

    def round_clocks(at_once):
        warps = at_once * np.maximum(d["threads"], 32) / 32
        filled = warps / (warps + c["warps"])
        busy = np.maximum.reduce(
            [
                over(d["operations"], d["rate"] * np.where(asynchronous, 1, filled)) / blocks,
                d["instructions"] / blocks / SCHEDULERS / filled,
                d["shared_traffic"] / blocks / np.where(asynchronous, SHARED, c["shared"]),
                d["l2_bytes"] / blocks / c["l2"],
            ]
        ) + np.where(bulk, steps * c["bulk_step"], 0)
        alone = steps * np.maximum(busy / steps, latency) + d["epilogue"] + np.where(persistent, 0, fill)
        return np.maximum(at_once * busy, alone / d["in_turn"])

    slots = SMS * d["resident"]
    whole = np.floor(blocks / slots)
    rest = np.ceil((blocks - whole * slots) / SMS)
    clocks = (
        np.where(persistent, fill, c["block"] * blocks / SMS)
        + np.where(d["in_turn"] > 1, d["epilogue"], 0)
        + np.where(d["cluster"] > 1, c["cluster"], 0)
        + d["summed_bytes"] / c["summed"]
        + d["exchanged_bytes"] / c["exchanged"]
        + d["grid_waits"] * c["grid_wait"]
        + d["prologue_bytes"] / SMS / c["prologue"]
        + np.where(whole > 0, whole * round_clocks(np.maximum(d["resident"], 1)), 0)
        + np.where(rest > 0, round_clocks(np.maximum(rest, 1)), 0)
    )
    stores = (d["stored_sectors"] * c["sector"] + d["partial_sectors"] * c["partial"]) / 1000
    seconds = clocks / CLOCK_HZ
    memory = np.maximum(d["dram_bytes"] / (dram * 1e9 * c["memory"] / 100), stores / SMS / CLOCK_HZ)
    together = np.maximum(seconds, memory) + c["overlap"] / 100 * np.minimum(seconds, memory)
    return 1e6 * (together + c["launch"] / CLOCK_HZ)


def key(config):
    return json.dumps(config, sort_keys=True)


def read_times(path):
    times = {}
    for line in open(path):
        case = json.loads(line)
        known = times.setdefault(key(case["problem"]), {})
        for config, us in zip(case["configs"], case["us"]):
            if us is not None:
                known[key(config)] = min(us, known.get(key(config), math.inf))
    return times


def read_problems(candidates, times):
    """For each problem the demands of its measured configurations, as arrays, and their times."""
    for line in open(candidates):
        case = json.loads(line)
        known = times.get(key(case["problem"]), {})
        demands, us = [], []
        for values in case["rows"]:
            row = dict(zip(case["names"], values))
            config = {name[7:]: value for name, value in row.items() if name.startswith("config.")}
            if key(config) in known:
                demands.append({name: value for name, value in row.items() if not name.startswith("config.")})
                us.append(known[key(config)])
        if len(us) > 1:
            yield {name: np.array([d[name] for d in demands], float) for name in demands[0]}, np.array(us)


def residuals(problems, constants, dram):
    out = []
    for demands, us in problems:
        error = np.log(predict(demands, constants, dram) / us)
        weight = (us / us.min()) ** -1.5
        weight /= weight.sum()
        mean = (weight * error).sum()
        likely = np.exp(-(error + np.log(us) - (error + np.log(us)).min()) / 0.06)
        loss = (likely / likely.sum() * np.log(us / us.min())).sum()
        out.append(2 * (error - mean) * np.sqrt(weight))
        out.append([0.7 * mean, 3 * math.sqrt(max(loss, 0))])
    return np.concatenate(out)


def report(name, problems, constants, dram):
    rates = np.array([us.min() / us[np.argmin(predict(d, constants, dram))] for d, us in problems])
    print(
        f"{name}: {np.exp(np.log(rates).mean()):.3f} of the best (geometric mean), at least 0.9 in "
        f"{(rates >= 0.9).sum()} of {len(rates)}, worst {rates.min():.2f}"
    )


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    dram = float(sys.argv[3]) if len(sys.argv) == 4 else 4917
    head, row = (line.split() for line in json.loads(TARGETS.read_text())["model"])
    start = dict(zip(head[1:], map(float, row[1:])))
    problems = list(read_problems(sys.argv[1], read_times(sys.argv[2])))
    if not problems:
        sys.exit("no measured configuration is among the candidates")
    report("as it is", problems, start, dram)
    # l2 and transfer nearly replace each other, and so do memory and overlap: one of each stays as it is.
    free = [name for name in start if name not in ("l2", "memory")]

    def constants(x):
        return start | {name: start[name] * math.exp(value) for name, value in zip(free, x)}

    fit = least_squares(
        lambda x: np.concatenate([residuals(problems, constants(x), dram), 0.05 * x]),
        np.zeros(len(free)),
        loss="soft_l1",
        f_scale=0.15,
        max_nfev=20,
        diff_step=1e-3,
    )
    fitted = {name: round(value) for name, value in constants(fit.x).items()}
    report("fitted", problems, fitted, dram)
    print("  ".join([row[0], *(str(fitted[name]) for name in head[1:])]))


if __name__ == "__main__":
    main()
