// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ptxloom/activation.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/template.hpp"
#include "ptxloom/tuner.hpp"
#include "ptxloom/type.hpp"

/// \file
/// Matrix products: `D = alpha * A * B + beta * C`, or with everything that an epilogue can add:
///
///     D = scale_d * activation(alpha * scale_a * scale_b * A * B + beta * C + bias)
///
/// A is m x k and B is k x n, each row- or column-major. C and D are m x n and row-major. docs/gemm.md
/// explains it.
namespace [[gnu::visibility("default")]] ptxloom {

/// Whether rows or columns are contiguous.
enum class MatrixLayout : std::uint8_t {
  row,  ///< row-major
  col,  ///< column-major
};

/// Scale factors of A or B, of type f32, in device memory.
enum class GemmScale : std::uint8_t {
  none,    ///< no factors
  tensor,  ///< one for the whole matrix
  vector,  ///< one for each row of A, or each column of B
  /// One for each 1 x 128 elements of A along k, stored as ceil(k / 128) rows of m factors; one for each 128
  /// x 128 elements of B, stored as ceil(n / 128) rows of ceil(k / 128) factors.
  block,
};

/// Products of different sizes in one kernel. The sizes are in device memory, where an earlier kernel may
/// have written them. Rows of D that are not computed are left as they are, with one exception: after the
/// last row of a masked group, rows up to the next multiple of 64 may be overwritten.
enum class GemmGroups : std::uint8_t {
  none,    ///< all products have the same size
  masked,  ///< product i of the batch computes its first `group_rows[i]` rows, at most m
  /// A, C and D are one matrix each. Rows 128 * i to 128 * i + 127 are multiplied by matrix
  /// `group_of_rows[i]` of B, and skipped if that is -1.
  contiguous,
};

/// A matrix product. Sizes, leading dimensions and strides are in elements.
struct GemmProblem {
  /// The sizes of the product, at least 1.
  ///@{
  std::uint64_t m = 0, n = 0, k = 0;
  ///@}
  Type a;  ///< type of A
  /// Types of B, C and D. Defaults: B has the type of A; D has f32, s32 for integers, f64 for f64; C has the
  /// type of D, or f32 where D has 8 bits.
  ///@{
  std::optional<Type> b = {}, c = {}, d = {};
  ///@}
  MatrixLayout a_layout = MatrixLayout::row;  ///< layout of A
  MatrixLayout b_layout = MatrixLayout::col;  ///< layout of B
  /// Leading dimensions; 0: the matrix is contiguous.
  ///@{
  std::uint64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  ///@}
  std::uint64_t batch = 1;  ///< number of products
  /// Distances from the matrix of one product to that of the next. Not given: the matrices are
  /// contiguous in memory, without gaps. 0: all products share one matrix, which D cannot be.
  ///@{
  std::optional<std::uint64_t> stride_a = {}, stride_b = {}, stride_c = {}, stride_d = {};
  ///@}
  GemmGroups groups = GemmGroups::none;  ///< whether the products have sizes of their own
  double alpha = 1;                      ///< factor of the product
  double beta = 0;                       ///< factor of C; 0: C is never read
  /// For e4m3 and e5m2: tensor cores accumulate at most 128 products, and these sums are added in f32.
  bool promoted = false;
  std::optional<Type> bias = {};             ///< adds a vector of n elements to each row: f32, f16 or bf16
  Activation activation = Activation::none;  ///< applied before scale_d
  bool c_last = false;                       ///< beta * C is added after the activation, as a residual
  GemmScale scale_a = GemmScale::none;       ///< factors of A
  GemmScale scale_b = GemmScale::none;       ///< factors of B
  bool scale_d = false;                      ///< a factor of D, one f32 in device memory

  /// The problem as parameters of the template, as the command line has them.
  Settings settings() const;
  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

/// Where one launch differs from the problem that its Gemm was made for.
struct GemmSizes {
  /// Sizes, from 1 to those of the problem.
  ///@{
  std::optional<std::uint64_t> m = {}, n = {}, k = {};
  ///@}
  /// Leading dimensions. Not given: that of the problem. 0: the matrix is contiguous.
  ///@{
  std::optional<std::uint64_t> lda = {}, ldb = {}, ldc = {}, ldd = {};
  ///@}
  std::optional<double> alpha = {};  ///< factor of the product
  std::optional<double> beta = {};   ///< factor of C
};

/// The template "gemm" that all of this stands on.
const Template& gemm_template();

/// The address of a matrix. In the executor a pointer must be registered (Context::register_memory).
class MatrixAddress {
 public:
  MatrixAddress() = default;  ///< none
  /// Implicit, so that an address, a Buffer or a device pointer is given.
  ///@{
  MatrixAddress(std::uint64_t address) : address_(address) {}
  MatrixAddress(const Buffer& buffer) : address_(buffer.address()) {}
  MatrixAddress(const void* pointer) : address_(reinterpret_cast<std::uintptr_t>(pointer)) {}
  ///@}
  std::uint64_t value() const { return address_; }  ///< the address; 0: none

