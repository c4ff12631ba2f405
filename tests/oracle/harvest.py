#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes header_uses.txt: every different instruction of what nvcc makes of the intrinsics in CUDA's headers,
with ptxas's verdict on all targets. Every function that a header declares is called in a kernel of its own, with
arguments read from memory; templates are filled in with the types and values below. Needs nvcc.

usage: harvest.py [-o FILE] [--work FOLDER] [HEADER ...]      (all headers; FOLDER keeps the sources and
the PTX, which a later run reads instead of compiling again)
"""
import argparse, collections, itertools, json, os, pathlib, re, subprocess, tempfile

SPECS = pathlib.Path(__file__).resolve().parents[2] / 'specs'
ARCHS = ['sm_75', 'sm_90a', 'sm_100a', 'sm_120a']
TARGETS = ('sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f '
           'sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f').split()
KERNELS = 400  # of one source file

# What a template parameter may be, by its declaration.
TEMPLATES = [
    (r'typename (_?B8)\b', ['uint8_t']), (r'typename (_?B16)\b', ['uint16_t']),
    (r'typename (_?B32)\b', ['uint32_t']), (r'typename (_?B64)\b', ['uint64_t']),
    (r'typename (_?B128)\b', ['longlong2']), (r'int (_?N32)\b', ['0', '8', '128']),
    (r'(?:typename|class) (\w+)', ['int', 'unsigned short', 'char4', 'float', 'float2', 'float4', 'long long', 'double']),
    (r'bool (\w+)', ['true', 'false']),
]
PRELUDE = '''template <class T> __device__ T get(char* p, int i) { return *(T*)(p + 64 * i); }
template <class F> __device__ void run(char* p, F call) {
  if constexpr (std::is_void_v<decltype(call())>) call(); else *(decltype(call())*)(p + 4096) = call();
}
'''
# What no declaration shows: classes with members, and statements.
BY_HAND = {
    'mma.h': '''
template <int M, int N, int K, class A, class C, class LA, class LB> __global__ void wmma_kernel(A* a, C* c, unsigned n) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, M, N, K, A, LA> fa; fragment<matrix_b, M, N, K, A, LB> fb; fragment<accumulator, M, N, K, C> fc;
  load_matrix_sync(fa, a, n); load_matrix_sync(fb, a + 64, n); load_matrix_sync(fc, c, n, mem_row_major);
  mma_sync(fc, fa, fb, fc); store_matrix_sync(c, fc, n, mem_row_major); store_matrix_sync(c, fc, n, mem_col_major);
}
#define LAYOUTS(M, N, K, A, C) \\
  template __global__ void wmma_kernel<M, N, K, A, C, nvcuda::wmma::row_major, nvcuda::wmma::row_major>(A*, C*, unsigned); \\
  template __global__ void wmma_kernel<M, N, K, A, C, nvcuda::wmma::row_major, nvcuda::wmma::col_major>(A*, C*, unsigned); \\
  template __global__ void wmma_kernel<M, N, K, A, C, nvcuda::wmma::col_major, nvcuda::wmma::row_major>(A*, C*, unsigned); \\
  template __global__ void wmma_kernel<M, N, K, A, C, nvcuda::wmma::col_major, nvcuda::wmma::col_major>(A*, C*, unsigned);
#define SHAPES(A, C) LAYOUTS(16, 16, 16, A, C) LAYOUTS(32, 8, 16, A, C) LAYOUTS(8, 32, 16, A, C)
SHAPES(__half, __half) SHAPES(__half, float) SHAPES(signed char, int) SHAPES(unsigned char, int)
#if __CUDA_ARCH__ >= 800
SHAPES(__nv_bfloat16, float) LAYOUTS(8, 8, 4, double, double)
#endif
''',
    'cooperative_groups.h': '''
namespace cg = cooperative_groups;
__global__ void groups(int* p) {
  auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<8>(block); auto warp = cg::tiled_partition<32>(block);
  block.sync(); tile.sync(); warp.sync();
  int v = p[threadIdx.x];
  v += tile.shfl(v, 3) + tile.shfl_up(v, 1) + tile.shfl_down(v, 1) + tile.shfl_xor(v, 2) + tile.any(v) + tile.all(v);
  v += tile.ballot(v) + tile.match_any(v) + warp.match_any(v);
  int q; v += warp.match_all(v, q); v += q;
  v += cg::reduce(tile, v, cg::plus<int>()) + cg::reduce(warp, v, cg::greater<int>()) + cg::inclusive_scan(tile, v);
  v += cg::reduce(warp, unsigned(v), cg::bit_xor<unsigned>());
  auto active = cg::coalesced_threads(); v += active.size() + active.thread_rank() + active.shfl(v, 0);
  auto part = cg::labeled_partition(warp, v & 3); v += part.thread_rank() + part.size();
  auto half = cg::binary_partition(warp, (v & 1) != 0); v += half.thread_rank();
  cg::invoke_one(warp, [&] { v += 1; });
  p[threadIdx.x] = v;
}
__global__ void grid(int* p) { cg::this_grid().sync(); p[0] = cg::this_grid().thread_rank(); }
__global__ void copies(int* p) {
  __shared__ int s[256]; auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, p, sizeof s); cg::wait(block); p[threadIdx.x + 256] = s[255 - threadIdx.x];
}
#if __CUDA_ARCH__ >= 900
__global__ void cluster(int* p) {
  __shared__ int s[32]; auto c = cg::this_cluster(); s[threadIdx.x] = p[threadIdx.x]; c.sync();
  int* other = c.map_shared_rank(s, c.block_rank() ^ 1); p[threadIdx.x] = other[3] + c.num_blocks() + c.query_shared_rank(other);
  c.barrier_arrive(); c.barrier_wait();
}
#endif
''',
    'cuda_pipeline.h': '''
__global__ void pipeline(const int4* p, int* q) {
  __shared__ int4 s[64]; __shared__ __mbarrier_t bar;
  __pipeline_memcpy_async(&s[threadIdx.x], &p[threadIdx.x], 16);
  __pipeline_memcpy_async((int*)&s[threadIdx.x], (const int*)&p[threadIdx.x], 4, 2);
  __pipeline_memcpy_async((int2*)&s[threadIdx.x], (const int2*)&p[threadIdx.x], 8);
  __pipeline_commit(); __pipeline_wait_prior(2); __pipeline_wait_prior(0);
  __mbarrier_init(&bar, 32); __pipeline_arrive_on(&bar); auto t = __mbarrier_arrive(&bar); while (!__mbarrier_test_wait(&bar, t)) {}
  q[threadIdx.x] = s[63 - threadIdx.x].x;
}
''',
    'builtins': '''
#include <cuda_fp16.h>
__constant__ float table[16]; __device__ int counter; 
__global__ void everything(int n, float f, double d, int* p, float* q, double* r, unsigned long long* u, short* h, char* c) {
  extern __shared__ int s[]; int i = blockIdx.x * blockDim.x + threadIdx.x + gridDim.y;
  switch (n) { case 0: i += 3; break; case 1: i *= 5; break; case 2: i ^= 7; break; case 3: i -= n; break; case 4: i = ~i; break; case 5: i <<= 3; break; case 6: i >>= n; break; default: break; }
  p[i] = i / n + i % 7 + (i > n ? i : n) + __popc(i) + __clz(i) + __brev(i) + __ffs(i) + (int)f + (int)d + (unsigned)i / 3u;
  q[i] = f * q[i] + table[i & 15] + sqrtf(f) + f / q[i + 1] + floorf(f) + sinf(f) + __expf(f) + __logf(f) + __sinf(f) + tanhf(f) + fabsf(f) + (float)n + (float)d + fminf(f, q[2]) + rintf(f) + copysignf(f, q[9]);
  r[i] = d * r[i] + d / r[i + 1] + sqrt(d) + (double)f + (double)n + floor(d) + fmin(d, r[3]) + fabs(d);
  u[i] = u[i + 1] * u[i + 2] + (u[i] >> n) + (u[i] << n) + __umul64hi(u[3], u[4]) + (u[i] / u[7]) + __popcll(u[i]) + (unsigned long long)d + (unsigned long long)f + clock64();
  h[i] = h[i + 1] * 3 + (h[i] >> 2) + (short)f; c[i] = c[i + 1] + (c[i] >> 1) + (char)n + (signed char)f;
  s[threadIdx.x] = p[i]; __syncthreads(); p[i + 1] = s[threadIdx.x ^ 1]; __syncwarp(); __threadfence(); __threadfence_block(); __threadfence_system();
  p[i] += __syncthreads_count(i) + __syncthreads_and(i) + __syncthreads_or(i) + __activemask() + clock() + warpSize;
#if __CUDA_ARCH__ >= 800
  p[i] += __reduce_add_sync(~0u, i) + __reduce_max_sync(~0u, i) + (int)__reduce_xor_sync(~0u, unsigned(i));
#endif
  p[i] += __shfl_sync(~0u, i, n) + __ballot_sync(~0u, i) + __match_any_sync(~0u, i);
  p[i] = atomicAdd(&counter, n) + atomicCAS(p + 3, n, i) + atomicExch(s, n) + atomicMax(p + 5, n) + atomicInc((unsigned*)p + 8, 7u) + atomicDec((unsigned*)p + 9, 7u) + (int)atomicAdd(q + 4, f) + (int)atomicAdd(r + 2, d) + (int)atomicAnd(u + 9, 3ull);
  __nanosleep(20); if (n == 77) __trap(); if (n == 78) asm volatile("exit;"); __prof_trigger(1); if (n == 79) __brkpt();
  int4 v = *(int4*)(p + 4); float2 w = *(float2*)(q + 2); *(int4*)(p + 8) = make_int4(v.y, v.x, v.w, v.z); *(float2*)(q + 6) = make_float2(w.y, w.x);
  p[i + 3] = __ldg(p + 4) + __ldcg(p + 5) + __ldcs(p + 6) + __ldlu(p + 7) + __ldcv(p + 8); __stwb(p, n); __stcg(p, n); __stcs(p, n); __stwt(p, n);
}
''',
}
INCLUDES = {'builtins': '', 'sm_20_intrinsics.h': '', 'mma.h': '#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n',
            'cooperative_groups.h': '#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n'
                                    '#include <cooperative_groups/scan.h>\n#include <cooperative_groups/memcpy_async.h>\n',
            'cuda_pipeline.h': '#include <cuda_pipeline.h>\n#include <cuda_awbarrier_primitives.h>\n',
            'cuda/ptx': '#include <cstdint>\n#include <cuda/ptx>\n'}
# Headers whose functions are found by their declarations.
DECLARED = ['cuda_fp16.h', 'cuda_bf16.h', 'cuda_fp8.h', 'cuda_fp6.h', 'cuda_fp4.h', 'crt/device_functions.h',
            'crt/device_double_functions.h', 'crt/sm_70_rt.h', 'crt/sm_80_rt.h', 'crt/sm_90_rt.h', 'crt/sm_100_rt.h',
            'device_atomic_functions.h', 'sm_20_atomic_functions.h', 'sm_20_intrinsics.h', 'sm_30_intrinsics.h',
            'sm_32_atomic_functions.h', 'sm_32_intrinsics.h', 'sm_35_intrinsics.h', 'sm_60_atomic_functions.h',
            'sm_61_intrinsics.h', 'texture_indirect_functions.h', 'surface_indirect_functions.h']


def include_folder():
    out = subprocess.run(['nvcc', '--dryrun', '-x', 'cu', '/dev/null'], capture_output=True, text=True).stderr
    return pathlib.Path(re.search(r'INCLUDES="-I(\S+?)"', out).group(1))


def without_comments(text):
    text = re.sub(r'//[^\n]*', ' ', re.sub(r'/\*.*?\*/', ' ', text, flags=re.S))
    return re.sub(r'^\s*#(?:[^\n]*\\\n)*[^\n]*', '', text, flags=re.M)


def split_arguments(text):
    """"a, b<c, d> e" as ["a", "b<c, d> e"]."""
    parts, depth = [''], 0
    for c in text:
        depth += (c in '<(') - (c in '>)')
        if c == ',' and depth == 0: parts.append('')
        else: parts[-1] += c
    return [p.strip() for p in parts if p.strip() and p.strip() != 'void']


def functions(text):
    """(template parameters, name, arguments) of each function declared for the device."""
    pattern = re.compile(r'(?:template\s*<(?P<template>[^{};]*?)>\s*)?(?P<decl>(?:(?:static|extern|[A-Z_0-9]*DECL__|_CCCL_DEVICE_API|_CCCL_DEVICE|'
                         r'__device__|__forceinline__|__inline__|inline|__device_builtin__|__cudart_builtin__)\s+)+)'
                         r'(?P<ret>[\w:<>\s*&,]+?)\b(?P<name>\w+)\s*\((?P<args>[^{};]*?)\)\s*(?:__DEF_IF\w*\([^;{]*\))?\s*[;{]')
    for m in pattern.finditer(without_comments(text)):
        if not re.search(r'DECL|_CCCL_DEVICE|__device__', m['decl']) or m['name'].startswith('__cuda_ptx_'): continue
        yield m['template'] or '', m['name'], split_arguments(m['args'])


def fillings(template, enums):
    """Every way to fill in the template's parameters."""
    choices = []
    for parameter in split_arguments(template):
        enum = re.match(r'(?:cuda::ptx::)?(dot_\w+) (\w+)', parameter)
        if enum:
            choices.append([(enum[2], f'cuda::ptx::{enum[1]}::{value}') for value in enums[enum[1]]])
            continue
        for pattern, values in TEMPLATES:
            found = re.match(pattern + r'(?!\s*=)', parameter)
            if found:
                choices.append([(found[1], value) for value in values])
                break
    return itertools.product(*choices)


