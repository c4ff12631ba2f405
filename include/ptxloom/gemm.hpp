// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ptxloom/runner.hpp"
#include "ptxloom/template.hpp"
#include "ptxloom/tuner.hpp"
#include "ptxloom/type.hpp"
#include "ptxloom/workspace.hpp"

// D = alpha * A * B + beta * C, or with what stands for it where it is more:
//   D = scale_d * activation(alpha * scale_a * scale_b * A * B + beta * C + bias)
// A is m x k, B is k x n, each row- or column-major; C and D are m x n, row-major.
namespace ptxloom::gemm_kernel {
struct Area;
}

namespace [[gnu::visibility("default")]] ptxloom {

enum class MatrixLayout : std::uint8_t { row, col };

/// gelu: x * Phi(x); gelu_tanh: its approximation by tanh; silu: x / (1 + exp(-x)).
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu };

/// f32 factors in memory: one for the whole matrix; one for each row of A or column of B; or one for each
/// block, of A 1 x 128 along k, of B 128 x 128. Factors of blocks lie in ceil(k / 128) rows of m (A), in
/// ceil(n / 128) rows of ceil(k / 128) (B).
enum class GemmScale : std::uint8_t { none, tensor, vector, block };

/// Products of different sizes in one kernel; their sizes lie in device memory, where a kernel before this
/// one may have put them. masked: of batch i the first `group_rows[i]` rows, m at most. contiguous: A, C and
/// D are one matrix each, whose rows from 128 * i on are multiplied by B number `group_of_rows[i]`, and are
/// skipped where that is none (-1). Rows of D that are not computed stay as they are; but behind a masked
/// group's last, those up to the next multiple of 64 may be overwritten.
enum class GemmGroups : std::uint8_t { none, masked, contiguous };

/// Sizes in elements. A leading dimension of 0 means tight. The types default as the command line's do: b =
/// a, d = f32 (s32 for integers, f64 for f64), c = d. beta = 0 never reads C.
struct GemmProblem {
  std::uint64_t m = 0, n = 0, k = 0;
  Type a;
  std::optional<Type> b = {}, c = {}, d = {};
  MatrixLayout a_layout = MatrixLayout::row;
  MatrixLayout b_layout = MatrixLayout::col;
  std::uint64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  std::uint64_t batch = 1;  ///< products, each with matrices of its own
  /// From one batch's matrix to the next; tight where not given; 0: one matrix for all, but D.
  std::optional<std::uint64_t> stride_a = {}, stride_b = {}, stride_c = {}, stride_d = {};
  GemmGroups groups = GemmGroups::none;
  double alpha = 1, beta = 0;
  bool promoted = false;  ///< of e4m3 and e5m2: tensor cores sum 128 products at most, the rest is f32
  std::optional<Type> bias = {};  ///< of a vector of n; f32, f16 or bf16
  Activation activation = Activation::none;
  bool c_last = false;  ///< beta * C is added after the activation, a residual
  GemmScale scale_a = GemmScale::none, scale_b = GemmScale::none;
  bool scale_d = false;  ///< an f32 factor of D in memory

  Settings settings() const;
};

const Template& gemm_template();

/// Where a matrix lies: a device pointer, a Buffer, or an address. In the executor a pointer must be
/// registered.
class MatrixAddress {
 public:
  MatrixAddress() = default;
  MatrixAddress(std::uint64_t address) : address_(address) {}
  MatrixAddress(const Buffer& buffer) : address_(buffer.address()) {}
  MatrixAddress(const void* pointer) : address_(reinterpret_cast<std::uintptr_t>(pointer)) {}
  std::uint64_t value() const { return address_; }

 private:
  std::uint64_t address_ = 0;
};

/// What the problem does not read may be left out: `c` where beta is 0. So may the workspace, but for
/// launches that are captured into a graph.
struct GemmOperands {
  MatrixAddress a, b, c = {}, d, bias = {}, scale_a = {}, scale_b = {}, scale_d = {}, workspace = {};
  MatrixAddress group_rows = {}, group_of_rows = {};  ///< s32 each
};

/// A kernel made for one problem. Copies share it until one of them is tuned. It outlives its launches and
/// the graphs that hold some. Const members are thread-safe.
///
/// Some kernels need a workspace (workspace_bytes()); which do depends on problem, device and tuning records.
/// A launch that is given none uses one of the Gemm's, of which each stream has its own
/// (StreamWorkspaces), so launches on several streams, and from several threads, may overlap.
///
/// A launch that is captured into a graph must be given a workspace, which it uses in each replay, on
/// whatever stream. Replays of one executable graph follow each other, also on several streams (CUDA sees to
/// that). Whatever else may run beside them needs a workspace of its own: another executable graph, also of
/// the same capture, and another launch.
class Gemm {
 public:
  Gemm(Context context, Specialised kernel);

  /// Throws Error(usage) for what is needed and not given ("missing-operand"; "missing-workspace" of a launch
  /// that is captured), does not lie at a multiple of what its rows' pitch promises ("misaligned-operand"),
  /// or lies where D or the workspace is written ("overlapping-operands"); C may be D. A captured launch that
  /// throws these leaves the capture as it was.
  void launch(CUstream_st* stream, const GemmOperands& operands) const;
  /// Of GemmOperands::workspace: device memory at a multiple of 256, as a Buffer is. It holds zeros before
  /// its first launch, and nobody else writes it between launches; those that use it must not overlap in
  /// time. 0: none is needed, and one that is given is not used.
  std::uint64_t workspace_bytes() const { return kernel_.launch.workspace_bytes; }
  const std::string& ptx() const { return kernel_.kernel.ptx(); }
  const Settings& problem() const { return kernel_.problem; }
  const Settings& config() const { return kernel_.config; }
  const Specialised& specialised() const { return kernel_; }
  /// Measures other configurations on the device, keeps the winner as a record, and becomes it. Throws
  /// Error(refused, "no-correct-candidate"), Error(missing, "no-device") on the executor.
  TuneResult tune(Budget budget = {.seconds = 20});

 private:
  void launch_with(std::uint64_t workspace, CUstream_st* stream, const GemmOperands& operands) const;

  Context context_;
  Specialised kernel_;
  std::shared_ptr<const std::vector<gemm_kernel::Area>> areas_;  // of the operands, for launches to check
  StreamWorkspaces workspaces_;
};

/// The best known kernel for this very problem: as tuned on this device, else as the template chooses. Words
/// in `config` are kept to.
Gemm gemm(const Context& context, const GemmProblem& problem, const Settings& config = {},
          const SpecialiseOptions& options = {});

}  // namespace ptxloom
