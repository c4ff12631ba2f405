# SPDX-License-Identifier: Apache-2.0
"""torch.ops.ptxloom.linear: activation(x @ weight.T + bias) in bf16 and f16 by ptxloom, for inference.

Compiles binding.cpp on the first import, against the ptxloom that is installed in PTXLOOM_PREFIX as a shared library.
"""
import os
import pathlib

import torch
from torch.utils.cpp_extension import load

_here = pathlib.Path(__file__).resolve().parent
_prefix = pathlib.Path(os.environ['PTXLOOM_PREFIX'])
_lib = next(path.parent for folder in ('lib', 'lib64') for path in (_prefix / folder).rglob('libptxloom.so'))
load(name='ptxloom_torch',
     sources=[str(_here / name) for name in ('binding.cpp', 'linear.cpp')],
     extra_include_paths=[str(_prefix / 'include')],
     extra_cflags=['-std=c++20', '-O2'],
     extra_ldflags=[f'-L{_lib}', f'-Wl,-rpath,{_lib}', '-lptxloom'],
     with_cuda=True, is_python_module=False)


# guide fake {
# What torch.compile needs to know: shapes and types, without the data.
@torch.library.register_fake('ptxloom::linear')
def _(x, weight, bias=None, activation='none'):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))
# }


@torch.library.register_fake('ptxloom::linear_out')
def _(x, weight, bias=None, activation='none', *, out, workspace=None):
    return None


linear = torch.ops.ptxloom.linear
linear_out = torch.ops.ptxloom.linear_out
linear_workspace = torch.ops.ptxloom.linear_workspace
