// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// A module that uses a bit of everything the reader supports.
inline constexpr std::string_view kSamplePtx = R"(// ptxloom.launch {"entry": "sample"}
// made by hand

.version 8.0
.target sm_90a
.address_size 64

.global .align 16 .b32 table[4] = {1, 2, 3, 4};
.const .f32 half = 0f3F000000;
.extern .shared .align 128 .b8 dynamic[];

.visible .entry sample(
    .param .u64 .ptr .global .align 16 x,
    .param .align 8 .b8 blob[16],
    .param .u32 n
)
.reqntid 128, 1, 1
.minnctapersm 2
{
    .reg .pred %p<3>;
    .reg .b16 %h<4>;
    .reg .b32 %r<12>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<5>;
    .reg .pred again;
    .reg .b16 %rs<3>;
    .shared .align 16 .b8 tile[4096];

    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [blob+8];
    mov.u32 %r2, %tid.x;
    setp.lt.and.u32 %p1|%p2, %r2, %r1, !again;

    // ---- main loop ----
loop:
    .pragma "nounroll";
    @!%p1 bra done;
    // one element
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.v2.f32 {%f2, _}, [%rd3+8];
    fma.rn.f32 %f3, %f2, %f1, 0f3F800000;
    st.shared.v4.b32 [tile+16], {%f3, %f3, %f2, %f1};
    mov.b32 {%h1, %h2}, %r2;
    mov.b32 %r3, {%rs1, %h2};
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
    mov.u32 %r7, dynamic+4;
    add.s32 %r2, %r2, -128;
    @%p2 bra loop;

    // ---- done ----
done:
    ret;
}
)";