def argument(text, index, filling):
    """Declarations, and the expression that is passed."""
    text = re.sub(r'=.*$', '', text).strip()
    for name, value in filling: text = re.sub(rf'\b{name}\b', value, text)
    text = text.replace('_CUDA_VSTD::', '')
    array = re.match(r'(.*?)\(&\s*\w*\)\s*\[(\d+)\]$', text)
    if array:
        element = array[1].replace('const', '').strip()
        fill = ''.join(f'a{index}[{i}] = get<{element}>(p, {i + 3});' for i in range(int(array[2])))
        return f'{element} a{index}[{array[2]}]; {fill}', f'a{index}', f'for (int i = 0; i < {array[2]}; ++i) *({element}*)(p + 64 * i) = a{index}[i];'
    array = re.match(r'(.*?)\s*\w+\s*\[\d*\]$', text)
    if array: text = array[1] + '* x'
    if '*' in text:
        kind = text[:text.rindex('*') + 1]
        return '', f'({kind})(p + {8192 + 256 * index})', ''
    named = re.match(r'(.*[\s&>])(\w+)$', text)
    kind = (named[1] if named and not re.fullmatch(r'(const\s+)?(unsigned|signed|long|short|enum)\s*', named[1]) else text)
    kind = kind.replace('const ', '').replace('&', '').strip()
    kind = re.sub(r'\b(const|enum)\b', '', kind).strip()
    if re.search(r'_t<|(sem|space|scope|op|kind|cta_group|n32)_\w*t$', kind):
        return '', ('' if kind.startswith('cuda::') else 'cuda::ptx::') + kind + '{}', ''
    if kind in ('__nv_saturation_t',): return '', '__NV_SATFINITE', ''
    if kind == 'cudaRoundMode': return '', 'cudaRoundNearest', ''
    if kind.endswith('interpretation_t'):
        return '', {'__nv_fp8_interpretation_t': '__NV_E4M3', '__nv_fp6_interpretation_t': '__NV_E3M2'}.get(kind, '__NV_E2M1'), ''
    return f'auto a{index} = get<{kind}>(p, {index});', f'a{index}', ''


