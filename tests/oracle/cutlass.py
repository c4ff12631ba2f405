#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels of a CUTLASS checkout to PTX with the nvcc of CUDA_HOME, and has test_roundtrip read, check and print
them: machine code of both texts must be the same. What is compiled stays in --keep, and is not compiled again.

usage: CUDA_HOME=TOOLKIT cutlass.py CHECKOUT TEST_ROUNDTRIP [--keep FOLDER] [--long] [TARGET...]
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

# A kernel of each kind of instructions, in examples/, and its target: eight minutes of compilation on one core.
KERNELS = [
    ('sm_80', '14_ampere_tf32_tensorop_gemm/ampere_tf32_tensorop_gemm.cu'),
    ('sm_80', '15_ampere_sparse_tensorop_gemm/ampere_sparse_tensorop_gemm.cu'),
    ('sm_80', '16_ampere_tensorop_conv2dfprop/ampere_tensorop_conv2dfprop.cu'),
    ('sm_86', '41_fused_multi_head_attention/fused_multihead_attention_fixed_seqlen.cu'),
    ('sm_87', '18_ampere_fp64_tensorop_affine2_gemm/ampere_fp64_tensorop_affine2_gemm.cu'),
    ('sm_89', '58_ada_fp8_gemm/ada_fp8_gemm.cu'),
    ('sm_90a', '48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu'),
    ('sm_90a', '62_hopper_sparse_gemm/62_hopper_sparse_gemm.cu'),
    ('sm_90a', '67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling/'
               '67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling.cu'),
    ('sm_90a', '69_hopper_mixed_dtype_grouped_gemm/69_hopper_int4_bf16_grouped_gemm.cu'),
    ('sm_100a', '70_blackwell_gemm/70_blackwell_fp16_gemm.cu'),
    ('sm_100a', '72_blackwell_narrow_precision_gemm/72b_blackwell_nvfp4_nvfp4_gemm.cu'),
    ('sm_100a', '76_blackwell_conv/76_blackwell_conv_wgrad.cu'),
    ('sm_100a', '86_blackwell_mixed_dtype_gemm/86_blackwell_mixed_dtype.cu'),
    ('sm_103a', '84_blackwell_narrow_precision_sparse_gemm/84b_blackwell_mixed_mxfp8_bf16_sparse_gemm.cu'),
    ('sm_103a', '89_sm103_fp4_ultra_gemm/89_sm103_fp4_ultra_gemm.cu'),
    ('sm_110a', '84_blackwell_narrow_precision_sparse_gemm/84a_blackwell_nvfp4_bf16_sparse_gemm.cu'),
    ('sm_120a', '79_blackwell_geforce_gemm/79a_blackwell_geforce_nvfp4_bf16_gemm.cu'),
    ('sm_120a', '80_blackwell_geforce_sparse_gemm/80a_blackwell_geforce_mxfp8_bf16_sparse_gemm.cu'),
    ('sm_120a', '80_blackwell_geforce_sparse_gemm/80b_blackwell_geforce_nvfp4_nvfp4_sparse_gemm.cu'),
    ('sm_121a', '79_blackwell_geforce_gemm/79c_blackwell_geforce_mixed_mxfp8_mxfp6_bf16_gemm.cu'),
]
# Attention, five minutes each: with --long.
LONG = [
    ('sm_90a', '88_hopper_fmha/88_hopper_fmha.cu'),
    ('sm_100a', '77_blackwell_fmha/77_blackwell_fmha.cu'),
]
INCLUDES = ['include', 'tools/util/include', 'examples/common']


def compiled(nvcc, checkout, target, source, folder):
    """The PTX of a kernel; None where nvcc fails."""
    source = checkout / 'examples' / source
    ptx = folder / f'{source.stem}.{target}.ptx'
    if ptx.exists(): return ptx
    made = ptx.with_suffix('.part')
    command = [nvcc, '-ptx', '-std=c++17', '-O3', '--expt-relaxed-constexpr', '-DNDEBUG', f'-arch={target}',
               *(f'-I{checkout / include}' for include in INCLUDES), f'-I{source.parent}', str(source), '-o', str(made)]
    if subprocess.run(command).returncode != 0: return None
    made.rename(ptx)
    return ptx


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1])
    parser.add_argument('checkout', type=pathlib.Path)
    parser.add_argument('test_roundtrip')
    parser.add_argument('--keep', type=pathlib.Path)
    parser.add_argument('--long', action='store_true')
    parser.add_argument('targets', nargs='*')
    options = parser.parse_intermixed_args()
    nvcc = str(pathlib.Path(os.environ['CUDA_HOME'], 'bin/nvcc'))
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for target, source in KERNELS + (LONG if options.long else []):
            if options.targets and target not in options.targets: continue
            ptx = compiled(nvcc, options.checkout, target, source, folder)
            if ptx is None: print(f'{source} {target}: nvcc failed', flush=True)
            if ptx is None or subprocess.run([options.test_roundtrip, str(ptx)]).returncode != 0: failed += 1
    sys.exit(1 if failed else 0)


main()
