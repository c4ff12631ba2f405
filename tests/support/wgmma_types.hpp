// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace ptxloom::test {

/// Types of D, and of A and B that wgmma accepts only contiguous along k.
struct WgmmaTypes {
  const char *a, *b;
  std::vector<const char*> d;
};

inline const WgmmaTypes kWgmmaTypes[] = {{"tf32", "tf32", {"f32", "f16", "bf16"}},
                                         {"e4m3", "e4m3", {"f32", "f16", "bf16"}},
                                         {"e4m3", "e5m2", {"f32", "bf16"}},
                                         {"e5m2", "e4m3", {"f32", "f16"}},
                                         {"e5m2", "e5m2", {"f32"}},
                                         {"s8", "s8", {"s32"}},
                                         {"s8", "u8", {"s32"}},
                                         {"u8", "s8", {"s32"}},
                                         {"u8", "u8", {"s32"}}};

}  // namespace ptxloom::test
