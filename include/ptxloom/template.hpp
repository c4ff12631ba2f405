// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/tuning_space.hpp"

// A template is a kernel family: from a problem (what to compute: sizes, types) and a configuration (how:
// tiles, stages) it makes one kernel and says how to launch it, and what it must compute. Problem and
// configuration are words, as the command line and the tuning records hold them; no word is in both. The
// allowed words stand in the template's space.json.
namespace [[gnu::visibility("default")]] ptxloom {

struct Emitted {
  ir::Module module;
  LaunchPlan launch;
};

class Template {
 public:
  virtual ~Template() = default;
  virtual std::string_view name() const = 0;
  /// The text of space.json: problem and configuration parameters with their values, defaults and a sentence
  /// each.
  virtual std::string_view space() const = 0;
  /// A hash of everything that its configurations, launch plans and kernels come of, besides the words given
  /// and the target: its own code, and this library's. Kernels of one that names it are kept in the cache,
  /// and a later process need not emit them again; empty: it emits them each time.
  virtual std::string_view digest() const { return {}; }
  /// The problem whole: words checked, defaults filled in. Throws Error(usage) for an unknown word or value,
  /// a size of zero or one that overflows.
  virtual Settings problem(const Settings& given) const = 0;
  virtual std::vector<TensorPlan> tensors(const Settings& problem) const = 0;
  /// Multiply-adds times two and the like: operations of the problem, for rates.
  virtual double operations(const Settings& problem) const = 0;
  /// The rate of specs/targets.json that those operations go to, such as "f16"; empty: not known.
  virtual std::string unit(const Settings& /*problem*/) const { return {}; }
  /// Bytes that every kernel for the problem must read; 0: not known.
  virtual double input_bytes(const Settings& /*problem*/) const { return 0; }
  /// The problem as a vendor's library has it, to be compared with; nullopt: it is no such thing.
  virtual std::optional<MatrixProduct> product(const Settings& /*problem*/) const { return std::nullopt; }
  /// The configuration whole: given words checked, the rest as fits the problem best. Throws Error(usage) for
  /// unknown words, Error(refused) for a configuration that the problem or the target does not admit.
  virtual Settings config(const Specs& specs, const Target& target, const Settings& problem,
                          const Settings& given) const = 0;
  /// All its configurations for a problem, for a tuner to search.
  virtual tune::Space tuning_space(const Specs& specs, const Target& target,
                                   const Settings& problem) const = 0;
  /// A part of them for a first look: admissible, agreeing with `given`, the most promising first.
  virtual std::vector<Settings> candidates(const Specs& specs, const Target& target, const Settings& problem,
                                           const Settings& given) const = 0;
  virtual Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& problem,
                       const Settings& config) const = 0;
  /// What the outputs must hold for these inputs, computed on the host with nothing of the kernel's.
  virtual Expectation expect(const Settings& problem, std::span<const HostTensor> inputs) const = 0;
};

/// The templates of this library.
std::span<const Template* const> templates();
/// One by name; throws Error(usage, "unknown-template") that lists them.
const Template& find_template(std::string_view name);

}  // namespace ptxloom