 private:
  std::uint64_t address_ = 0;
};

/// The addresses of one launch. What the problem does not use may be left out, such as `c` if beta is 0.
struct GemmOperands {
  MatrixAddress a;               ///< A
  MatrixAddress b;               ///< B
  MatrixAddress c = {};          ///< C; it may be D
  MatrixAddress d;               ///< D
  MatrixAddress bias = {};       ///< n elements of type GemmProblem::bias
  MatrixAddress scale_a = {};    ///< f32 factors as GemmProblem::scale_a says
  MatrixAddress scale_b = {};    ///< f32 factors as GemmProblem::scale_b says
  MatrixAddress scale_d = {};    ///< one f32
  MatrixAddress workspace = {};  ///< Gemm::workspace_bytes() bytes; required only if the launch is captured
  /// s32: rows of each product (GemmGroups::masked).
  MatrixAddress group_rows = {};
  /// s32: matrix of B for each 128 rows of A (GemmGroups::contiguous).
  MatrixAddress group_of_rows = {};
};

/// A matrix product that is ready to be launched: a kernel for the problem, and more kernels for launches
/// with other sizes, each made when it is first needed. Copies share them until one is tuned. A Gemm must
/// outlive its launches and the graphs that contain them. Const members are thread-safe.
///
/// The kernel of the problem itself may have its sizes as constants. A launch with other sizes (GemmSizes)
/// uses a kernel that has them as parameters, which several sizes share. The first launch with new sizes
/// takes milliseconds, or tens of milliseconds if a kernel must be linked; prepare() does that ahead of time.
///
/// Some kernels need a workspace (workspace_bytes()), depending on the problem, the device and the tuning
/// records. A launch without one uses a workspace of the Gemm. Each stream has its own (StreamWorkspaces), so
/// that launches on several streams and from several threads may overlap.
///
/// A launch that is captured into a graph must be given a workspace, which all replays use, and its kernel
/// must be loaded (prepare()). CUDA runs the replays of one executable graph one after the other, also on
/// several streams. Everything that may overlap with them needs a workspace of its own: another executable
/// graph, also one of the same capture, and another launch.
class Gemm {
 public:
  /// A kernel that specialise() made of gemm_template(). `gemm` is the usual way.
  Gemm(const Context& context, Specialised kernel);
  /// Moving copies too, so that a Gemm is never empty.
  ///@{
  Gemm(const Gemm&) = default;
  Gemm& operator=(const Gemm&) = default;
  ///@}

  /// Queues the product on a stream. In the executor it is computed when this returns.
  ///
  /// Throws Error(usage): "missing-operand"; "misaligned-operand" for an address that is no multiple of what
  /// its leading dimension implies; "overlapping-operands" if an operand overlaps D or the workspace, except
  /// that C may be D; "size-out-of-range" for sizes beyond the problem's. While the stream is captured:
  /// "missing-workspace", and "not-prepared" for sizes whose kernel is not loaded. A call that throws
  /// launches nothing, and leaves a capture as it was.
  void launch(CUstream_st* stream, const GemmOperands& operands, const GemmSizes& sizes = {}) const;
  /// Makes and loads the kernel for these sizes. Throws as launch() does, and what making a kernel throws.
  void prepare(const GemmSizes& sizes) const;
  /// Whether the kernel for these sizes is loaded, so that a captured launch may have them. Throws as
  /// launch() does for sizes beyond the problem's.
  bool is_prepared(const GemmSizes& sizes) const;
  /// Size of GemmOperands::workspace. It is device memory at a multiple of 256, as a Buffer is. It holds
  /// zeros before its first launch, and before each launch with other sizes than the one before. Nothing else
  /// may write to it between launches, and launches that use it must not overlap in time. 0: none is needed,
  /// and one that is given is not used. Makes the kernel for these sizes, as prepare() does.
  std::uint64_t workspace_bytes(const GemmSizes& sizes = {}) const;
  /// The kernel of the problem itself, and its PTX, problem and configuration.
  ///@{
  const Specialised& specialised() const;
  const std::string& ptx() const { return specialised().kernels.front().ptx(); }
  const Settings& problem() const { return specialised().problem; }
  const Settings& config() const { return specialised().config; }
  ///@}
  /// Number of kernels that are loaded for all sizes so far.
  std::size_t kernels() const;
  /// Measures other configurations for the problem on the device, keeps the fastest as a record, and uses it
  /// from now on. Throws Error(refused, "no-correct-candidate"), Error(missing, "no-device") in the executor,
  /// and what tune_template throws. Not thread-safe.
  TuneResult tune(Budget budget = {.seconds = 20});

  class State;  // templates/gemm/api/state.hpp

 private:
  friend Gemm gemm(const Context& context, const GemmProblem& problem, const Settings& config,
                   const SpecialiseOptions& options);
  explicit Gemm(std::shared_ptr<const State> state, Context context);

  Context context_;
  std::shared_ptr<const State> state_;
};

/// The best known kernel for a problem: from a tuning record of this device, else with the template's own
/// choice. `config` fixes parameters of the configuration. The context remembers the latest problems: asking
/// for one of them again takes a fraction of a microsecond, until something is tuned with this context.
/// Throws what specialise() throws.
Gemm gemm(const Context& context, const GemmProblem& problem, const Settings& config = {},
          const SpecialiseOptions& options = {});

}  // namespace ptxloom
