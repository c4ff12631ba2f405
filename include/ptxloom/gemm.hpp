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

// D = alpha * A * B + beta * C, or with what stands for it where it is more:
//   D = scale_d * activation(alpha * scale_a * scale_b * A * B + beta * C + bias)
// A is m x k, B is k x n, each row- or column-major; C and D are m x n, row-major.
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
  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

/// What one launch has otherwise than the problem that its Gemm was made for. Sizes are from 1 to those of
/// the problem. A leading dimension that is neither here nor in the problem is that of a contiguous matrix.
struct GemmSizes {
  std::optional<std::uint64_t> m = {}, n = {}, k = {};
  std::optional<std::uint64_t> lda = {}, ldb = {}, ldc = {}, ldd = {};
  std::optional<double> alpha = {}, beta = {};
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

/// A matrix product, ready to be launched: a kernel made for the problem, and more of them for launches with
/// other sizes, each made when it is first needed. Copies share them until one is tuned. A Gemm outlives its
/// launches and the graphs that hold some. Const members are thread-safe.
///
/// The kernel of the problem itself may have its sizes as constants. A launch with other sizes (GemmSizes)
/// takes a kernel that has them as parameters, and several sizes share it. The first launch with new sizes
/// takes milliseconds, or tens of them where a kernel must be linked; `prepare` does that ahead.
///
/// Some kernels need a workspace (workspace_bytes()); which do depends on problem, device and tuning records.
/// A launch that is given none uses one of the Gemm's, of which each stream has its own
/// (StreamWorkspaces), so launches on several streams, and from several threads, may overlap.
///
/// A launch that is captured into a graph must be given a workspace, which it uses in each replay, on
/// whatever stream, and a kernel that is loaded (`prepare`). Replays of one executable graph follow each
/// other, also on several streams (CUDA sees to that). Whatever else may run beside them needs a workspace of
/// its own: another executable graph, also of the same capture, and another launch.
class Gemm {
 public:
  Gemm(const Context& context, Specialised kernel);

  /// Throws Error(usage) for what is needed and not given ("missing-operand"; "missing-workspace" of a launch
  /// that is captured), does not lie at a multiple of what its leading dimension promises
  /// ("misaligned-operand"), or lies where D or the workspace is written ("overlapping-operands"); C may be
  /// D. For sizes beyond the problem's: "size-out-of-range"; where they need a kernel that is not loaded, and
  /// the stream is captured: "not-prepared". A captured launch that throws these leaves the capture as it
  /// was. Nothing is launched by a call that throws.
  void launch(CUstream_st* stream, const GemmOperands& operands, const GemmSizes& sizes = {}) const;
  /// Makes what launches with these sizes need, but for their workspaces. Throws as launch does.
  void prepare(const GemmSizes& sizes) const;
  /// Of GemmOperands::workspace: device memory at a multiple of 256, as a Buffer is. It holds zeros before
  /// its first launch, and before one with other sizes than the last; nobody else writes it between launches;
  /// those that use it must not overlap in time. 0: none is needed, and one that is given is not used.
  std::uint64_t workspace_bytes(const GemmSizes& sizes = {}) const;
  const std::string& ptx() const { return specialised().kernel.ptx(); }
  const Settings& problem() const { return specialised().problem; }
  const Settings& config() const { return specialised().config; }
  /// The kernel of the problem itself.
  const Specialised& specialised() const;
  /// Kernels that are loaded, for all sizes so far.
  std::size_t kernels() const;
  /// Measures other configurations for the problem itself on the device, keeps the winner as a record, and
  /// becomes it. Throws Error(refused, "no-correct-candidate"), Error(missing, "no-device") on the executor.
  TuneResult tune(Budget budget = {.seconds = 20});

  class State;  // templates/gemm/state.hpp

 private:
  friend Gemm gemm(const Context& context, const GemmProblem& problem, const Settings& config,
                   const SpecialiseOptions& options);
  explicit Gemm(std::shared_ptr<const State> state, Context context);

  Context context_;
  std::shared_ptr<const State> state_;
};

/// The best known kernel for this very problem: as tuned on this device, else as the template chooses.
/// Parameters in `config` are kept to. The context remembers the last problems: to ask for one of them again
/// costs a fraction of a microsecond, until something is tuned with this context.
Gemm gemm(const Context& context, const GemmProblem& problem, const Settings& config = {},
          const SpecialiseOptions& options = {});

}  // namespace ptxloom
