#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times torch.ops.ptxloom.linear beside torch.mm: what a call costs the host, and what its kernel takes on the GPU.

Host: medians of rounds of 100 calls into an output of the caller's, with a workspace of the caller's. GPU: graphs of 20 products on buffers that together
are larger than L2, in turns, medians of rounds. Random data, bf16.

usage: bench.py [ROUNDS]
"""
import statistics
import sys
import time

import torch

import ptxloom_torch

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 50
SHAPES = [(1, 4096, 4096), (16, 4096, 4096), (100, 4096, 4096), (512, 4096, 4096), (4096, 4096, 4096),
          (777, 1000, 1000), (256, 11008, 4096), (2048, 4096, 11008)]


def host(call):
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(100): call()
        times.append((time.perf_counter() - begin) * 1e4)
        torch.cuda.synchronize()
    return statistics.median(times)


def captured(call, sets):
    for each in sets: call(*each)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for at in range(20): call(*sets[at % len(sets)])
    return graph


def gpu(graphs):
    """Microseconds a product, for each graph; the graphs take turns."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = [[] for _ in graphs]
    for _ in range(ROUNDS):
        for graph, mine in zip(graphs, times):
            graph.replay()
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            mine.append(begin.elapsed_time(end) * 1e3 / 20)
    return [statistics.median(mine) for mine in times]


def ours(x, weight, y, workspace): ptxloom_torch.linear_out(x, weight, out=y, workspace=workspace)


def theirs(x, weight, y, _): torch.mm(x, weight.t(), out=y)


print(f'torch {torch.__version__}, {torch.cuda.get_device_name()}, bf16, us: medians of {ROUNDS} rounds')
print(f'{"m n k":>18} {"host linear":>12} {"host mm":>9} {"GPU linear":>11} {"GPU mm":>8}  mm/linear')
for m, n, k in SHAPES:
    count = max(2, min(20, 1 + 120_000_000 // (2 * (m * k + n * k + m * n))))
    pairs = [(torch.randn(m, k, device='cuda').bfloat16(), torch.randn(n, k, device='cuda').bfloat16()) for _ in range(count)]
    workspace = torch.zeros(ptxloom_torch.linear_workspace(*pairs[0]), device='cuda', dtype=torch.uint8)
    sets = [(x, weight, torch.empty(m, n, device='cuda', dtype=torch.bfloat16), workspace) for x, weight in pairs]
    ours_host, theirs_host = host(lambda: ours(*sets[0])), host(lambda: theirs(*sets[0]))
    ours_gpu, theirs_gpu = gpu([captured(ours, sets), captured(theirs, sets)])
    print(f'{f"{m} {n} {k}":>18} {ours_host:12.2f} {theirs_host:9.2f} {ours_gpu:11.2f} {theirs_gpu:8.2f} '
          f'{theirs_gpu / ours_gpu:10.2f}')
