// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/launch_plan.hpp"
#include "ptxloom/settings.hpp"
#include "ptxloom/type.hpp"

/// \file
/// A piece of work as plain data: the parameters that describe it, its tensors, how its kernel is launched,
/// and what it must compute. Running, tuning and verifying need no more, and it can be sent to another
/// process.
namespace [[gnu::visibility("default")]] ptxloom {

/// A tensor of a problem as it lies in memory, in C order.
struct TensorPlan {
  /// What the kernel does with it.
  enum class Role {
    in,    ///< it reads the tensor
    out,   ///< it writes the tensor
    inout  ///< it reads and writes the tensor
  };
  std::string name;                  ///< as the template's parameters and operands name it: "a"
  Type type;                         ///< of an element
  std::vector<std::uint64_t> shape;  ///< extents, the last one contiguous
  Role role = Role::in;              ///< what the kernel does with it
  std::uint64_t below = 0;           ///< random 32-bit integers are less than this; 0: the whole range
  /// The product of the extents. Throws Error(usage, "too-large") above 2^56.
  std::uint64_t elements() const;
  /// Size in bytes: elements are packed without gaps, and their bits are rounded up. Throws as elements().
  std::uint64_t bytes() const { return (elements() * type.bits + 7) / 8; }
};

/// D = alpha * A * B + beta * C on the tensors a, b, c and d, or a batch of such products: a problem as a
/// vendor's library has it, so that the library can be timed. Sizes, leading dimensions and strides are in
/// elements; C and D are row-major.
struct MatrixProduct {
  /// A is m x k, B is k x n.
  ///@{
  std::uint64_t m = 0, n = 0, k = 0;
  ///@}
  /// Types of the matrices.
  ///@{
  Type a, b, c, d;
  ///@}
  bool a_rows = true;   ///< A is row-major
  bool b_rows = false;  ///< B is row-major
  /// Leading dimensions.
  ///@{
  std::uint64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  ///@}
  std::uint64_t batch = 1;  ///< number of products
  /// Distances from the matrix of one product to that of the next; 0: all products share it.
  ///@{
  std::uint64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;
  ///@}
  double alpha = 1;  ///< factor of the product
  double beta = 0;   ///< factor of C; 0: there is no tensor c
  bool fast_sums =
      false;  ///< for 8-bit floats: the accumulator may have the precision of the tensor cores, less than f32
};

/// The byte that outputs are filled with before a kernel runs.
inline constexpr std::byte kPoison{0xA5};

/// A tensor's bytes on the host.
struct HostTensor {
  TensorPlan plan;               ///< what it is
  std::vector<std::byte> bytes;  ///< its elements in C order, packed as in numeric.hpp
};

/// What an output must hold. If a problem is too large to be computed as a whole, there are points in every
/// tile.
struct Expectation {
  std::string tensor;  ///< name of the output
  /// An element.
  struct Point {
    std::uint64_t index;  ///< into the tensor's elements
    double value;         ///< the exact value
    double tolerance;     ///< largest error of a correct kernel; if infinite, all values are right, NaN too
  };
  std::vector<Point> points;  ///< elements that are compared
  /// Whether every element that the kernel writes has a point. If not, the elements without one are wrong if
  /// they still hold the poison, unless they are among `untouched`. It is also true if there are too many of
  /// those to list.
  bool complete = false;
  std::vector<std::uint64_t>
      untouched;  ///< elements that must keep the poison, such as the padding behind a row
};

/// A tensor of random values that depend on the seed and the tensor's name. Floats are uniform in [-1, 1],
/// rounded to the type; integers cover the whole range of the type, or [0, TensorPlan::below).
HostTensor random_tensor(const TensorPlan& plan, std::uint64_t seed);
/// The random tensors of those that a kernel reads.
std::vector<HostTensor> random_inputs(std::span<const TensorPlan> tensors, std::uint64_t seed);
/// A tensor whose bytes are all poison.
HostTensor poisoned_tensor(const TensorPlan& plan, std::byte poison = kPoison);

/// The comparison of an output, or of all outputs of a run.
struct Verdict {
  std::uint64_t checked = 0;  ///< points compared
  std::uint64_t wrong = 0;    ///< points that are wrong
  double worst = 0;           ///< the largest error, in tolerances
  std::string first;          ///< the first wrong element: "d[3, 17] is 1.5, expected 1.25 +- 0.01"
  /// Elements that still hold the poison, but must not; of several outputs, those of one after the other.
  std::vector<std::uint64_t> unwritten;
  /// Whether nothing is wrong.
  bool ok() const { return wrong == 0 && unwritten.empty(); }
};

/// Compares an output that was filled with `poison` first.
Verdict verify(const Expectation& expected, const HostTensor& output, std::byte poison = kPoison);

/// Throws Error(usage, "missing-expectation") for an output without an expectation, and "missing-tensor" for
/// an expectation of a tensor that is not an output.
void check_expected(std::span<const Expectation> expected, std::span<const HostTensor> tensors);

/// Compares all outputs of a kernel. `run` runs it on outputs that were filled with `poison`, and returns the
/// outputs, alone or among the other tensors. A correct value may equal the poison by chance, so elements
/// that seem unwritten are compared again after a run with another poison. Throws as check_expected().
Verdict verify_run(std::span<const Expectation> expected,
                   const std::function<std::span<const HostTensor>(std::byte poison)>& run);

}  // namespace ptxloom
