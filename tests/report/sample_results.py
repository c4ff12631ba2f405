# SPDX-License-Identifier: Apache-2.0
"""Made-up results of searches, as `ptxloom tune --json` writes them (docs/json/tune.json): ordinary and odd ones."""
import random

VALUES = {
    "tile_m": ["16", "32", "64", "128", "256"],
    "tile_n": ["16", "32", "64", "96", "128", "192", "256"],
    "tile_k": ["16", "32", "64", "128"],
    "warps_m": ["1", "2", "4", "8"],
    "warps_n": ["1", "2", "4", "8"],
    "stages": ["2", "3", "4", "5", "6"],
    "mma": ["m16n8k16"],
    "prefetch": ["step", "tile"],
    "raster": ["1", "2", "4", "8", "16"],
    "epilogue": ["direct", "staged"],
    "static": ["none", "nk", "mnk"],
}
RULES = [
    "each warp's part of the tile must be a multiple of 16 rows and of 16 columns", "shared memory of a thread block",
    "registers of a thread block", "threads of a thread block", "a staged epilogue is for 16-bit results",
    "the rows of a tile divide evenly among the threads"
]
PTX = ".version 8.0\n.target sm_90a\n.visible .entry gemm()\n{\n  // {}\n  ret;\n}\n"
HOSTILE = "</script><script>alert(1)</script> <!-- & \"quoted\" 'too' \u2028 \u00fc\u6f22 ]]> ${x} \\u003c"


def config(draw):
    return {name: draw.choice(values) for name, values in VALUES.items()}


def block_of(c):
    threads = 32 * int(c["warps_m"]) * int(c["warps_n"])
    shared = 2 * int(c["tile_k"]) * (int(c["tile_m"]) + int(c["tile_n"])) * int(c["stages"])
    return threads, shared


def admissible(c):
    threads, shared = block_of(c)
    return (32 <= threads <= 512 and shared <= 232448 and int(c["tile_m"]) >= 16 * int(c["warps_m"]) and
            int(c["tile_n"]) >= 16 * int(c["warps_n"]))


