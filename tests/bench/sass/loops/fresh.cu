// SPDX-License-Identifier: Apache-2.0
// Loops that were written and measured after the model was done: nothing of it was changed for them.
#include "frame.cuh"

using F4 = Values<4, float>;
using F8 = Values<8, float>;
using U4 = Values<4, unsigned>;
using U8 = Values<8, unsigned>;
using D2 = Values<2, double>;

LOOP(lerp_rows, F8 x(in); const F4 c(in, 9), x.sum() + c.sum(), UNROLL for (int k = 0; k < 8; ++k) x.at[k] = fmaf(c.at[k % 4], x.at[(k + 1) % 8] - x.at[k], x.at[k]))
LOOP(rms_part, __shared__ float s[4096]; fill(s, in); float q = 0, q, UNROLL for (int k = 0; k < 4; ++k) { const float v = s[t + 1024 * k]; q = fmaf(v, v, q); } q *= rsqrtf(q + 1.0f))
LOOP(gelu, F4 x(in), x.sum(), UNROLL for (int k = 0; k < 4; ++k) { const float u = 0.7978845608f * fmaf(0.044715f * x.at[k], x.at[k] * x.at[k], x.at[k]); float h; asm("tanh.approx.f32 %0, %1;" : "=f"(h) : "f"(u)); x.at[k] = 0.5f * x.at[k] * (1.0f + h) + 0.4f; })
LOOP(dequantize_4_bits, U8 x(in); F8 y(in, 3), x.sum() + y.sum(), UNROLL for (int k = 0; k < 8; ++k) { const int nibble = static_cast<int>(x.at[k] >> (4 * k)) & 15; y.at[k] = fmaf(static_cast<float>(nibble - 8), 0.125f, y.at[k] * 0.5f); x.at[k] += 0x9e3779b9u ^ x.at[(k + 1) % 8]; })
LOOP(murmur, U4 x(in), x.sum(), UNROLL for (int k = 0; k < 4; ++k) { x.at[k] ^= x.at[k] >> 16; x.at[k] *= 0x85ebca6bu; x.at[k] ^= x.at[k] >> 13; x.at[k] *= 0xc2b2ae35u; x.at[k] ^= x.at[(k + 1) % 4] >> 16; })
LOOP(philox, U4 x(in), x.sum(), UNROLL for (int k = 0; k < 2; ++k) { const unsigned h0 = __umulhi(0xD2511F53u, x.at[0]), l0 = 0xD2511F53u * x.at[0]; const unsigned h1 = __umulhi(0xCD9E8D57u, x.at[2]), l1 = 0xCD9E8D57u * x.at[2]; x.at[0] = h1 ^ x.at[1] ^ 0x9E3779B9u; x.at[1] = l1; x.at[2] = h0 ^ x.at[3] ^ 0xBB67AE85u; x.at[3] = l0; })
LOOP(stencil, __shared__ float s[4096]; fill(s, in); float x = in[t], x, const float* p = s + (t + i * 32) % 2048; x = 0.25f * (p[0] + p[1] + p[64] + p[65]) + 0.5f * p[33] + 0.125f * x)
LOOP(prefix, float x = in[t], x, UNROLL for (int d = 1; d < 32; d *= 2) { const float y = __shfl_up_sync(~0u, x, d); if (t % 32 >= d) x += y; } x *= 0.0625f)
LOOP(kahan, F4 x(in); float s = 0; float c = 0, x.sum() + s + c, UNROLL for (int k = 0; k < 4; ++k) { const float y = x.at[k] - c; const float total = s + y; c = (total - s) - y; s = total; })
LOOP(double_horner, D2 x(in); D2 y(in, 5), x.sum() + y.sum(), UNROLL for (int k = 0; k < 2; ++k) { double p = 0.001; UNROLL for (int j = 0; j < 5; ++j) p = fma(p, x.at[k], 0.25 + j); y.at[k] = p; x.at[k] = x.at[k] * 0.5 + p * 0.01; })
LOOP(argmax, __shared__ float s[4096]; fill(s, in); float best = 0; int place = 0, best + place, UNROLL for (int k = 0; k < 4; ++k) { const int at = (t + 1024 * k + i) & 4095; const float v = s[at]; if (v > best) { best = v; place = at; } } best *= 0.999f)
LOOP(half_dot, Halves<8> x(in); const Halves<8> y(in, 9); float s = 0, x.sum() + s, __half2 a = __float2half2_rn(0.0f); UNROLL for (int k = 0; k < 8; ++k) a = __hfma2(x.at[k], y.at[k], a); s = s * 0.5f + __low2float(a) + __high2float(a); x.at[0] = a)
LOOP(pack_and_store, __shared__ __align__(16) unsigned s[4096]; F8 x(in), x.sum() + s[t], UNROLL for (int k = 0; k < 8; k += 2) { const __half2 h = __floats2half2_rn(x.at[k], x.at[k + 1]); s[t + 1024 * (k / 2)] = *reinterpret_cast<const unsigned*>(&h); x.at[k] = fmaf(x.at[k], 0.75f, 0.25f); })
LOOP(gather_vectors, __shared__ __align__(16) float s[4096]; fill(s, in); float4 a = make_float4(0, 0, 0, 0); unsigned at = t, a.x + a.y + a.z + a.w, const float4 v = reinterpret_cast<const float4*>(s)[(at + t) % 1024]; a.x = fmaf(v.x, 0.5f, a.y); a.y += v.y; a.z = fmaxf(a.z, v.z); a.w = fmaf(v.w, v.x, a.w * 0.5f); at += 32)
LOOP_OF(512, mma_softmax, const Operands<4> a(in, 3); const Operands<2> b(in, 11); float d[2][4] = {}; float m = 1.0f, d[0][0] + d[0][1] + d[1][0] + d[1][3] + m, UNROLL for (int k = 0; k < 2; ++k) { mma(d[k], a.at, b.at); UNROLL for (int j = 0; j < 4; ++j) { m = fmaxf(m * 0.99f, d[k][j]); d[k][j] = exp2f(d[k][j] - m); } })
LOOP_OF(256, mma_wide, const Operands<4> a(in, 3); const Operands<4> e(in, 5); const Operands<2> b(in, 11); const Operands<2> f(in, 13); float d[8][4] = {}, d[0][0] + d[1][1] + d[2][2] + d[3][3] + d[4][0] + d[5][1] + d[6][2] + d[7][3], UNROLL for (int k = 0; k < 8; ++k) { mma(d[k], k % 2 ? a.at : e.at, b.at); mma(d[k], k % 2 ? e.at : a.at, f.at); })
