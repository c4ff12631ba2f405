// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <sstream>
#include <string>

#include "ptxloom/plan.hpp"

// The kernels of sync_mutants: each way to synchronise that the templates have, at sizes that leave a partial
// tile and give a persistent thread block several tiles.
namespace ptxloom::bench {

struct SyncKernel {
  const char *kernel_template, *name, *target, *problem, *config;
};

inline constexpr auto kSyncKernels = std::to_array<SyncKernel>({
    {"gemm", "mma, 2 stages", "sm_80", "m=33 n=40 k=200 a=bf16",
     "strategy=mma tile_m=32 tile_n=32 tile_k=32 stages=2"},
    {"gemm", "mma, 4 stages, staged", "sm_90a", "m=72 n=80 k=200 a=f16 d=f16",
     "strategy=mma tile_m=64 tile_n=64 tile_k=32 stages=4 epilogue=staged"},
    {"gemm", "mma, 3 stages, s8, B by rows", "sm_90a", "m=20 n=36 k=420 a=s8 b_layout=row",
     "strategy=mma stages=3 split=2"},
    {"gemm", "mma, fragments ahead across k-blocks", "sm_80", "m=40 n=64 k=160 a=f16",
     "strategy=mma tile_m=32 tile_n=32 tile_k=32 stages=3 prefetch=tile"},
    {"gemm", "mma, split by 4", "sm_90a", "m=40 n=40 k=640 a=bf16",
     "strategy=mma tile_m=32 tile_n=32 tile_k=32 warps_m=2 warps_n=1 stages=3 split=4"},
    {"gemm", "mma, split by 2, staged", "sm_120a", "m=40 n=40 k=320 a=f16 d=f16",
     "strategy=mma tile_m=32 tile_n=32 tile_k=32 warps_m=2 warps_n=1 stages=3 split=2 epilogue=staged"},
    {"gemm", "mma, stream-K", "sm_80", "m=70 n=70 k=300 a=bf16",
     "strategy=mma tile_m=32 tile_n=32 tile_k=32 warps_m=2 warps_n=1 stages=3 stream_k=yes"},
    {"gemm", "mma, bias, C, scales of rows, gelu", "sm_90a",
     "m=40 n=48 k=600 a=e4m3 d=bf16 beta=1 bias=f32 scale_a=row scale_b=col activation=gelu",
     "strategy=mma tile_m=32 tile_n=32 stages=2 split=1"},
    {"gemm", "mma, groups of rows", "sm_90a", "m=128 n=40 k=300 a=bf16 batch=3 groups=contiguous",
     "strategy=mma tile_m=32 tile_n=32 tile_k=32 warps_m=2 warps_n=1 stages=2 split=1"},
    {"gemm", "wgmma, staged", "sm_90a", "m=330 n=264 k=200 a=bf16 d=bf16",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 warps_m=4 warps_n=1 stages=3 epilogue=staged "
     "schedule=cooperative"},
    {"gemm", "wgmma, direct", "sm_90a", "m=264 n=264 k=200 a=f16 d=f32",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 warps_m=4 warps_n=1 stages=2 split=1 epilogue=direct "
     "schedule=cooperative"},
    {"gemm", "wgmma, two warpgroups, C and bias", "sm_90a",
     "m=520 n=136 k=200 a=bf16 d=bf16 beta=1 bias=bf16",
     "strategy=wgmma tile_m=128 tile_n=64 tile_k=64 warps_m=8 warps_n=1 stages=3 epilogue=staged "
     "schedule=cooperative"},
    {"gemm", "wgmma, pingpong, staged", "sm_90a", "m=200 n=200 k=200 a=bf16 d=bf16",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 stages=4 schedule=pingpong epilogue=staged"},
    {"gemm", "wgmma, pingpong, direct", "sm_90a", "m=200 n=200 k=128 a=bf16 d=f32",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 stages=3 schedule=pingpong epilogue=direct"},
    {"gemm", "wgmma, multicast of A", "sm_90a", "m=136 n=200 k=200 a=bf16 d=bf16",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 warps_m=4 stages=3 multicast=a"},
    {"gemm", "wgmma, multicast of B, pingpong", "sm_90a", "m=264 n=136 k=200 a=bf16 d=bf16",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 stages=3 multicast=b schedule=pingpong"},
    {"gemm", "wgmma, stream-K", "sm_90a", "m=136 n=136 k=320 a=bf16 d=f32",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 warps_m=4 stages=3 stream_k=yes"},
    {"gemm", "wgmma, stream-K, multicast", "sm_90a", "m=136 n=200 k=320 a=bf16 d=f32",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 warps_m=4 stages=3 stream_k=yes multicast=a"},
    {"gemm", "wgmma, split by 2", "sm_90a", "m=72 n=72 k=512 a=bf16 d=f32",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 warps_m=4 warps_n=1 stages=3 split=2 swap=no "
     "epilogue=staged"},
    {"gemm", "wgmma, transposed", "sm_90a", "m=24 n=900 k=200 a=bf16 d=bf16",
     "strategy=wgmma swap=yes tile_m=64 tile_n=24 tile_k=64 stages=3"},
    {"gemm", "wgmma, loads by a thread", "sm_90a", "m=520 n=136 k=200 a=bf16 d=bf16",
     "strategy=wgmma tile_m=128 tile_n=64 tile_k=64 warps_m=8 stages=3 loads=thread"},
    {"gemm", "wgmma, e4m3, promoted", "sm_90a", "m=264 n=264 k=1000 a=e4m3 d=bf16 sums=promoted",
     "strategy=wgmma tile_m=64 tile_n=64 stages=3"},
    {"gemm", "wgmma, scales of blocks", "sm_90a",
     "m=264 n=264 k=1000 a=e4m3 d=bf16 sums=promoted scale_a=block scale_b=block",
     "strategy=wgmma tile_m=64 tile_n=128 stages=3"},
    {"gemm", "wgmma, A and B by columns and rows", "sm_90a",
     "m=264 n=264 k=200 a=f16 d=f16 a_layout=col b_layout=row",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 stages=3"},
    {"gemm", "wgmma, packed operands", "sm_90a", "m=264 n=264 k=201 a=bf16 d=bf16",
     "strategy=wgmma tile_m=64 tile_n=64 tile_k=64 stages=3"},
    {"gemm", "wgmma, masked groups", "sm_90a", "m=264 n=136 k=300 a=bf16 d=bf16 batch=3 groups=masked",
     "strategy=wgmma tile_m=64 tile_n=64 stages=3"},
    {"gemm", "wgmma, contiguous groups", "sm_90a",
     "m=768 n=136 k=300 a=bf16 d=bf16 batch=3 groups=contiguous", "strategy=wgmma tile_n=64 stages=3"},
    {"rowwise", "softmax, a warp", "sm_80", "op=softmax rows=9 n=100", "team=warp lanes=32"},
    {"rowwise", "softmax, a block", "sm_80", "op=softmax rows=3 n=1000", "team=block threads=128"},
    {"rowwise", "softmax, a block in several passes", "sm_80", "op=softmax rows=2 n=3000",
     "team=block threads=64 vector=4 elements=8"},
    {"rowwise", "softmax, a cluster", "sm_90", "op=softmax rows=2 n=2000",
     "team=cluster threads=128 blocks=4"},
    {"rowwise", "softmax, a cluster in several passes", "sm_90", "op=softmax rows=2 n=5000",
     "team=cluster threads=128 blocks=2 vector=4 elements=8"},
    {"rowwise", "layer_norm, a block", "sm_80",
     "op=layer_norm rows=3 n=1000 weight=bf16 bias=bf16 residual=bf16", "team=block threads=128"},
    {"rowwise", "layer_norm, a cluster in several passes", "sm_90", "op=layer_norm rows=2 n=5000",
     "team=cluster threads=128 blocks=2 vector=4 elements=8"},
    {"rowwise", "rms_norm to e4m3, a block", "sm_90", "op=rms_norm rows=3 n=1000 y=e4m3",
     "team=block threads=128"},
    {"rowwise", "rms_norm to e4m3, a cluster", "sm_90", "op=rms_norm rows=2 n=2000 y=e4m3",
     "team=cluster threads=128 blocks=2"},
    {"quantize", "rows, a block", "sm_80", "rows=3 n=1000 format=s8", "team=block threads=128"},
    {"quantize", "rows, a block in two passes", "sm_80", "rows=2 n=3000 format=e4m3",
     "team=block threads=64 vector=4 elements=8"},
    {"quantize", "rows, a warp", "sm_80", "rows=9 n=100 format=s8", "team=warp lanes=32"},
    {"quantize", "groups", "sm_90", "rows=9 n=512 format=e4m3 scales=group", ""},
    {"quantize", "blocks", "sm_90", "rows=150 n=300 format=e4m3 scales=block", "team=block"},
    {"quantize", "nvfp4 with a scale of the tensor", "sm_100a",
     "rows=9 n=512 format=nvfp4 scale_of_tensor=computed", ""},
    {"quantize", "transposed", "sm_90", "rows=70 n=256 format=mxfp8_e4m3 transpose=yes", ""},
    {"scaled_gemm", "wgmma, s4", "sm_90a", "m=40 n=136 k=2048 format_a=bf16 format_b=s4", "stages=3"},
    {"scaled_gemm", "wgmma, mxfp4, split by 2", "sm_90a", "m=24 n=72 k=4096 format_a=bf16 format_b=mxfp4",
     "stages=3 split=2"},
    {"scaled_gemm", "wgmma, u4, shared rows", "sm_90a", "m=24 n=264 k=2048 format_a=bf16 format_b=u4",
     "stages=3 share=2"},
    {"scaled_gemm", "mma, s4", "sm_80", "m=40 n=136 k=2048 format_a=f16 format_b=s4", "stages=3"},
    {"scaled_gemm", "mma, nvfp4", "sm_89", "m=40 n=72 k=2048 format_a=bf16 format_b=nvfp4", "stages=3"},
    {"scaled_gemm", "block scales, mxfp8", "sm_120a", "m=136 n=136 k=1024", "stages=2"},
    {"scaled_gemm", "block scales, nvfp4", "sm_120a", "m=40 n=136 k=1024 format_a=nvfp4", "stages=3"},
    {"scaled_gemm", "wgmma, s8 beside bf16", "sm_90a", "m=40 n=136 k=3000 format_a=bf16 format_b=s8",
     "stages=3"},
    {"scaled_gemm", "mma, e4m3 with a scale of each column", "sm_89",
     "m=40 n=72 k=1024 format_a=f16 format_b=e4m3 group=row", "stages=3"},
    {"scaled_gemm", "wgmma, s4 beside e4m3", "sm_90a", "m=40 n=136 k=4000 format_a=e4m3 format_b=s4",
     "stages=3"},
    {"scaled_gemm", "wgmma, s4, stream-K", "sm_90a", "m=40 n=136 k=2048 format_a=bf16 format_b=s4",
     "stages=3 stream_k=yes"},
    {"sparse_gemm", "wgmma", "sm_90a", "m=264 n=400 k=600 type=bf16 bias=f32",
     "tile_m=32 tile_n=128 tile_k=128 stages=3"},
    {"sparse_gemm", "wgmma, two warpgroups, e4m3", "sm_90a", "m=264 n=520 k=1000 type=e4m3",
     "tile_m=32 tile_n=256 tile_k=256 warps_n=8 stages=2"},
    {"sparse_gemm", "mma", "sm_80", "m=40 n=72 k=600 type=f16 c=f16",
     "tile_m=32 tile_n=64 tile_k=64 warps_m=1 warps_n=2 stages=3"},
    {"shuffle_weights", "s4", "sm_80", "n=70 k=512 format=s4", "threads=128"},
    {"shuffle_weights", "e4m3 in two batches", "sm_90", "n=70 k=512 format=e4m3 batch=2", "threads=256"},
});

/// "m=33 n=40" as settings.
inline Settings settings_of(const std::string& text) {
  Settings settings;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    settings[word.substr(0, sign)] = word.substr(sign + 1);
  }
  return settings;
}

}  // namespace ptxloom::bench
