// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small kernel to give to the tool: y = a * x.
namespace ptxloom::test {

inline constexpr const char* kScalePtx = R"(.version 7.0
.target sm_75
.address_size 64

.visible .entry scale(
    .param .u32 n,
    .param .f32 a,
    .param .u64 .ptr .global x,
    .param .u64 .ptr .global y
)
{
    .reg .pred %p<1>;
    .reg .b32 %r<3>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u32 %r0, [n];
    ld.param.f32 %f0, [a];
    ld.param.u64 %rd0, [x];
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p0, %r1, %r0;
    @%p0 bra done;
    mad.wide.u32 %rd2, %r1, 4, %rd0;
    mad.wide.u32 %rd3, %r1, 4, %rd1;
    ld.global.f32 %f1, [%rd2];
    mul.f32 %f2, %f0, %f1;
    st.global.f32 [%rd3], %f2;
done:
    ret;
}
)";

}  // namespace ptxloom::test