def calls(text, namespace, enums):
    """One kernel body for each function and filling."""
    for template, name, arguments in functions(text):
        for filling in fillings(template, enums):
            made = [argument(a, i, filling) for i, a in enumerate(arguments)]
            call = f'{namespace}{name}({", ".join(m[1] for m in made)})'
            if 'DECL__' in call: continue  # a declaration that the pattern did not understand
            before, after = ''.join(m[0] for m in made), ''.join(m[2] for m in made)
            yield (f'{before} run(p, [&] {{ return {call}; }}); {after}', call)


def header_calls(header, include):
    if header == 'cuda/ptx':
        folder = include / 'cccl/cuda/__ptx'
        enums = {m[1]: re.findall(r'\w+', m[2]) for m in
                 re.finditer(r'enum class (dot_\w+)\s*\{(.*?)\}', (folder / 'ptx_dot_variants.h').read_text(), re.S)}
        for file in sorted((folder / 'instructions').rglob('*.h')):
            yield from calls(re.sub(r'(?<!\w)::cuda::', 'cuda::', file.read_text()), 'cuda::ptx::', enums)
        return
    for variant in (header, header + 'pp'):
        if (include / variant).exists(): yield from calls((include / variant).read_text(errors='replace'), '', {})
    if header == 'cuda_fp8.h':
        for kind in ('__NV_E5M2',):
            for body, call in list(calls((include / header).read_text(), '', {})):
                if '__NV_E4M3' in call: yield body.replace('__NV_E4M3', kind), call
    if header == 'cuda_fp6.h':
        for body, call in list(calls((include / header).read_text(), '', {})):
            if '__NV_E3M2' in call: yield body.replace('__NV_E3M2', '__NV_E2M3'), call


