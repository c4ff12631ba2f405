// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/judge/data_flow.hpp"
#include "exec/machine/fault.hpp"

// Where NaN, infinities and underflow begin: instructions whose result is one, and none of whose operands is.
// Looked for on request (Launch::arithmetic), because kernels may produce them on purpose. Operands and
// results are those in registers: loads and wgmma, whose operands are in memory, begin nothing.
namespace ptxloom::exec {

class Cluster;

class Arithmetic {
 public:
  explicit Arithmetic(const Cluster& cluster) : cluster_(&cluster) {}
  void start() { pending_.reset(); }
  /// Before `lanes` execute the first operation of an instruction, and after its last one.
  void begin(Warp& warp, const Operation& op, const DataFlow& flow, Mask lanes);
  void finish();

 private:
  /// One register, or a constant, with values of a floating-point type side by side.
  struct Piece {
    std::optional<Slot> slot;
    double constant = 0;
    Type type;
    int count = 1;
  };
  struct Plan {
    std::vector<Piece> in, out;
    bool collective = false;  ///< a result depends on operands of other lanes
    bool narrows = false;     ///< results are of a smaller type than operands
    bool scales = false;      ///< 0 from operands that are not 0 is an underflow
    bool flushes = false;     ///< subnormal operands count as 0
  };
  struct Pending {
    Warp* warp;
    const Operation* op;
    const Plan* plan;
    Mask lanes;
    std::vector<std::vector<double>> in;  // by lane
  };

  const Plan& plan_of(const Operation& op, const DataFlow& flow);
  Plan make_plan(const Operation& op, const DataFlow& flow) const;
  static void add(const ir::Function& function, const std::vector<Slot>& slots, const ir::Operand& operand,
                  const Type& element, int count, std::vector<Piece>& pieces);
  static std::vector<double> values(Warp& warp, const std::vector<Piece>& pieces, int lane);
  void check(const Pending& done, int lane, const std::vector<double>& in) const;
  void check_small(const Pending& done, const Actor& actor, const std::vector<double>& in,
                   const std::vector<double>& out) const;

  const Cluster* cluster_;
  std::vector<std::optional<Plan>> plans_;  // by operation
  std::optional<Pending> pending_;
};

}  // namespace ptxloom::exec
