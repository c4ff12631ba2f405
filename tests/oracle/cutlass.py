#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels of a CUTLASS checkout to PTX with the nvcc of CUDA_HOME, and has test_roundtrip read, check and print
them: machine code of both texts must be the same. What is compiled stays in --keep, and is not compiled again.

usage: CUDA_HOME=TOOLKIT cutlass.py CHECKOUT TEST_ROUNDTRIP [--keep FOLDER] [TARGET...]
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

# A kernel of each kind of instructions, and its target.
KERNELS = [
    ('sm_80', 'examples/14_ampere_tf32_tensorop_gemm/ampere_tf32_tensorop_gemm.cu'),
    ('sm_80', 'examples/15_ampere_sparse_tensorop_gemm/ampere_sparse_tensorop_gemm.cu'),
    ('sm_89', 'examples/58_ada_fp8_gemm/ada_fp8_gemm.cu'),
    ('sm_90a', 'examples/48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu'),
    ('sm_100a', 'examples/70_blackwell_gemm/70_blackwell_fp16_gemm.cu'),
    ('sm_100a', 'examples/72_blackwell_narrow_precision_gemm/72b_blackwell_nvfp4_nvfp4_gemm.cu'),
    ('sm_103a', 'examples/89_sm103_fp4_ultra_gemm/89_sm103_fp4_ultra_gemm.cu'),
    ('sm_120a', 'examples/79_blackwell_geforce_gemm/79a_blackwell_geforce_nvfp4_bf16_gemm.cu'),
    ('sm_120a', 'examples/80_blackwell_geforce_sparse_gemm/80a_blackwell_geforce_mxfp8_bf16_sparse_gemm.cu'),
    ('sm_121a', 'examples/79_blackwell_geforce_gemm/79c_blackwell_geforce_mixed_mxfp8_mxfp6_bf16_gemm.cu'),
]
INCLUDES = ['include', 'tools/util/include', 'examples/common']


def compiled(nvcc, checkout, target, source, folder):
    """The PTX of a kernel; None where nvcc fails."""
    ptx = folder / f'{pathlib.Path(source).stem}.{target}.ptx'
    if ptx.exists(): return ptx
    made = ptx.with_suffix('.part')
    command = [nvcc, '-ptx', '-std=c++17', '-O3', '--expt-relaxed-constexpr', '-DNDEBUG', f'-arch={target}',
               *(f'-I{checkout / include}' for include in INCLUDES), str(checkout / source), '-o', str(made)]
    if subprocess.run(command).returncode != 0: return None
    made.rename(ptx)
    return ptx


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1])
    parser.add_argument('checkout', type=pathlib.Path)
    parser.add_argument('test_roundtrip')
    parser.add_argument('--keep', type=pathlib.Path)
    parser.add_argument('targets', nargs='*')
    options = parser.parse_intermixed_args()
    nvcc = str(pathlib.Path(os.environ['CUDA_HOME'], 'bin/nvcc'))
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for target, source in KERNELS:
            if options.targets and target not in options.targets: continue
            ptx = compiled(nvcc, options.checkout, target, source, folder)
            if ptx is None: print(f'{source} {target}: nvcc failed', flush=True)
            if ptx is None or subprocess.run([options.test_roundtrip, str(ptx)]).returncode != 0: failed += 1
    sys.exit(1 if failed else 0)


main()
