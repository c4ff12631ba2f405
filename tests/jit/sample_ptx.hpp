// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// A kernel with something of each resource: x[i] *= a, and 1 KB of shared and 64 bytes of local memory.
/// Line 13 is the multiplication.
inline constexpr std::string_view kScalePtx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u32 n, .param .f32 a, .param .u64 .ptr .global .align 4 x)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<3>; .reg .b64 %d<4>;
  .shared .align 16 .b8 buffer[1024];
  .local .align 16 .b8 stack[64];
  ld.param.u32 %r0, [n]; ld.param.f32 %f0, [a]; ld.param.u64 %d0, [x];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
  setp.lt.u32 %p, %r1, %r0; @!%p bra DONE;
  mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d0, %d1; ld.global.f32 %f1, [%d1];
  mul.f32 %f1, %f1, %f0;
  st.global.f32 [%d1], %f1;
  bar.sync 0;
DONE:
  ret;
}
)";
