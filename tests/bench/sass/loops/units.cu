// SPDX-License-Identifier: Apache-2.0
// Loops of one instruction each, from which figures of specs/sass/issue.json come: the cost of the loop itself, units and
// latencies that ptxloom bench insn does not separate. The model is not tested by them.
#include "frame.cuh"

using F8 = Values<8, float>;
using U8 = Values<8, unsigned>;

// The loop: 1 to 64 independent or dependent instructions.
#define FFMAS(count) LOOP(loop_##count, F8 x(in), x.sum(), UNROLL for (int k = 0; k < count; ++k) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x.at[k % 4]) : "f"(x.at[4]), "f"(x.at[5])))
FFMAS(1)
FFMAS(2)
FFMAS(4)
FFMAS(8)
FFMAS(16)
FFMAS(32)
FFMAS(64)
FFMAS(128)
FFMAS(256)
FFMAS(1024)

// 16 independent instructions of a kind, 4 streams; and the same as one chain.
#define UNIT(name, type, letter, text)                                                                            \
  LOOP(name##_streams, type x(in), x.sum(), UNROLL for (int k = 0; k < 16; ++k) asm volatile(text : "+" letter(x.at[k % 4]) : letter(x.at[4]), letter(x.at[5]))) \
  LOOP(name##_chain, type x(in), x.sum(), UNROLL for (int k = 0; k < 16; ++k) asm volatile(text : "+" letter(x.at[0]) : letter(x.at[4]), letter(x.at[5])))
UNIT(iadd, U8, "r", "add.u32 %0, %0, %1;")
UNIT(lop3, U8, "r", "lop3.b32 %0, %0, %1, %2, 0x6a;")
UNIT(shf, U8, "r", "shf.l.wrap.b32 %0, %0, %1, %2;")
UNIT(imad, U8, "r", "mad.lo.u32 %0, %0, %1, %2;")
UNIT(imad_hi, U8, "r", "mad.hi.u32 %0, %0, %1, %2;")
UNIT(prmt, U8, "r", "prmt.b32 %0, %0, %1, %2;")
UNIT(imnmx, U8, "r", "min.u32 %0, %0, %1;")
UNIT(idp, U8, "r", "dp4a.u32.u32 %0, %1, %2, %0;")
UNIT(popc, U8, "r", "popc.b32 %0, %0;")
UNIT(brev, U8, "r", "brev.b32 %0, %0;")
UNIT(fmnmx, F8, "f", "min.f32 %0, %0, %1;")
UNIT(fadd, F8, "f", "add.f32 %0, %0, %1;")
UNIT(fmul, F8, "f", "mul.f32 %0, %0, %1;")
UNIT(fma, F8, "f", "fma.rn.f32 %0, %0, %1, %2;")
UNIT(fma_three, F8, "f", "fma.rn.f32 %0, %1, %2, %0;")
UNIT(ex2, F8, "f", "ex2.approx.ftz.f32 %0, %0;")
UNIT(rsqrt, F8, "f", "rsqrt.approx.ftz.f32 %0, %0;")
UNIT(i2f, U8, "r", "{.reg .f32 f; cvt.rn.f32.u32 f, %0; mov.b32 %0, f;}")
UNIT(f2i, F8, "f", "{.reg .b32 r; cvt.rzi.s32.f32 r, %0; mov.b32 %0, r;}")
UNIT(frnd, F8, "f", "cvt.rni.f32.f32 %0, %0;")
UNIT(f2f16, F8, "f", "{.reg .b32 r; cvt.rn.f16x2.f32 r, %0, %1; mov.b32 %0, r;}")
UNIT(f2e4m3, U8, "r", "{.reg .f32 f; .reg .b16 h; mov.b32 f, %0; cvt.rn.satfinite.e4m3x2.f32 h, f, f; cvt.u32.u16 %0, h;}")
UNIT(sel, U8, "r", "{.reg .pred p; setp.lt.u32 p, %0, %1; selp.b32 %0, %1, %2, p;}")
UNIT(hfma2, U8, "r", "fma.rn.f16x2 %0, %0, %1, %2;")
UNIT(hadd2, U8, "r", "add.f16x2 %0, %0, %1;")
UNIT(hmul2, U8, "r", "mul.f16x2 %0, %0, %1;")
UNIT(hmnmx2, U8, "r", "min.f16x2 %0, %0, %1;")
UNIT(bfma2, U8, "r", "fma.rn.bf16x2 %0, %0, %1, %2;")
UNIT(shfl, U8, "r", "shfl.sync.bfly.b32 %0, %0, 1, 31, -1;")
UNIT(vote, U8, "r", "{.reg .pred p; setp.ne.u32 p, %0, %1; vote.sync.ballot.b32 %0, p, -1;}")
UNIT(movm, U8, "r", "movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;")
UNIT(redux, U8, "r", "redux.sync.add.u32 %0, %0, -1;")

// f64
using D8 = Values<6, double>;
UNIT(dfma, D8, "d", "fma.rn.f64 %0, %0, %1, %2;")
UNIT(dadd, D8, "d", "add.f64 %0, %0, %1;")

// Pairs of units: do they share one?
#define PAIR(name, text_a, text_b) LOOP(name, U8 x(in), x.sum(), UNROLL for (int k = 0; k < 8; ++k) { asm volatile(text_a : "+r"(x.at[k % 2]) : "r"(x.at[4]), "r"(x.at[5])); asm volatile(text_b : "+r"(x.at[2 + k % 2]) : "r"(x.at[4]), "r"(x.at[5])); })
#define FFMA_BITS "{.reg .f32 a, b, c; mov.b32 a, %0; mov.b32 b, %1; mov.b32 c, %2; fma.rn.f32 a, a, b, c; mov.b32 %0, a;}"
PAIR(pair_ffma_imad, FFMA_BITS, "mad.lo.u32 %0, %0, %1, %2;")
PAIR(pair_ffma_lop3, FFMA_BITS, "lop3.b32 %0, %0, %1, %2, 0x6a;")
PAIR(pair_ffma_hfma2, FFMA_BITS, "fma.rn.f16x2 %0, %0, %1, %2;")
PAIR(pair_imad_lop3, "mad.lo.u32 %0, %0, %1, %2;", "lop3.b32 %0, %0, %1, %2, 0x6a;")
PAIR(pair_imad_hfma2, "mad.lo.u32 %0, %0, %1, %2;", "fma.rn.f16x2 %0, %0, %1, %2;")
PAIR(pair_imad_iadd, "mad.lo.u32 %0, %0, %1, %2;", "add.u32 %0, %0, %1;")
PAIR(pair_lop3_iadd, "lop3.b32 %0, %0, %1, %2, 0x6a;", "add.u32 %0, %0, %1;")
PAIR(pair_ffma_iadd, FFMA_BITS, "add.u32 %0, %0, %1;")
PAIR(pair_ex2_popc, "{.reg .f32 a; mov.b32 a, %0; ex2.approx.ftz.f32 a, a; mov.b32 %0, a;}", "popc.b32 %0, %0;")
PAIR(pair_shfl_ex2, "shfl.sync.bfly.b32 %0, %0, 1, 31, -1;", "{.reg .f32 a; mov.b32 a, %0; ex2.approx.ftz.f32 a, a; mov.b32 %0, a;}")

// Shared memory: loads whose addresses are known early, and stores.
#define SHARED __shared__ __align__(16) float s[4096]; fill(s, in); const unsigned p = shared_address(s)
#define LOADS(name, bytes, text)                                                                                  \
  LOOP(name, SHARED + t % 256 * bytes; F8 x(in), x.sum(), UNROLL for (int k = 0; k < 8; ++k) { float a, b, c, d; a = b = c = d = 0; asm volatile(text : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "r"(p + k * 512) : "memory"); x.at[k % 4] += a; x.at[4 + k % 4] += b + c + d; })
LOADS(lds_32, 4, "ld.shared.b32 %0, [%4];")
LOADS(lds_64, 8, "ld.shared.v2.b32 {%0, %1}, [%4];")
LOADS(lds_128, 16, "ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];")
#define STORES(name, bytes, text) LOOP(name, SHARED + t % 256 * bytes; F8 x(in), x.sum() + s[t], UNROLL for (int k = 0; k < 8; ++k) asm volatile(text ::"f"(x.at[0]), "f"(x.at[1]), "f"(x.at[2]), "f"(x.at[3]), "r"(p + k * 512) : "memory"))
STORES(sts_32, 4, "st.shared.b32 [%4], %0;")
STORES(sts_64, 8, "st.shared.v2.b32 [%4], {%0, %1};")
STORES(sts_128, 16, "st.shared.v4.b32 [%4], {%0, %1, %2, %3};")
LOOP(ldsm_4, SHARED + t % 32 * 16; unsigned r[4][4] = {}; unsigned y = 0, static_cast<float>(y), UNROLL for (int k = 0; k < 4; ++k) { ldmatrix4(r[k], p + 512 * k); y ^= r[k][0]; })
LOOP(barrier, float x = in[t], x, __syncthreads(); x = x * 0.5f)
LOOP(barrier_4, float x = in[t], x, UNROLL for (int k = 0; k < 4; ++k) { __syncthreads(); x = fmaf(x, 0.5f, 0.25f); })

// Global memory in L1
#define GLOBALS(name, bytes, text)                                                                                \
  LOOP(name, const char* p = reinterpret_cast<const char*>(in) + t % 64 * bytes; F8 x(in), x.sum(), UNROLL for (int k = 0; k < 8; ++k) { float a, b, c, d; a = b = c = d = 0; asm volatile(text : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "l"(p + k * 1024)); x.at[k % 4] += a; x.at[4 + k % 4] += b + c + d; })
GLOBALS(ldg_32, 4, "ld.global.nc.b32 %0, [%4];")
GLOBALS(ldg_64, 8, "ld.global.nc.v2.b32 {%0, %1}, [%4];")
GLOBALS(ldg_128, 16, "ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];")

// Tensor cores
#define MMAS(name, count, distinct) LOOP(name, const Operands<4> a(in, 3); const Operands<2> b(in, 11); float d[distinct][4] = {}, [&] { float total = 0; for (auto& row : d) for (float one : row) total += one; return total; }(), UNROLL for (int k = 0; k < count; ++k) mma(d[k % distinct], a.at, b.at))
MMAS(hmma_1, 16, 1)
MMAS(hmma_2, 16, 2)
MMAS(hmma_4, 16, 4)
MMAS(hmma_6, 12, 6)