def resources_of(c, draw):
    tile = int(c["tile_m"]) * int(c["tile_n"]) // block_of(c)[0]
    registers = min(255, int(40 + 1.1 * tile + draw.randrange(0, 24)) // 2 * 2)
    spilled = 4 * max(0, tile - 190)
    return {"registers": registers, "shared": 0, "stack": spilled, "spill_stores": spilled,
            "spill_loads": spilled * 2}


def time_of(c, resources, draw):
    """Nothing but plausible: small tiles read more, few warps wait, spilling is slow."""
    m, n = int(c["tile_m"]), int(c["tile_n"])
    us = 190 * (1 + 40 / m + 40 / n) * (1 + 0.9 / int(c["stages"])**1.5)
    us *= {1: 2.6, 2: 1.7, 4: 1.15, 8: 1, 16: 1.08}[min(16, block_of(c)[0] // 32)]
    us *= 1 + 0.0015 * resources["spill_loads"] + (0.03 if c["prefetch"] == "step" else 0)
    us *= {"none": 1.09, "nk": 1.02, "mnk": 1}[c["static"]] * (1 + 0.04 / int(c["raster"]))
    return us * draw.uniform(0.97, 1.06)


def problem_of(draw):
    return draw.choice([
        ("failed", "device-fault", "the kernel gemm faulted: CUDA_ERROR_ILLEGAL_ADDRESS (700)"),
        ("failed", "link-failed", "ptxas error : Entry function 'gemm' uses too much shared data (0x3a000 bytes, "
         "0x38c00 max)"),
        ("failed", "time-limit", "took longer than 10 s on the device; its worker was ended"),
        ("failed", "mis-measured", "12.400 us is faster than the chip's limits allow (139.0 us)"),
        ("wrong", "wrong-result", "d[17, 4001] is 1.25, should be 1.3125 within 0.0078; 96 elements of 16777216 "
         "differ"),
    ])


def candidate(at, draw, failing):
    c = config(draw)
    while not admissible(c):
        c = config(draw)
    threads, shared = block_of(c)
    resources = resources_of(c, draw)
    per_sm = max(1, min(65536 // (resources["registers"] * threads), 233472 // (shared + 1024), 2048 // threads))
    one = {"config": c, "state": "measured", "at_s": round(at, 3), "link_ms": round(draw.uniform(15, 80), 1), "device": 0,
           "predicted_us": round(time_of(c, resources, draw), 2), "code_us": round(time_of(c, resources, draw), 2),
           "resources": resources,
           "block": {"threads": threads, "shared_bytes": shared, "grid": 4096 * 4096 // int(c["tile_m"]) //
                     int(c["tile_n"]), "per_sm": per_sm, "occupancy": per_sm * threads / 2048}}
    if draw.random() < failing:
        state, code, message = problem_of(draw)
        one.update(state=state, problem={"code": code, "message": message})
        if state == "wrong":
            one["saved"] = f"/home/user/.local/share/ptxloom/records/wrong/{draw.randrange(16**12):012x}"
    else:
        one.update(time_us=round(time_of(c, resources, draw), 3), spread=round(draw.uniform(0.001, 0.03), 4),
                   samples=draw.choice([5, 5, 15]))
    return one


def best_of(candidates):
    steps = []
    for i, one in enumerate(candidates):
        if one["state"] == "measured" and (not steps or one["time_us"] < steps[-1]["time_us"]):
            steps.append({"at_s": one["at_s"], "evaluations": i + 1, "candidate": i, "time_us": one["time_us"]})
    return steps


def pairs_of(candidates, draw):
    ranked = sorted((i for i, c in enumerate(candidates) if c["state"] == "measured"),
                    key=lambda i: candidates[i]["time_us"])
    pairs = []
    for rival in ranked[1:5]:
        ratio = candidates[ranked[0]]["time_us"] / candidates[rival]["time_us"]
        half = draw.uniform(0.002, 0.02)
        verdict = "tie" if ratio + half > 1 else "faster"
        pairs.append({"candidate": ranked[0], "rival": rival, "ratio": ratio, "low": ratio - half,
                      "high": ratio + half, "rounds": draw.randrange(8, 64), "verdict": verdict})
    return pairs


def health_of(seconds, draw):
    samples = []
    for i in range(40):
        capped = draw.random() < 0.3
        samples.append({"at_s": seconds * i / 40, "device": 0, "clock_mhz": 1980 - draw.randrange(0, 240) * capped,
                        "memory_clock_mhz": 3201, "temperature_c": 38 + i // 3, "power_w":
                        700.0 if capped else draw.uniform(400, 680), "power_capped": capped, "throttled": i == 31})
    return samples


def result(count=400, seed=1, failing=0.06, ptx=PTX):
    draw = random.Random(seed)
    seconds = 60 * count / 400
    candidates = [candidate(0.8 + (i + draw.random()) * seconds / (count + 1), draw, failing) for i in range(count)]
    best = best_of(candidates)
    device = {"name": "NVIDIA H200", "sm": "sm_90a", "sms": 132, "memory_mhz": 3201}
    problem = {"m": "4096", "n": "4096", "k": "4096", "a": "bf16", "b": "bf16", "c": "f32", "d": "f32",
               "a_layout": "row", "b_layout": "col", "alpha": "1", "beta": "0"}
    made = {
        "schema": 1, "record": None, "source": "none", "device": device, "template": "gemm", "problem": problem,
        "command": ["ptxloom", "tune", "gemm"] + [w for n, v in problem.items() for w in ("--set", f"{n}={v}")] +
                   ["--strategy", "guided", "--budget", "60", "--seed", str(seed)],
        "seed": seed, "strategy": "guided", "budget": {"seconds": 60, "evaluations": 0}, "seconds": seconds + 1.7,
        "device_busy": 0.83, "evaluations": count, "interrupted": False,
        "devices": [{"name": "GPU 0000:3b:00.0 of node", "rank": 0, "evaluations": count, "ratio": 0, "left_out": None}],
        "rates": {"operations": 2.0 * 4096**3, "unit": "f16", "input_bytes": 2.0 * 2 * 4096**2,
                  "bytes": 8.0 * 4096**2, "peak_operations": 1.07e15, "peak_bytes": 4.9e12, "least_us": 139.0},
        "space": {"parameters": [{"name": n, "values": v} for n, v in VALUES.items()], "configurations": 504000,
                  "admissible": 61234,
                  "inadmissible": [{"rule": r, "count": c} for r, c in zip(RULES, [312001, 88342, 27113, 11210, 4000,
                                                                                   100])]},
        "candidates": candidates, "best": best, "final": pairs_of(candidates, draw), "baselines": [],
        "rankings": [{"model": "cost model", "candidates": count, "correlation": 0.8125, "place": 7},
                     {"model": "machine code", "candidates": count - 1, "correlation": 0.9375, "place": 2}],
        "health": health_of(seconds, draw), "restarts": [], "winner": None, "unkept": None,
    }
    made["restarts"] = [{"at_s": c["at_s"], "candidate": i, "why": c["problem"]["message"]}
                        for i, c in enumerate(candidates)
                        if c["state"] == "failed" and c["problem"]["code"] in ("device-fault", "time-limit")]
    if best:
        crown(made, best[-1]["candidate"], ptx)
    return made


def crown(made, index, ptx):
    one = made["candidates"][index]
    threads, shared = block_of(one["config"])
    made["source"] = "search"
    made["winner"] = {"candidate": index, "time_us": one["time_us"], "spread": one["spread"], "ptx": ptx,
                      "launches": [{"entry": "gemm", "grid": [1024, 1, 1], "block": [threads, 1, 1],
                                    "cluster": [1, 1, 1], "shared_bytes": shared}]}
    made["record"] = {"schema": 1, "device": made["device"], "template": "gemm", "problem": made["problem"],
                      "config": one["config"], "time_us": one["time_us"], "spread": one["spread"],
                      "library": "0.1.0", "linker": "13.0", "flags": "-O3", "resources": one["resources"],
                      "evaluations": made["evaluations"]}
    first = next((i for i, c in enumerate(made["candidates"]) if c["state"] == "measured"))
    made["baselines"] = [{"name": "template default", "candidate": first,
                          "time_us": made["candidates"][first]["time_us"]},
                         {"name": "cuBLASLt 13.1.0", "time_us": one["time_us"] * 0.91, "spread": 0.004, "ratio": 0.91,
                          "low": 0.908, "high": 0.913, "rounds": 24}]


def spread(seed):
    """Two devices of one rank share a search with one of another, a fourth differs."""
    made = result(count=60, seed=seed)
    part = lambda device: [one for one in made["candidates"] if one["device"] == device]
    for i, one in enumerate(made["candidates"]):
        one["device"] = i % 3
    for i, one in enumerate(made["health"]):
        one["device"] = i % 3
    why = {"code": "device-differs", "message": "GPU 3d:00 takes 9.6 us for a kernel that takes 9.1 us on GPU 3a:00"}
    made["devices"] = [{"name": f"GPU 3{'abcd'[i]}:00 of node", "rank": i // 2, "evaluations": len(part(i)),
                        "ratio": [1, 0.995, 1.012, 1.055][i], "left_out": why if i == 3 else None} for i in range(4)]
    return made


def only_record(seed):
    """Another process has tuned this: a record, and no search."""
    made = result(count=3, seed=seed, failing=0)
    made.update(source="record", winner=None, candidates=[], best=[], final=[], rankings=[], health=[], devices=[], evaluations=0,
                baselines=[], seconds=0, device_busy=0,
                space={"parameters": [], "configurations": 0, "admissible": 0, "inadmissible": []})
    return made


def hostile(seed):
    """Names and messages that would break out of a page that does not escape them."""
    made = result(count=30, seed=seed, failing=0.3, ptx=PTX + "// " + HOSTILE)
    made["device"]["name"] = HOSTILE
    made["devices"].append({"name": HOSTILE, "rank": 1, "evaluations": 0, "ratio": 0,
                            "left_out": {"code": "no-driver", "message": HOSTILE}})
    made["template"] = HOSTILE
    made["problem"][HOSTILE] = HOSTILE
    made["space"]["inadmissible"].append({"rule": HOSTILE, "count": 5})
    made["space"]["parameters"].append({"name": HOSTILE, "values": [HOSTILE, "1"]})
    made["unkept"] = {"code": "unwritable-file", "message": HOSTILE}
    made["command"] = ["ptxloom", HOSTILE]
    made["baselines"] = [{"name": HOSTILE, "problem": {"code": "no-cublaslt", "message": HOSTILE}}]
    for i, one in enumerate(made["candidates"]):
        one["config"][HOSTILE] = HOSTILE if i % 2 else "1"
        if "problem" in one:
            one["problem"]["message"] = HOSTILE
            one["saved"] = HOSTILE
    return made


def nothing_tried(seed):
    made = result(count=0, seed=seed)
    made.update(interrupted=True, health=[])
    return made