def refused_kernels(messages, lines):
    """The kernels of the PTX lines that ptxas refuses (nvcc asks it about inline assembly)."""
    for file in set(re.findall(r'ptxas (\S+\.ptx), line', messages)):
        if not os.path.exists(file): continue
        ptx = pathlib.Path(file).read_text().split('\n')
        for n in re.findall(rf'ptxas {re.escape(file)}, line (\d+);', messages):
            entry = next((m for m in (re.search(r'\.entry _Z\d+(k\d+)Pc', ptx[i]) for i in range(int(n) - 1, -1, -1)) if m), None)
            if entry: yield next(line for line in lines if line.startswith(f'__global__ void {entry[1]}('))


def compile_ptx(source, arch):
    """PTX of a source, less the kernels (one a line) that nvcc refuses for this architecture."""
    for _ in range(12):
        run = subprocess.run(['nvcc', '-ptx', f'-arch={arch}', '-std=c++17', '-w', '-Xcudafe', '--error_limit=100000', '-o', source.with_suffix(f'.{arch}.ptx'), source],
                             capture_output=True, text=True)
        if run.returncode == 0: return source.with_suffix(f'.{arch}.ptx').read_text()
        lines = source.read_text().split('\n')
        bad = {int(a or b) for a, b in re.findall(rf'{source.name}\((\d+)\)|at line (\d+) of "?\S*{source.name}', run.stderr)}
        bad |= {lines.index(line) + 1 for line in refused_kernels(run.stdout + run.stderr, lines)}
        bad = {n for n in bad if lines[n - 1].startswith('__global__ void k')}
        if not bad:
            print(run.stderr[:600])
            return ''
        for n in bad: lines[n - 1] = ''
        source.write_text('\n'.join(lines))
    return ''


