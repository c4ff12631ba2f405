#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the operators of ptxloom_torch on a GPU, against products in f64. Exits with 1 when one of them is wrong.

usage: check.py [SEED]
"""
import itertools
import sys

import torch
import torch.nn.functional as F

import ptxloom_torch

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else torch.seed() % 2**31
ACTIVATIONS = {'none': lambda x: x, 'relu': F.relu, 'gelu': F.gelu, 'silu': F.silu,
               'gelu_tanh': lambda x: F.gelu(x, approximate='tanh')}
compared = 0


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(shape, device='cuda', dtype=torch.float32).to(dtype)


def expect(y, x, weight, bias=None, activation='none', what=''):
    """Rounding of y, and the accumulation in f32 over k products of the magnitude that they have."""
    global compared
    wide = x.double() @ weight.double().T
    size = x.double().abs() @ weight.double().abs().T
    if bias is not None:
        wide = wide + bias.double()
        size = size + bias.double().abs()
    wanted = ACTIVATIONS[activation](wide)
    rounding = torch.finfo(y.dtype).eps / 2
    allowed = wanted.abs() * rounding * 1.01 + size * x.shape[-1] ** 0.5 * 2**-22 + 2**-20
    wrong = ~((y.double() - wanted).abs() <= allowed)  # NaN is wrong
    compared += y.numel()
    if wrong.any():
        at = wrong.nonzero()[0].tolist()
        raise AssertionError(f'{what}: {wrong.sum().item()} of {y.numel()} elements are wrong, first {at}: '
                             f'{y[tuple(at)].item()}, expected {wanted[tuple(at)].item()}')


def sizes():
    """One layer with any number of rows, beyond those that its first kernels are made for too."""
    for (n, k), dtype in itertools.product([(264, 520), (77, 131), (1536, 64)], [torch.bfloat16, torch.float16]):
        weight, bias = random(n, k, dtype=dtype), random(n, dtype=dtype)
        for m in (1, 3, 17, 64, 200, 1000, 8192, 8211):
            x = random(m, k, dtype=dtype)
            expect(ptxloom_torch.linear(x, weight), x, weight, what=f'{dtype} {m} {n} {k}')
            for activation in ('relu', 'gelu_tanh'):
                expect(ptxloom_torch.linear(x, weight, bias, activation), x, weight, bias, activation,
                       f'{dtype} {m} {n} {k} {activation}')


def views():
    """Slices, transposed and unaligned tensors, three dimensions, no rows at all."""
    weight, wide = random(96, 128), random(50, 300)
    for x in (wide[:, 8:136], wide[:, 1:129], random(128, 50).T, wide[7:8, :128], random(4, 5, 128)):
        expect(ptxloom_torch.linear(x, weight, None, 'silu'), x, weight, None, 'silu', f'strides {x.stride()}')
    x = random(33, 128)
    turned = random(128, 96).T
    expect(ptxloom_torch.linear(x, turned), x, turned, what='turned weight')
    assert ptxloom_torch.linear(x[:0], weight).shape == (0, 96)
    target = torch.full((33, 200), float('nan'), device='cuda', dtype=torch.bfloat16)
    ptxloom_torch.linear_out(x, weight, out=target[:, 40:136])
    expect(target[:, 40:136], x, weight, what='out')
    assert target[:, :40].isnan().all() and target[:, 136:].isnan().all(), 'written beside out'


def streams():
    """The product waits for what its stream does before, and for nothing else."""
    x, weight = random(500, 256), random(320, 256)
    ptxloom_torch.linear(x, weight)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late = torch.full_like(x, float('nan'))
        torch.cuda._sleep(50_000_000)
        late.copy_(x)
        y = ptxloom_torch.linear(late, weight)
    stream.synchronize()
    expect(y, x, weight, what='side stream')


def graphs():
    """Capture by torch.cuda.graph: one kernel without, one with a workspace, which each replay must find zeroed."""
    needs = set()
    for m, n, k in ((100, 264, 520), (256, 256, 16384), (51, 77, 131)):
        x, weight = random(m, k), random(n, k)
        needs.add(ptxloom_torch.linear_workspace(x, weight) > 0)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side): ptxloom_torch.linear(x, weight)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph): y = ptxloom_torch.linear(x, weight)
        for _ in range(3):
            x.copy_(random(m, k))
            y.fill_(float('nan'))
            graph.replay()
            expect(y, x, weight, what=f'graph {m} {n} {k}')
        workspace = torch.zeros(ptxloom_torch.linear_workspace(x, weight), dtype=torch.uint8, device='cuda')
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph): ptxloom_torch.linear_out(x, weight, out=y, workspace=workspace)
        for _ in range(3):
            x.copy_(random(m, k))
            y.fill_(float('nan'))
            graph.replay()
            expect(y, x, weight, what=f'graph with its own workspace {m} {n} {k}')
    assert needs == {False, True}, 'one of these layers should need a workspace, and one none'


# guide mlp {
class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = random(384, 256) / 16, random(256, 384) / 16

    def forward(self, x):
        return ptxloom_torch.linear(ptxloom_torch.linear(x, self.up, None, 'silu') * 2, self.down)
# }


def compiled():
    """torch.compile takes the operator without a graph break, for any number of rows by one compilation."""
    model, x = Mlp(), random(64, 256)
    torch.library.opcheck(ptxloom_torch.linear.default, (x, model.up, random(384), 'gelu'))
    workspace = torch.zeros(max(256, ptxloom_torch.linear_workspace(x, model.up)), dtype=torch.uint8, device='cuda')
    for given in (None, workspace):
        torch.library.opcheck(ptxloom_torch.linear_out.default, (x, model.up),
                              {'out': random(64, 384), 'workspace': given})
    module = torch.compile(model, fullgraph=True, dynamic=True)
    with torch.no_grad():
        for m in (64, 65, 3, 700):
            x = random(m, 256)
            hidden = ptxloom_torch.linear(x, model.up, None, 'silu') * 2
            expect(module(x), hidden, model.down, what=f'compiled, {m} rows')
        frozen = torch.compile(model, fullgraph=True, mode='reduce-overhead')
        x = random(96, 256)
        for _ in range(4):
            hidden = ptxloom_torch.linear(x, model.up, None, 'silu') * 2
            expect(frozen(x), hidden, model.down, what='compiled into a CUDA graph')
            x = random(96, 256)


def refused():
    """Each mistake has a message that names it, and a capture that fails leaves the process usable."""
    x, weight = random(8, 64), random(16, 64)
    for wrong, word in ((lambda: ptxloom_torch.linear(x, random(16, 63)), 'must be equal'),
                        (lambda: ptxloom_torch.linear(x.float(), weight.float()), 'bfloat16 and float16'),
                        (lambda: ptxloom_torch.linear(x, weight.half()), 'weight is Half'),
                        (lambda: ptxloom_torch.linear(x, weight, random(15)), 'with 16 elements'),
                        (lambda: ptxloom_torch.linear(x, weight, None, 'tanh'), "no activation 'tanh'"),
                        (lambda: ptxloom_torch.linear(x.cpu(), weight.cpu()), 'CPU'),
                        (lambda: ptxloom_torch.linear_out(x, weight, out=random(8, 17)), 'with 16 columns')):
        try:
            wrong()
        except (RuntimeError, NotImplementedError) as error:
            assert word in str(error), f'{word!r} is not in: {error}'
        else:
            raise AssertionError(f'not refused: {word}')
    fresh = random(24, 72)
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()): ptxloom_torch.linear(random(8, 72), fresh)
    except RuntimeError as error:
        assert 'not-prepared' in str(error) or 'never ran' in str(error), str(error)
    else:
        raise AssertionError('a layer that never ran was captured')
    seen = random(264, 16384)  # a known layer, but with a number of rows that is new
    ptxloom_torch.linear(random(256, 16384), seen)
    for rows in (255, 8000):
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()): ptxloom_torch.linear(random(rows, 16384), seen)
        except RuntimeError as error:
            assert 'not-prepared' in str(error) or 'never ran' in str(error), str(error)
        else:
            raise AssertionError(f'{rows} rows that never ran were captured')
    expect(ptxloom_torch.linear(x, weight), x, weight, what='after captures that failed')
    assert ptxloom_torch.linear_workspace(x, random(0, 64)) == 0
    try:
        ptxloom_torch.linear(x, random(16, 64).requires_grad_()).sum().backward()
    except RuntimeError as error:
        assert 'not implemented' in str(error), str(error)
    else:
        raise AssertionError('a gradient was computed')


torch.manual_seed(SEED)
failed = []
for part in (sizes, views, streams, graphs, compiled, refused):
    before = compared
    try:
        part()
        torch.cuda.synchronize()
        print(f'{part.__name__:10} ok, {compared - before} elements compared')
    except Exception as error:
        failed.append(part.__name__)
        print(f'{part.__name__:10} FAILED: {type(error).__name__}: {error}')
print(f'seed {SEED}, torch {torch.__version__}, {torch.cuda.get_device_name()}')
sys.exit(1 if failed else 0)
