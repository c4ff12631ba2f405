// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ptxloom/kit/matrix.hpp>
#include <ptxloom/typed_template.hpp>

// A GEMM whose epilogue is SwiGLU: D[i, j] = silu(C[i, 2j]) * C[i, 2j + 1], with C = A * B. A is m x k,
// row-major; B is k x 2n, column-major; D is m x n, row-major.
namespace swiglu {

namespace pl = ptxloom;

/// The problem as typed data.
struct Problem {
  std::uint32_t m = 0, n = 0, k = 0;
  pl::Type type, d;
  std::uint32_t lda = 0, ldb = 0, ldd = 0;

  explicit Problem(const pl::Settings& settings);
  std::uint32_t columns() const { return 2 * n; }  ///< of A * B
  pl::kit::MatrixOperand a() const { return {.type = type, .rows = m, .cols = k, .ld = lda}; }
  pl::kit::MatrixOperand b() const { return {.type = type, .rows = columns(), .cols = k, .ld = ldb}; }
};

/// A configuration.
struct Config {
  int tile_m = 64, tile_n = 64, warps_m = 2, stages = 3;

  static constexpr int kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kTileK = 32;
  int warp_m() const { return tile_m / warps_m; }  ///< rows of a warp
  int warp_n() const { return tile_n / (kWarps / warps_m); }
  int shared_bytes() const { return stages * (tile_m + tile_n) * kTileK * 2; }
  std::uint64_t grid(const Problem& problem) const;  ///< thread blocks
};

/// The fields by the names of space.json.
// README parameters {
inline constexpr pl::ConfigParameter<Config> kParameters[] = {
    pl::parameter::number<&Config::tile_m>("tile_m"),
    pl::parameter::number<&Config::tile_n>("tile_n"),
    pl::parameter::number<&Config::warps_m>("warps_m"),
    pl::parameter::number<&Config::stages>("stages"),
};
// }

/// The instruction's opcode.
std::string mma_opcode(const Problem& problem);
pl::Emitted emit_kernel(std::shared_ptr<const pl::Specs> specs, const pl::Target& target,
                        const Problem& problem, const Config& config);
/// D in double precision, all of it or some elements.
std::vector<pl::Expectation> reference(const Problem& problem, std::span<const pl::HostTensor> inputs);

}  // namespace swiglu