def statements(ptx):
    """(statement, types of the registers seen so far) for each instruction of a PTX text."""
    types = {}
    ptx = without_comments(ptx)
    ptx = re.sub(r'^\s*\.(loc|file|pragma)[^\n]*', '', ptx, flags=re.M)
    for line in re.split(r';|\n(?=\s*\$?\w+:)|(?<=[:])\n', ptx):
        line = ' '.join(line.split())
        line = re.sub(r'^(?:[{}]\s*)+', '', line)
        line = re.sub(r'^\$?[\w$]+:\s*', '', line)
        line = re.sub(r'^(?:[{}]\s*)+', '', line)
        declared = re.match(r'\.reg \.(\w+) (.*)', line)
        if declared:
            for name in declared[2].split(','):
                types[re.sub(r'<\d+>', '', name.strip())] = declared[1]
            continue
        line = re.sub(r'^@!?[%\w]+\s*', '', line)
        if re.match(r'[a-z]\w*(?:\.[\w:]+)*(?:\s|$)', line) and not line.startswith('call'): yield line, types


PREFIX = {'pred': '%p', 'b8': '%rb', 'b16': '%rs', 'b32': '%r', 'b64': '%rd', 'b128': '%rq', 'f32': '%f', 'f64': '%fd'}


def normal(line, types):
    """The line with registers renamed in order of appearance by class; None if it needs names of its module."""
    opcode, _, rest = line.partition(' ')
    names, counts, missing = {}, collections.Counter(), False
    def rename(m):
        nonlocal missing
        word = m[0]
        if re.fullmatch(r'%(?:tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|clock\w*|lanemask_\w+|globaltimer\w*|cluster\w*|is_explicit\w*|nclusterid|dynamic_smem_size|total_smem_size|aggr_smem_size|envreg\d+|pm\d+\w*|reserved_smem\w*|current_graph_exec)', word): return word
        if word in names: return names[word]
        kind = types.get(word) or types.get(re.sub(r'\d+$', '', word))
        if kind is None:
            missing = True
            return word
        kind = {'u8': 'b8', 's8': 'b8', 'u16': 'b16', 's16': 'b16', 'u32': 'b32', 's32': 'b32', 'u64': 'b64', 's64': 'b64', 'f16': 'b16', 'f16x2': 'b32'}.get(kind, kind)
        names[word] = f'{PREFIX[kind]}{counts[kind]}'
        counts[kind] += 1
        return names[word]
    rest = re.sub(r'(?<![\w.$%])(?!0[xXfFdDbB]|WARP_SZ\b)%?[A-Za-z_$][\w$]*(?![\w$:])', lambda m: m[0] if m[0] == '_' or m[0] in 'xyzw' else rename(m), rest)
    rest = re.sub(r",\s*", ", ", rest)
    return None if missing else f'{opcode} {rest}'.strip() + ';'


