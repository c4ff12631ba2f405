#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What torch.mm costs the host, measured as launch_overhead measures a launch: medians of rounds of 100 calls.

usage: launch_overhead.py [ROUNDS]
"""
import statistics
import sys
import time

import torch

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
a, b = (torch.randn(256, 256, device='cuda', dtype=torch.bfloat16) for _ in range(2))
d = torch.empty(256, 256, device='cuda', dtype=torch.bfloat16)
times = []
for _ in range(rounds):
    begin = time.perf_counter()
    for _ in range(100): torch.mm(a, b, out=d)
    times.append((time.perf_counter() - begin) * 1e4)
    torch.cuda.synchronize()
print(f'torch {torch.__version__} torch.mm bf16 256 256 256: {statistics.median(times):.2f} us')
