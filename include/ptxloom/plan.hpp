// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ptxloom/tensor_map.hpp"
#include "ptxloom/type.hpp"

// A piece of work as plain data, without a kernel's inside: the words that describe it, its tensors, how its
// kernel is launched, and what must come out. It is what running, tuning and verifying need, and can cross to
// another process.
namespace [[gnu::visibility("default")]] ptxloom {

/// A problem or a configuration in words, as the command line and the tuning records hold them.
using Settings = std::map<std::string, std::string, std::less<>>;

/// A tensor of a problem as it lies in memory, in C order.
struct TensorPlan {
  enum class Role { in, out, inout };
  std::string name;
  Type type;
  std::vector<std::uint64_t> shape;
  Role role = Role::in;
  std::uint64_t below = 0;  ///< of integers of 32 bits that count something: random ones are less; 0: any are
  std::uint64_t elements() const;
  std::uint64_t bytes() const { return elements() * static_cast<std::uint64_t>(type.bytes()); }
};

/// One kernel argument: a tensor's address, a tensor map of it, or a scalar's bits.
struct ArgumentPlan {
  std::string name;
  Type type;
  std::string tensor = {};
  std::uint64_t bits = 0;
  std::optional<TensorMap> map = {};  ///< its address counts from the tensor's
};

/// The tensor of arguments that stand for a launch's workspace.
inline constexpr std::string_view kWorkspace = "workspace";

struct LaunchPlan {
  std::string entry;
  std::array<std::uint32_t, 3> grid{1, 1, 1};  ///< of a persistent grid: one block a piece of work
  /// Of a persistent grid: how many blocks an SM holds at once. No more than that are launched, and each goes
  /// on to further pieces of work. 0: the grid is launched as it is.
  std::uint32_t blocks_per_sm = 0;
  bool cooperative = false;  ///< blocks wait for each other: all run at once, or the launch fails
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;  ///< dynamic
  /// Of global memory beside the problem's tensors, at a multiple of 256: zeros before its first launch, and
  /// nobody else's from then on. Launches that share one must not overlap in time.
  std::uint64_t workspace_bytes = 0;
  std::vector<ArgumentPlan> arguments;
};

/// D = alpha * A * B + beta * C on the tensors a, b, c and d: a problem in the words of a vendor's library,
/// so that one can be timed at it; or `batch` of them, with matrices a stride apart, 0 for one that all
/// share. Sizes, leading dimensions and strides in elements; C and D are m rows of n.
struct MatrixProduct {
  std::uint64_t m = 0, n = 0, k = 0;
  Type a, b, c, d;
  bool a_rows = true;   ///< A is stored as m rows of k, otherwise as k rows of m
  bool b_rows = false;  ///< B is stored as k rows of n, otherwise as n rows of k
  std::uint64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  std::uint64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;
  double alpha = 1, beta = 0;  ///< beta = 0: there is no tensor c
  bool fast_sums = false;      ///< of 8-bit floats: as the tensor cores keep them, in fewer bits than f32 has
};

/// What outputs are filled with before a kernel runs.
inline constexpr std::byte kPoison{0xA5};

/// A tensor's bytes on the host.
struct HostTensor {
  TensorPlan plan;
  std::vector<std::byte> bytes;
};

/// What an output must hold: `index` into the tensor's elements, the exact value, and how far off a correct
/// kernel may be. Where a problem is too large to compute whole, points of every tile stand for it.
struct Expectation {
  std::string tensor;
  struct Point {
    std::uint64_t index;
    double value;
    double tolerance;
  };
  std::vector<Point> points;
  /// Every element that the kernel writes has a point; else others are wrong if they keep the poison, but for
  /// those untouched. Also where there are too many of those to list.
  bool complete = false;
  std::vector<std::uint64_t> untouched;  ///< elements that must keep the poison (padding behind a row)
};

/// A tensor full of random values that depend on the seed and the tensor's name: floats uniform in [-1, 1],
/// rounded to the type; integers from the whole range of the type, or of what they count.
HostTensor random_tensor(const TensorPlan& plan, std::uint64_t seed);
/// A tensor that nothing has been written to.
HostTensor poisoned_tensor(const TensorPlan& plan, std::byte poison = kPoison);

/// What is wrong with an output, element by element.
struct Verdict {
  std::uint64_t checked = 0;  ///< points compared
  std::uint64_t wrong = 0;
  double worst = 0;   ///< the largest distance from the expected value, in tolerances
  std::string first;  ///< the first wrong element in words: "d[3, 17] is 1.5, expected 1.25 +- 0.01"
  std::vector<std::uint64_t>
      unwritten;  ///< elements that still hold the poison, though something else belongs there
  bool ok() const { return wrong == 0 && unwritten.empty(); }
};

/// Compares an output that was filled with `poison` first.
Verdict verify(const Expectation& expected, const HostTensor& output, std::byte poison = kPoison);

/// `run` gives the output of a run that found its outputs filled with `poison`. A correct value may look like
/// poison by chance, so what seems unwritten is looked at again after a run with another poison.
Verdict verify_run(const Expectation& expected,
                   const std::function<const HostTensor&(std::byte poison)>& run);

}  // namespace ptxloom
