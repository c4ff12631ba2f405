# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel, compiled without a GPU and run under `ptxloom sanitize`. Needs `pip install triton numpy`.

usage: softmax.py [PTXLOOM]
"""
# guide sanitize {
import subprocess, sys, numpy, triton, triton.language as tl
from triton.backends.compiler import GPUTarget

@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    powers = tl.exp(tl.load(x + row * n + column, mask=column < n, other=float("-inf")))
    tl.store(out + row * n + column, powers / tl.sum(powers), mask=column < n)

source = triton.compiler.ASTSource(softmax, {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 1024})
kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32))
open("softmax.ptx", "w").write(kernel.asm["ptx"])
numpy.save("x.npy", numpy.random.randn(7, 777).astype("float32"))
arguments = ["in=x.npy", "out=f32[7,777]:out.npy", "s32=777", "null", "null"]  # Triton adds two pointers to scratch memory
sys.exit(subprocess.call([sys.argv[1] if sys.argv[1:] else "ptxloom", "sanitize", "softmax.ptx", "--grid", "7", "--block",
                          str(32 * kernel.metadata.num_warps), "--smem", str(kernel.metadata.shared), "--arg", *arguments]))
# }