def assembler():
    """The release of CUDA that ptxas is of, and the newest PTX version that it reads."""
    release = re.search(r'release (\d+\.\d+)', subprocess.run(['ptxas', '--version'], capture_output=True, text=True).stdout)[1]
    rows = [row.split() for row in json.loads((SPECS / 'targets.json').read_text())['toolkits'][1:]]
    return release, next(row[1] for row in rows if row[0] == release)


def verdicts(lines, target, version, work):
    """Those of the lines that ptxas takes on the target, up to generated code."""
    head = [f'.version {version}', f'.target {target}', '.address_size 64', '.visible .entry k() {',
            ' '.join(f'.reg .{kind} {prefix}<256>;' for kind, prefix in PREFIX.items())]
    def judge(live, arch):
        while live:
            file = work / 'lines.ptx'
            file.write_text('\n'.join(head + live + ['ret;', '}']))
            run = subprocess.run(['ptxas', '-w', f'-arch={arch}', '-o', '/dev/null', file], capture_output=True, text=True)
            if run.returncode == 0: return live
            bad = {int(n) - len(head) - 1 for n in re.findall(r'line (\d+);', run.stdout + run.stderr)}
            if not bad and len(live) == 1: return []
            if not bad: return judge(live[:len(live) // 2], arch) + judge(live[len(live) // 2:], arch)
            live = [line for i, line in enumerate(live) if i not in bad]
        return live

    taken = []  # a kernel may use tcgen05 for one block or for pairs, not both
    for part in ([line for line in lines if 'cta_group::2' in line], [line for line in lines if 'cta_group::2' not in line]):
        taken += judge(judge(part, target.replace('sm', 'compute')), target)
    return set(taken)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-o', default=pathlib.Path(__file__).with_name('header_uses.txt'), type=pathlib.Path)
    parser.add_argument('--work', type=pathlib.Path)
    parser.add_argument('headers', nargs='*')
    options = parser.parse_args()
    work = options.work or pathlib.Path(tempfile.mkdtemp())
    include = include_folder()
    uses, called = set(), 0
    for header in options.headers or [*BY_HAND, 'cuda/ptx', *DECLARED]:
        stem = re.sub(r'\W', '_', header)
        begin = '#include <type_traits>\n' + INCLUDES.get(header, f'#include <{header.removeprefix("crt/") if header.startswith("crt/sm") else header}>\n' if not header.startswith('crt/') else '') + PRELUDE
        kernels = [] if header in BY_HAND else list(dict.fromkeys(header_calls(header, include)))
        parts = [BY_HAND[header]] if header in BY_HAND else [
            '\n'.join(f'__global__ void k{i}(char* p) {{ {body} }}' for i, (body, _) in enumerate(kernels[at:at + KERNELS]))
            for at in range(0, len(kernels), KERNELS)]
        before, kernels_before = len(uses), called
        for number, part in enumerate(parts):
            for arch in ARCHS:
                source = work / f'{stem}_{number}_{arch}.cu'
                made = source.with_suffix(f'.{arch}.ptx')
                if made.exists():  # of an earlier run in the same folder
                    ptx = made.read_text()
                else:
                    source.write_text(begin + part)
                    ptx = compile_ptx(source, arch)
                called += ptx.count('.entry')
                for line, types in statements(ptx):
                    use = normal(line, types)
                    if use: uses.add(use)
        print(f'{header}: {len(kernels)} calls, {called - kernels_before} kernels, {len(uses) - before} new instructions', flush=True)
    lines = sorted(uses)
    release, version = assembler()
    taken = {target: verdicts(lines, target, version, work) for target in TARGETS}
    groups = collections.defaultdict(list)
    for line in lines: groups[''.join(str(int(line in taken[t])) for t in TARGETS)].append(line)
    with open(options.o, 'w') as out:
        out.write(f'# Instructions that nvcc {release} makes of the intrinsics in CUDA\'s headers, by ptxas {release}\'s verdict on these '
                  f'targets.\n# Written by harvest.py.\nassembler {release}\n')
        out.write('targets ' + ' '.join(TARGETS) + '\n')
        for verdict, members in sorted(groups.items()):
            out.write(f'verdict {verdict}\n' + '\n'.join(members) + '\n')
    print(f'{called} kernels, {len(lines)} instructions')


main()
